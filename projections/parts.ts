// Cuts events into parts, each for one transaction. A part is bounded by the bytes of its events, by the URLs that they tell of and by
// the jobs that they touch, so that neither a transaction nor its memory grows with the size of the log's events. Decision 127 says why.
import {
  type EventStore,
  type Position,
  type RecordedEvent,
  type SubscriptionBatch,
  sizeOf,
} from '../events/event-store.ts';
import type { UrlListing } from '../events/url-listing.ts';
import { checkedIn, type UrlsOf, withUrls } from './jobs/checked-urls.ts';
import { DISCARDING, type Projection } from './projection.ts';

/** The most of a part, unless a single event has more. */
export interface PartLimits {
  /** Checked URLs. */
  urls: number;
  /** Bytes of events, of which each takes several in memory once it is parsed. */
  bytes: number;
  /** Streams of results: the statistics of each one's job are read, up to half a megabyte. */
  jobs: number;
  events: number;
}

/** So that a transaction is short. */
export const LIVE_PART: PartLimits = { urls: 5000, bytes: 4 * 2 ** 20, jobs: 100, events: 1000 };
/**
 * Few large parts rewrite the documents of a job's domains less often. The live run waits for its turn for as long as one takes: 0.8 s
 * of processor time.
 */
export const BUILD_PART: PartLimits = { urls: 100_000, bytes: 4 * 2 ** 20, jobs: 100, events: 1000 };

/** The first parts of a builder whose predecessor ended before its first: a step forward takes a moment and little memory. */
export const FIRST_PARTS: PartLimits = { urls: 1000, bytes: 2 ** 18, jobs: 10, events: 100 };

export class PartCutter {
  readonly #projections: readonly Projection[];
  #limits: PartLimits;
  #events: RecordedEvent[] = [];
  #urls = 0;
  #bytes = 0;
  #jobs = new Set<string>();
  /** The part is a heavy event, which no other joins. */
  #is_full = false;

  constructor(projections: readonly Projection[], limits: PartLimits) {
    this.#projections = projections;
    this.#limits = limits;
  }

  /** Of the parts to come. */
  set limits(limits: PartLimits) {
    this.#limits = limits;
  }

  /** Adds the next event. Returns the part before it when that is full, else null. */
  add(event: RecordedEvent): SubscriptionBatch | null {
    const is_heavy = isHeavy(event, this.#projections);
    const [urls, bytes] = [checkedIn(event), sizeOf(event)];
    const job = urls > 0 ? jobOf(event) : null;
    const full = this.#is_full || is_heavy || !this.#hasRoom(urls, bytes, job);
    const part = full && this.#events.length > 0 ? this.#cut(this.#events.at(-1)!.position) : null;
    this.#events.push(event);
    this.#urls += urls;
    this.#bytes += bytes;
    if (job !== null) this.#jobs.add(job);
    this.#is_full = is_heavy;
    return part;
  }

  /** Returns the last part, which may have no events: the log has no others up to `position`. */
  end(position: Position): SubscriptionBatch {
    return this.#cut(position);
  }

  #hasRoom(urls: number, bytes: number, job: string | null): boolean {
    const { urls: most_urls, bytes: most_bytes, jobs, events } = this.#limits;
    if (this.#urls + urls > most_urls || this.#bytes + bytes > most_bytes || this.#events.length >= events)
      return false;
    return job === null || this.#jobs.size < jobs || this.#jobs.has(job);
  }

  #cut(position: Position): SubscriptionBatch {
    const part = { events: this.#events, position };
    this.#events = [];
    this.#urls = 0;
    this.#bytes = 0;
    this.#jobs.clear();
    this.#is_full = false;
    return part;
  }
}

/** Cuts a batch into parts; each heavy event is a part of its own. */
export function* partsOf(
  { events, position }: SubscriptionBatch,
  projections: readonly Projection[],
  limits: PartLimits,
): Generator<SubscriptionBatch> {
  const cutter = new PartCutter(projections, limits);
  for (const event of events) {
    const part = cutter.add(event);
    if (part) yield part;
  }
  yield cutter.end(position);
}

/** `checks-{jobId}-{batch}`. */
const jobOf = ({ stream }: RecordedEvent) => stream.slice(0, stream.lastIndexOf('-'));

/** An event whose data is damaged is not heavy: the projection throws when it takes it. */
export function isHeavy(event: RecordedEvent, projections: readonly Projection[]): boolean {
  try {
    return projections.some(({ types, isHeavy }) => types.includes(event.type) && isHeavy?.(event));
  } catch {
    return false;
  }
}

/** Where the events of a projection come from. */
export interface PartSource {
  log: EventStore;
  listing: UrlListing;
  signal: AbortSignal;
}

export interface Range {
  from: Position;
  until: Position;
  /** The number of small parts to begin with. Default: none. */
  small_parts?: number;
}

/** Calls `take` with the events of a projection after `from` up to `until`, inclusive, part by part. Returns the number of events. */
export async function readParts(
  { log, listing, signal }: PartSource,
  projection: Projection,
  { from, until, small_parts = 0 }: Range,
  take: (part: SubscriptionBatch, urls_of: UrlsOf) => Promise<void>,
): Promise<number> {
  let taken = 0;
  async function takePart(part: SubscriptionBatch): Promise<void> {
    for await (const { events, position, urls_of } of withUrls(listing, part)) {
      signal.throwIfAborted();
      await take({ events, position }, urls_of);
    }
  }
  if (from >= until) return 0;
  const cutter = new PartCutter([projection], small_parts > 0 ? FIRST_PARTS : BUILD_PART);
  let parts = 0;
  for await (const event of log.readAll({ from, filter: { types: [...projection.types, DISCARDING] } })) {
    if (event.position > until) break;
    const part = cutter.add(event);
    taken += 1;
    if (part === null) continue;
    await takePart(part);
    if (++parts === small_parts) cutter.limits = BUILD_PART;
  }
  await takePart(cutter.end(until));
  return taken;
}
