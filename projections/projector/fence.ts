// The fence keeps two projectors apart without a lease or a clock. Every transaction of a projector compares the stored fence
// with the one that it wrote last and writes it anew. Of two concurrent transactions the store commits one, and a projector
// that was overtaken can write nothing any more, however long it slept.
import { AsyncLocalStorage } from 'node:async_hooks';
import { isDeepStrictEqual } from 'node:util';
import { type Documents, type Inside, TransactionTooLarge } from '../../readmodels/documents.ts';
import {
  type Follower,
  PROJECTOR,
  type ProjectorState,
  parkedEvents,
  projectionState,
  projectionStates,
  projectorLanes,
  projectorState,
  projectorStates,
} from '../../readmodels/projection-state.ts';

/** Another projector has written the fence, so this one's state is out of date. */
export class Overtaken extends Error {}

export type FenceChanges = Partial<Omit<ProjectorState, '_id' | 'epoch' | 'turn'>>;

/** Runs `work` in a transaction that also writes the fence with the changes that `work` returns. `work` may run twice. */
export type Commit = (work: (inside: Inside) => Promise<FenceChanges>) => Promise<void>;

/** The number of transactions that run beside the turns at once. */
export const LANES = 3;

/**
 * Runs `work` in a transaction of its own, unless a later projector has begun: then it throws `Overtaken`. It leaves the state as it is, and
 * may run while a turn does. Calls with one `lane`, from 0 to `LANES - 1`, come one after the other.
 */
export type BesideTurns = (lane: number, work: (inside: Inside) => Promise<void>) => Promise<void>;

export interface Fence {
  /** The state of the last commit. */
  readonly state: Readonly<ProjectorState>;
  /** Runs one `work` at a time: only its own commits change the state meanwhile. Throws `Overtaken` and the store's errors. */
  inTurn<R>(work: (commit: Commit) => Promise<R>): Promise<R>;
  /** Null where the store runs one transaction at a time. */
  readonly beside: BesideTurns | null;
}

/** Begins a new epoch, which overtakes every earlier projector of the follower. An abort of `signal` ends each turn before it commits. `committed` is called after each turn. */
export async function openFence(
  documents: Documents,
  signal: AbortSignal,
  { follower = PROJECTOR, committed = () => {} }: { follower?: Follower; committed?: () => void } = {},
): Promise<Fence> {
  for (const spec of [projectorStates, projectorLanes, projectionStates, parkedEvents])
    await documents.collection(spec as never);
  let state = await documents.transaction(async (inside) => {
    signal.throwIfAborted();
    const projector = await inside.collection(projectorStates);
    const before = projectorState(await projector.get(follower), follower);
    const generations: ProjectorState['generations'] = {};
    for (const stored of await (await inside.collection(projectionStates)).find({})) {
      const { generation } = projectionState(stored._id, stored);
      if (generation > 0) generations[stored._id] = generation;
    }
    const claimed: ProjectorState = { ...before, epoch: before.epoch + 1, turn: 0, generations };
    await projector.write([{ replace: claimed }]);
    await (await inside.collection(projectorLanes)).write(
      Array.from({ length: LANES }, (_, lane) => ({ replace: { _id: `${follower}/${lane}`, epoch: claimed.epoch } })),
    );
    return claimed;
  });
  let last: Promise<unknown> = Promise.resolve();
  let broken: { by: unknown } | null = null;

  async function commit(work: (inside: Inside) => Promise<FenceChanges>): Promise<void> {
    let next: ProjectorState | null = null;
    if (broken) throw broken.by;
    try {
      await documents.transaction(async (inside) => {
        next = null;
        signal.throwIfAborted();
        const projector = await inside.collection(projectorStates);
        if (!isDeepStrictEqual(await projector.get(follower), state)) throw new Overtaken();
        const changes = await work(inside);
        const written = { ...state, ...changes, turn: state.turn + 1 };
        await projector.write([{ replace: written }]);
        next = written;
      });
    } catch (error) {
      // The transaction may have been committed. The state is then unknown, and every later commit throws.
      const is_rolled_back = next === null || error instanceof TransactionTooLarge;
      if (!is_rolled_back || error instanceof Overtaken) broken = { by: error };
      throw error;
    }
    state = next!;
    committed();
  }

  const { epoch } = state;
  // A transaction beside a turn is not within the turn's own.
  const outside = AsyncLocalStorage.snapshot();
  const beside: BesideTurns = (lane, work) =>
    outside(() =>
      documents.transaction(async (inside) => {
        signal.throwIfAborted();
        const now = await (await inside.collection(projectorStates)).get(follower);
        if (now?.epoch !== epoch) throw new Overtaken();
        // The write conflicts with that of a projector that begins meanwhile.
        await (await inside.collection(projectorLanes)).write([{ replace: { _id: `${follower}/${lane}`, epoch } }]);
        await work(inside);
      }),
    );

  return {
    beside: documents.is_concurrent ? beside : null,
    get state() {
      return state;
    },
    inTurn(work) {
      const turn = last.then(() => work(commit));
      last = turn.catch(() => {}); // the caller gets the error from `turn`
      return turn;
    },
  };
}
