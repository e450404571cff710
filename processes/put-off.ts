// Work that failed is left alone for a while, so that it holds up no other.
import type { Logger } from 'pino';
import { isOfStore } from '../events/store-faults.ts';
import type { Document, Filter, Reading } from '../readmodels/documents.ts';
import { inParallel } from './in-parallel.ts';

/** Work that failed is tried again after this long. */
const AGAIN_MS = 5 * 60_000;
/** A read finds no more documents. */
const MAX_FOUND = 10_000;
/** Documents of each read that follows a first one full of work that is put off. */
const READ_AT_ONCE = 1_000;

export interface PutOff {
  has(id: string): boolean;
  readonly size: number;
  add(id: string): void;
}

/** Work on documents that a pass finds, of which one that fails holds up no other. */
export interface Apart {
  /** Finds documents that are not put off; at most `limit`, however many others there are. */
  find<T extends Document>(documents: Pick<Reading<T>, 'find'>, filter: Filter, limit: number): Promise<T[]>;
  /** Runs `work` for each document, and puts off those whose work fails: an event of theirs may be damaged. Throws when a store is away. */
  each<T extends Document>(documents: readonly T[], work: (document: T) => Promise<unknown>): Promise<void>;
}

/** Puts nothing off: throws the failures after all work has ended. */
export const TOGETHER: Apart = {
  find: (documents, filter, limit) => documents.find(filter, { limit }),
  each: inParallel,
};

/** `monotonic`: milliseconds that never go back. */
export function openPutOff(monotonic: () => number): PutOff {
  /** In the order in which they come due. */
  const again_at = new Map<string, number>();
  function drop(): void {
    const now = monotonic();
    for (const [id, at] of again_at) {
      if (at > now) return;
      again_at.delete(id);
    }
  }
  return {
    has(id) {
      drop();
      return again_at.has(id);
    },
    get size() {
      drop();
      return again_at.size;
    },
    add(id) {
      again_at.delete(id);
      again_at.set(id, monotonic() + AGAIN_MS);
    },
  };
}

/** `failed` is the line of the log. */
export function openApart(
  failed: string,
  { logger, monotonic }: { logger: Pick<Logger, 'error'>; monotonic: () => number },
): Apart {
  const put_off = openPutOff(monotonic);
  return {
    async find(documents, filter, limit) {
      const found = await documents.find(filter, { limit: Math.min(limit + put_off.size, MAX_FOUND) });
      return found.filter(({ _id }) => !put_off.has(_id)).slice(0, limit);
    },
    each: (documents, work) =>
      inParallel(documents, (document) =>
        work(document).catch((err: unknown) => {
          if (isOfStore(err)) throw err;
          logger.error({ err, id: document._id }, failed);
          put_off.add(document._id);
        }),
      ),
  };
}

/**
 * The first documents, in the order of a field, that are not put off; at most `limit`, however many stand before them. `idOf`: what is put
 * off where it is not the document itself.
 */
export async function firstOthers<T extends Document>(
  documents: Pick<Reading<T>, 'find'>,
  filter: Filter,
  field: keyof T & string,
  limit: number,
  put_off: Pick<PutOff, 'has'>,
  idOf: (document: T) => string = ({ _id }) => _id,
): Promise<T[]> {
  const others: T[] = [];
  const sort = { [field]: 1 } as const;
  for (let [after, size]: [string[] | undefined, number] = [undefined, limit]; ; size = READ_AT_ONCE) {
    const found = await documents.find(filter, { sort, limit: size, ...(after && { after }) });
    others.push(...found.filter((document) => !put_off.has(idOf(document))).slice(0, limit - others.length));
    const last = found.at(-1);
    if (last === undefined || found.length < size || others.length === limit) return others;
    after = [...new Set([field, '_id'] as const)].map((name) => last[name] as string);
  }
}
