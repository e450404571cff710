// How a projection inserts documents that it does not read: in its transaction; or, when documents that nobody reads yet are built on a store
// that runs transactions side by side, in smaller ones before it. See bench/notes/0116-results-before-their-counts.md.
// Decision 85 says why.
import {
  type CollectionSpec,
  type Document,
  DuplicateKey,
  type Filter,
  type Inside,
  type Write,
} from '../../readmodels/documents.ts';
import { inGeneration } from '../../readmodels/projection-state.ts';
import { writeAll } from '../slices.ts';
import { type BesideTurns, LANES } from './fence.ts';

export interface Inserts {
  /** Begins to insert documents, once there is room. The caller changes them no more, and reads none of them. */
  insert<T extends Document>(spec: CollectionSpec<T>, documents: readonly T[]): Promise<void>;
  /**
   * Deletes documents of such a collection, those among them that were inserted before. It goes where the inserts go, because a transaction
   * does not see what others insert after its beginning.
   */
  remove<T extends Document>(spec: CollectionSpec<T>, filter: Filter): Promise<void>;
  /** Waits until all are written; throws the first error. Called before other writes: a transaction that waits here holds nobody up. */
  stored(): Promise<void>;
}

/** Inserts inside the transaction of `open`, one slice while the caller makes the next. */
export function insertInside(open: Inside['collection']): Inserts {
  const lane: InsertSlice = async (_lane, spec, documents) =>
    writeAll(
      await open(spec),
      documents.map((document) => ({ insert: document })),
    );
  return inLanes(1, lane, async (spec, filter) => (await open(spec)).write([{ deleteMany: filter }]));
}

/** Inserts into a generation in transactions beside the one that will count the documents. */
export function insertAhead(beside: BesideTurns, generation: number): Inserts {
  const insertSlice: InsertSlice = async (lane, spec, documents) => {
    const write = <T extends Document>(toWrite: (document: Document) => Write<T>) =>
      beside(lane, async (inside: Inside) =>
        writeAll(await inside.collection(inGeneration(spec as CollectionSpec<T>, generation)), documents.map(toWrite)),
      );
    try {
      await write((insert) => ({ insert }) as never);
    } catch (error) {
      if (!(error instanceof DuplicateKey)) throw error;
      // An earlier attempt at these events left them.
      await write((replace) => ({ replace }) as never);
    }
  };
  return inLanes(LANES, insertSlice, (spec, filter) =>
    beside(0, async (inside) =>
      (await inside.collection(inGeneration(spec, generation))).write([{ deleteMany: filter }]),
    ),
  );
}

type InsertSlice = (lane: number, spec: CollectionSpec<Document>, documents: readonly Document[]) => Promise<void>;
type Remove = (spec: CollectionSpec<Document>, filter: Filter) => Promise<void>;

function inLanes(count: number, insertSlice: InsertSlice, remove: Remove): Inserts {
  const lanes: Promise<void>[] = Array.from({ length: count }, () => Promise.resolve());
  let slices = 0;
  let failure: { by: unknown } | null = null;
  const refuse = () => {
    if (failure) throw failure.by;
  };
  return {
    async insert(spec, documents) {
      const lane = slices++ % count;
      await lanes[lane];
      refuse();
      lanes[lane] = insertSlice(lane, spec as never, documents).catch((by: unknown) => {
        failure ??= { by };
      });
    },
    async remove(spec, filter) {
      await this.stored();
      await remove(spec as never, filter);
    },
    async stored() {
      await Promise.all(lanes);
      refuse();
    },
  };
}
