// Reads ranges of a job's URLs from its listing in the log. Readers come near-sequentially but for the batches in flight, so
// a small cache of chunks answers most of them. The projector notes the listings that it sees, so that nobody reads a small job's.
import { LRUCache } from 'lru-cache';
import type { EventStore, RecordedEvent } from './event-store.ts';
import type { UrlsListed } from './job.ts';
import { unfoldRows } from './listed-rows.ts';
import { idOf, urlsStream } from './streams.ts';

interface Chunk {
  revision: number;
  from_index: number;
  urls: string[];
  /** The rows of the URLs as the event has them; undefined in listings of before rows were kept. */
  rows: readonly number[] | undefined;
  /** The clients' own names for the URLs, where some have any. */
  refs: readonly (string | null)[] | undefined;
  traceparent: string | undefined;
}

export interface ListedUrls {
  urls: string[];
  /** The row of each URL; empty when the listing has no rows. */
  rows: number[];
  /** The client's own name for each URL, null for none; missing where no URL has one. */
  refs?: (string | null)[];
}

export type UrlListing = ReturnType<typeof openUrlListing>;

/** The cache holds chunks of at most this many characters together: the URLs of all batches in flight, a few times over. */
const CACHE_CHARS = 8_000_000;
/** The cache counts each URL as this many characters more. */
const URL_CHARS = 32;
/** The most URLs of a chunk, and the number that most chunks have. */
const CHUNK_URLS = 1000;

export function openUrlListing(log: EventStore) {
  const chunks = new LRUCache<string, Chunk>({
    maxSize: CACHE_CHARS,
    sizeCalculation: ({ urls, refs }) =>
      urls.reduce((sum, url, at) => sum + url.length + (refs?.[at]?.length ?? 0) + URL_CHARS, 1),
  });

  const keyOf = (job_id: string, revision: number) => `${job_id}/${revision}`;

  function keep(job_id: string, event: RecordedEvent): Chunk | null {
    const chunk = chunkOf(event);
    if (chunk) chunks.set(keyOf(job_id, chunk.revision), chunk);
    return chunk;
  }

  async function chunkAt(job_id: string, revision: number): Promise<Chunk | null> {
    const cached = chunks.get(keyOf(job_id, revision));
    if (cached) return cached;
    for await (const event of log.readStream(urlsStream(job_id), { from: revision, limit: 1 })) {
      return keep(job_id, event);
    }
    return null;
  }

  /** Returns the chunk that holds `index`, found by bisection from a guess that is right for all but very long URLs. */
  async function chunkWith(job_id: string, index: number): Promise<Chunk | null> {
    // No chunk has more URLs, so none before this one has the index. Of a deleted listing, one look is enough.
    let low = Math.floor(index / CHUNK_URLS);
    let high = Number.POSITIVE_INFINITY;
    for (let guess = low; low <= high; ) {
      const chunk = await chunkAt(job_id, guess);
      if (chunk && holds(chunk, index)) return chunk;
      if (chunk && index > chunk.from_index) low = guess + 1;
      else high = guess - 1;
      // Before an end is known, each step goes as far as chunks of this one's length would lead.
      guess = high < Number.POSITIVE_INFINITY ? (low + high) >> 1 : guess + stepsTo(chunk!, index);
    }
    return null;
  }

  async function rangeWithRows(job_id: string, from: number, to: number): Promise<ListedUrls> {
    const listed: ListedUrls = { urls: [], rows: [] };
    for (let index = from; index < to; ) {
      const chunk = await chunkWith(job_id, index);
      if (!chunk) break;
      const start = index - chunk.from_index;
      const found = chunk.urls.slice(start, to - chunk.from_index);
      if (chunk.refs) listed.refs ??= listed.urls.map(() => null);
      listed.urls.push(...found);
      listed.refs?.push(...found.map((_, at) => chunk.refs?.[start + at] ?? null));
      if (chunk.rows) listed.rows.push(...unfoldRows(chunk.rows, start, start + found.length));
      index += found.length;
    }
    return listed;
  }

  return {
    /** Returns the URLs with indexes from `from` up to and without `to`; fewer when the listing is damaged or deleted. */
    range: async (job_id: string, from: number, to: number): Promise<string[]> =>
      (await rangeWithRows(job_id, from, to)).urls,
    /** Returns the URLs of a range, with their rows. */
    rangeWithRows,
    /** The traceparent of what listed the job's URLs, where the listing is known without a read. */
    traceparentOf: (job_id: string): string | undefined => chunks.peek(keyOf(job_id, 0))?.traceparent,
    /** Keeps the first chunk of each listing among the events; later chunks would push those in use out of the cache. */
    note(events: readonly RecordedEvent[]): void {
      for (const event of events) {
        if (event.type === 'UrlsListed' && event.revision === 0) keep(idOf(event.stream), event);
      }
    },
  };
}

/** Null for an event whose data is damaged: the job has no such chunk. */
function chunkOf(event: RecordedEvent): Chunk | null {
  try {
    const { from_index, urls, rows, refs } = event.data as UrlsListed;
    const is_listing =
      Number.isSafeInteger(from_index) && urls.length > 0 && urls.every((url) => typeof url === 'string');
    return is_listing
      ? { revision: event.revision, from_index, urls, rows, refs, traceparent: event.metadata.traceparent }
      : null;
  } catch {
    return null;
  }
}

const holds = ({ from_index, urls }: Chunk, index: number) => index >= from_index && index < from_index + urls.length;
const stepsTo = ({ from_index, urls }: Chunk, index: number) => Math.floor((index - from_index) / urls.length);
