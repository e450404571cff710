// Compares the live documents of a projection with those that were made of the log anew, document by document, while both may go on.
import { isDeepStrictEqual } from 'node:util';
import type { CollectionSpec, Document, Reading } from '../../readmodels/documents.ts';
import type { Comparison, Difference } from '../../readmodels/projection-state.ts';
import type { Projection, Sides } from '../projection.ts';

export interface CompareOptions extends Sides {
  projection: Projection;
  /** Called with the number of documents that are compared. */
  advanced?: (documents: number) => void;
}

/** Documents that looked different are read again so many at once. A job's statistics have up to half a megabyte. */
const AGAIN_AT_ONCE = 50;
/** The differences that are told one by one. */
export const MOST_TOLD = 100;

/**
 * A document that changes between the reads of both sides looks different, so each that does is read again where both are at one
 * position. Throws the stores' errors.
 */
export async function compareDocuments(options: CompareOptions): Promise<Omit<Comparison, 'position'>> {
  const { projection, live, rebuilt, signal, advanced } = options;
  const outcome: Omit<Comparison, 'position'> = { documents: 0, differing: 0, differences: [] };
  const found = (difference: Difference) => {
    outcome.differing += 1;
    if (outcome.differing <= MOST_TOLD) outcome.differences.push(difference);
  };
  if (projection.compare) {
    outcome.documents = await projection.compare(options, found);
    return outcome;
  }
  for (const spec of projection.collections as readonly CollectionSpec<Document>[]) {
    const [left, right] = [live(spec), rebuilt(spec)];
    const isSame = (one: Document, other: Document) => isDeepStrictEqual(compared(one), compared(other));
    const compared = (document: Document) => without(document, projection.incidental);
    let suspects: string[] = [];
    const readAgain = async () => {
      const [lives, rebuilts] = await readSome(options, spec, suspects);
      for (const id of suspects) {
        const [one, other] = [lives.get(id), rebuilts.get(id)];
        if (one === undefined && other === undefined) continue;
        if (one && other && isSame(one, other)) continue;
        const kind = one && other ? 'changed' : one ? 'surplus' : 'missing';
        const fields = one && other ? fieldsOf(compared(one), compared(other)) : [];
        found({ collection: spec.name, id, kind, fields });
      }
      suspects = [];
    };
    for await (const [one, other] of pairs(left, right, signal)) {
      if (other) outcome.documents += 1;
      if (one && other && isSame(one, other)) continue;
      suspects.push((one ?? other)!._id);
      if (suspects.length === AGAIN_AT_ONCE) await readAgain();
      advanced?.(outcome.documents);
    }
    if (suspects.length > 0) await readAgain();
    advanced?.(outcome.documents);
  }
  return outcome;
}

/** Half of the ids at a time, where a projector writes too often for all. */
async function readSome(
  options: CompareOptions,
  spec: CollectionSpec<Document>,
  ids: readonly string[],
): Promise<[live: Documents, rebuilt: Documents]> {
  const both = await options.readBoth((side) => side(spec).getMany(ids));
  if (both !== null) return [byId(both[0]), byId(both[1])];
  const half = Math.ceil(ids.length / 2);
  const parts = [ids.slice(0, half), ids.slice(half)].filter((part) => part.length > 0);
  const read = await Array.fromAsync(parts, (part) => readSome(options, spec, part));
  return [0, 1].map((side) => new Map(read.flatMap((part) => [...part[side]!]))) as never;
}

type Documents = ReadonlyMap<string, Document>;
const byId = (documents: readonly Document[]): Documents =>
  new Map(documents.map((document) => [document._id, document]));

/** The documents of both sides by their ids, which come in order. */
async function* pairs(
  left: Reading<Document>,
  right: Reading<Document>,
  signal: AbortSignal,
): AsyncGenerator<[Document | null, Document | null]> {
  const [lefts, rights] = [left, right].map((side) => side.stream({}, { signal })[Symbol.asyncIterator]()) as [
    AsyncIterator<Document>,
    AsyncIterator<Document>,
  ];
  const next = async (of: AsyncIterator<Document>) => {
    const { done, value } = await of.next();
    return done ? null : (value as Document);
  };
  try {
    let [one, other] = [await next(lefts), await next(rights)];
    while (one !== null || other !== null) {
      const order = one === null ? 1 : other === null ? -1 : one._id < other._id ? -1 : one._id > other._id ? 1 : 0;
      yield [order <= 0 ? one : null, order >= 0 ? other : null];
      if (order <= 0) one = await next(lefts);
      if (order >= 0) other = await next(rights);
    }
  } finally {
    await lefts.return?.();
    await rights.return?.();
  }
}

function without(document: Document, fields: readonly string[] = []): Record<string, unknown> {
  if (fields.length === 0) return document as unknown as Record<string, unknown>;
  return Object.fromEntries(Object.entries(document).filter(([name]) => !fields.includes(name)));
}

const fieldsOf = (one: Record<string, unknown>, other: Record<string, unknown>) =>
  [...new Set([...Object.keys(one), ...Object.keys(other)])].filter(
    (name) => !isDeepStrictEqual(one[name], other[name]),
  );
