// Reads ranges of a job's URLs from its listing in the log, near-sequentially.
import { LRUCache } from 'lru-cache';
import type { EventStore } from '../events/event-store.ts';
import type { UrlsListed } from '../events/job.ts';
import { urlsStream } from '../events/streams.ts';

interface Chunk {
  revision: number;
  from_index: number;
  urls: string[];
}

export interface UrlListing {
  /** Returns the URLs with indexes from `from` up to and without `to`; fewer when the listing is damaged or deleted. */
  range(job_id: string, from: number, to: number): Promise<string[]>;
}

export function openUrlListing(log: EventStore): UrlListing {
  // The last chunk read of each job: the next range is mostly in it or in the chunk after it.
  const last = new LRUCache<string, Chunk>({ max: 200 });

  async function chunkAt(job_id: string, revision: number): Promise<Chunk | null> {
    for await (const event of log.readStream(urlsStream(job_id), { from: revision, limit: 1 })) {
      const { from_index, urls } = event.data as UrlsListed;
      const chunk = { revision: event.revision, from_index, urls };
      last.set(job_id, chunk);
      return chunk;
    }
    return null;
  }

  /** Returns the chunk that holds `index`: the cached one, the next one, or one found by bisection. */
  async function chunkWith(job_id: string, index: number): Promise<Chunk | null> {
    let chunk = last.get(job_id) ?? (await chunkAt(job_id, 0));
    if (chunk && isPast(chunk, index)) chunk = await chunkAt(job_id, chunk.revision + 1);
    if (!chunk || holds(chunk, index)) return chunk;
    let low = 0;
    let high = await lastRevision(job_id);
    while (low <= high) {
      const middle = (low + high) >> 1;
      chunk = await chunkAt(job_id, middle);
      if (!chunk || holds(chunk, index)) return chunk;
      if (isPast(chunk, index)) low = middle + 1;
      else high = middle - 1;
    }
    return null;
  }

  async function lastRevision(job_id: string): Promise<number> {
    for await (const event of log.readStream(urlsStream(job_id), { direction: 'backwards', limit: 1 })) {
      return event.revision;
    }
    return -1;
  }

  return {
    async range(job_id, from, to) {
      const urls: string[] = [];
      for (let index = from; index < to; ) {
        const chunk = await chunkWith(job_id, index);
        if (!chunk) break;
        const found = chunk.urls.slice(index - chunk.from_index, to - chunk.from_index);
        urls.push(...found);
        index += found.length;
      }
      return urls;
    },
  };
}

const isPast = (chunk: Chunk, index: number) => index >= chunk.from_index + chunk.urls.length;
const holds = (chunk: Chunk, index: number) => index >= chunk.from_index && !isPast(chunk, index);
