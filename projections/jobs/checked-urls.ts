// The URLs of `URLChecked` events, read from the listings of their jobs before a transaction begins.
import { endOf, namesUrls, urlsOf } from '../../events/checked-range.ts';
import type { Position, RecordedEvent, SubscriptionBatch } from '../../events/event-store.ts';
import { checksOf } from '../../events/streams.ts';
import { EventFromLater } from '../../events/unreadable.ts';
import type { ListedUrls, UrlListing } from '../../events/url-listing.ts';
import type { LogEvent } from '../../events/vocabulary.ts';

export type Checked = LogEvent<'URLChecked'>;

/**
 * Returns all URLs of an event's range with their rows; fewer when the listing was deleted with its job. Throws `EventFromLater` for a listing
 * of a later version.
 */
export type UrlsOf = (event: Checked) => Readonly<ListedUrls>;

/** By the id of the event. */
type Found = Map<string, ListedUrls | EventFromLater>;

function laterOf(error: unknown): EventFromLater {
  if (error instanceof EventFromLater) return error;
  throw error;
}

const NONE: ListedUrls = { urls: [], rows: [] };

export const isChecked = (event: RecordedEvent): event is Checked => event.type === 'URLChecked';

/** The number of URLs that an event tells of; 0 where its data is damaged, so that a projection that takes it throws. */
export function checkedIn(event: RecordedEvent): number {
  if (!isChecked(event)) return 0;
  try {
    const is_of_stream = event.data.job_id === checksOf(event.stream).job_id;
    return is_of_stream && namesUrls(event.data) ? urlsOf(event.data) : 0;
  } catch {
    return 0;
  }
}

/** Listings that are read at once. */
const JOBS_AT_ONCE = 16;
/** The URLs of so many checks are read before their length is looked at. */
const URLS_A_LOOK = 2000;
/** The URLs of one transaction have at most this many characters, and those of one look more. */
const MAX_CHARS = 8_000_000;

/** A part of the log's events with the URLs of its checks. */
export interface PartWithUrls extends SubscriptionBatch {
  urls_of: UrlsOf;
}

/** Reads the URLs of all ranges of a part, and cuts the part where they are long. Throws the log's errors. */
export async function* withUrls(
  listing: UrlListing,
  { events, position }: SubscriptionBatch,
): AsyncGenerator<PartWithUrls, void> {
  let from = 0;
  let found: Found = new Map();
  let chars = 0;
  for (const look of looksAt(events)) {
    if (chars >= MAX_CHARS) {
      yield partOf(events.slice(from, look.from), events[look.from - 1]!.position, found);
      [from, found, chars] = [look.from, new Map(), 0];
    }
    for (const [id, listed] of await readUrls(listing, events.slice(look.from, look.end))) {
      found.set(id, listed);
      if (!(listed instanceof EventFromLater)) chars += charsOf(listed);
    }
  }
  yield partOf(from === 0 ? events : events.slice(from), position, found);
}

function charsOf({ urls, refs = [] }: ListedUrls): number {
  let chars = 0;
  for (const url of urls) chars += url.length;
  for (const ref of refs) chars += ref?.length ?? 0;
  return chars;
}

function partOf(
  events: RecordedEvent[],
  position: Position,
  found: ReadonlyMap<string, Readonly<ListedUrls> | EventFromLater>,
): PartWithUrls {
  const urls_of: UrlsOf = ({ id }) => {
    const listed = found.get(id) ?? NONE;
    if (listed instanceof EventFromLater) throw listed;
    return listed;
  };
  return { events, position, urls_of };
}

/** Ranges of neighbouring events, each with about `URLS_A_LOOK` checks. */
function* looksAt(events: readonly RecordedEvent[]): Generator<{ from: number; end: number }> {
  let [from, urls] = [0, 0];
  for (const [n, event] of events.entries()) {
    urls += checkedIn(event);
    if (urls < URLS_A_LOOK) continue;
    yield { from, end: n + 1 };
    [from, urls] = [n + 1, 0];
  }
  if (urls > 0) yield { from, end: events.length };
}

/** Reads the URLs of all ranges among the events, by event. */
async function readUrls(listing: UrlListing, events: readonly RecordedEvent[]): Promise<Found> {
  const found: Found = new Map();
  const jobs = [...Map.groupBy(events.filter(isChecked).filter(checkedIn), ({ data }) => data.job_id)];
  for (let from = 0; from < jobs.length; from += JOBS_AT_ONCE) {
    await Promise.all(
      jobs.slice(from, from + JOBS_AT_ONCE).map(async ([job_id, checked]) => {
        for (const { id, data } of checked) {
          found.set(id, await listing.rangeWithRows(job_id, data.from_index, endOf(data)).catch(laterOf));
        }
      }),
    );
  }
  return found;
}
