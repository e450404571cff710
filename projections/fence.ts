// What keeps two projectors apart. Every transaction of a projector compares the whole fence with what it knows and writes
// it anew, so that of two that transact at once the store lets one through, and whoever was overtaken while it stood still
// can write nothing any more, however long it slept and whatever it held. No lease and no clock is asked.
import { isDeepStrictEqual } from 'node:util';
import type { Documents } from '../readmodels/documents.ts';
import {
  PROJECTOR,
  type ProjectorState,
  parkedEvents,
  projectionState,
  projectionStates,
  projectorState,
  projectorStates,
} from '../readmodels/projection-state.ts';

/** Another projector has written since: what this one knows is out of date. */
export class Overtaken extends Error {}

export type FenceChanges = Partial<Omit<ProjectorState, '_id' | 'epoch' | 'turn'>>;

/** Runs `work` in a transaction that also writes the fence with the changes that `work` gives. It may be run again. */
export type Commit = (work: (inside: Documents) => Promise<FenceChanges>) => Promise<void>;

export interface Fence {
  /** As it was last committed. */
  readonly state: Readonly<ProjectorState>;
  /** Nothing else of this projector is committed while `work` runs: the state is what its own commits make it. */
  inTurn<R>(work: (commit: Commit) => Promise<R>): Promise<R>;
}

/** Begins a new epoch: every projector before is overtaken from here on. `signal` ends every turn before it commits. */
export async function openFence(documents: Documents, signal: AbortSignal): Promise<Fence> {
  for (const spec of [projectorStates, projectionStates, parkedEvents]) await documents.collection(spec as never);
  let state = await documents.transaction(async (inside) => {
    signal.throwIfAborted();
    const projector = await inside.collection(projectorStates);
    const before = projectorState(await projector.get(PROJECTOR));
    const generations: ProjectorState['generations'] = {};
    for (const stored of await (await inside.collection(projectionStates)).find({})) {
      const { generation } = projectionState(stored._id, stored);
      if (generation > 0) generations[stored._id] = generation;
    }
    const claimed: ProjectorState = { ...before, epoch: before.epoch + 1, turn: 0, generations };
    await projector.write([{ replace: claimed }]);
    return claimed;
  });
  let last: Promise<unknown> = Promise.resolve();
  let broken: { by: unknown } | null = null;

  async function commit(work: (inside: Documents) => Promise<FenceChanges>): Promise<void> {
    let next: ProjectorState | null = null;
    if (broken) throw broken.by;
    try {
      await documents.transaction(async (inside) => {
        next = null;
        signal.throwIfAborted();
        const projector = await inside.collection(projectorStates);
        if (!isDeepStrictEqual(await projector.get(PROJECTOR), state)) throw new Overtaken();
        const changes = await work(inside);
        const written = { ...state, ...changes, turn: state.turn + 1 };
        await projector.write([{ replace: written }]);
        next = written;
      });
    } catch (error) {
      // With all its work done it may have been committed: nothing goes on from a state that is not known.
      if (next || error instanceof Overtaken) broken = { by: error };
      throw error;
    }
    state = next!;
  }

  return {
    get state() {
      return state;
    },
    inTurn(work) {
      const turn = last.then(() => work(commit));
      last = turn.catch(() => {}); // whoever asked for the turn is told
      return turn;
    },
  };
}
