// Builds a projection beside what is read of it, while the live run goes on for all; flips when both are at the same
// place in the log; drops what was read before when nobody can be reading it any more.
import type { Logger } from 'pino';
import { BEGINNING, type EventStore, type Position, type RecordedEvent } from '../events/event-store.ts';
import type { Documents } from '../readmodels/documents.ts';
import {
  inGeneration,
  type ProjectionState,
  parkedEvents,
  projectionState,
  projectionStates,
  withoutNext,
} from '../readmodels/projection-state.ts';
import { pause } from '../time/pause.ts';
import { type Commit, type Fence, Overtaken } from './fence.ts';
import type { Projection, Target } from './projection.ts';
import { partsOf, type Reached, takeEvents } from './take-events.ts';

export interface BuildOptions {
  log: EventStore;
  documents: Documents;
  fence: Fence;
  projections: readonly Projection[];
  logger: Logger;
  signal: AbortSignal;
  /** Milliseconds that never go back. */
  monotonic: () => number;
}

const BUILD_PAGE = 1000;
/** How often somebody's wish for a rebuild is looked for. */
const LOOK_MS = 1000;
/**
 * How long a generation is kept when another has taken its place: longer than any read takes but the export of a client
 * that hardly reads. In this process's own time, so that after a restart it begins anew.
 */
export const GRACE_MS = 15 * 60_000;

type Next = NonNullable<ProjectionState['next']>;

export function isToBuild(projection: Projection, state: ProjectionState): boolean {
  return state.rebuild || state.next !== null || state.version !== projection.version;
}

/** Until `signal` aborts: builds what is to be built, and drops what is retired. Calls `looked` after each round. */
export async function runBuilds(options: BuildOptions, looked: () => Promise<void>): Promise<void> {
  const { documents, projections, signal, monotonic } = options;
  const retired_since = new Map<string, number>();
  while (!signal.aborted) {
    const states = await documents.reading(projectionStates).find({});
    for (const projection of projections) {
      const stored = states.find((state) => state._id === projection.name) ?? null;
      if (isToBuild(projection, projectionState(projection.name, stored))) await build(options, projection);
    }
    for (const stored of states) {
      for (const { generation } of projectionState(stored._id, stored).retired) {
        const key = `${stored._id}/${generation}`;
        if (!retired_since.has(key)) retired_since.set(key, monotonic());
        if (monotonic() - retired_since.get(key)! >= GRACE_MS) await dropRetired(options, stored._id, generation);
      }
    }
    await looked();
    await pause(LOOK_MS, signal);
  }
}

export async function stateOf(documents: Documents, name: string): Promise<ProjectionState> {
  return projectionState(name, await documents.reading(projectionStates).get(name));
}

/** Goes on with a build that was interrupted. */
export async function build(options: BuildOptions, projection: Projection): Promise<void> {
  const { documents, fence, logger, signal } = options;
  const next = await fence.inTurn((commit) => begin(commit, projection));
  if (next === null) return;
  for (const spec of projection.collections) await documents.collection(inGeneration(spec, next.generation));
  logger.info({ projection: projection.name, ...next }, 'building a read model');
  const target: Target = { projection, generation: next.generation, counter: 'next.parked' };
  let checkpoint = next.checkpoint;
  // The first pass takes as long as the log is; each one after it, as long as the log has grown meanwhile.
  for (let pass = 1, taken = 0; pass <= 2 || taken > BUILD_PAGE; pass++) {
    const until = fence.state.checkpoint;
    taken = await catchUp(options, target, { from: checkpoint, until }, (work) => fence.inTurn(work));
    checkpoint = until;
    if (signal.aborted) return;
  }
  // What is left is closed while the live run waits for its turn: then both are at one place.
  await fence.inTurn(async (commit) => {
    const until = fence.state.checkpoint;
    await catchUp(options, target, { from: checkpoint, until }, (work) => work(commit));
    await flip(fence, commit, target, until);
  });
  logger.info({ projection: projection.name, generation: next.generation }, 'a read model was built and is read now');
}

/** What is to be filled; null when what was being filled is not wanted any more. */
async function begin(commit: Commit, projection: Projection): Promise<Next | null> {
  let next: Next | null = null;
  await commit(async (inside) => {
    const states = await inside.collection(projectionStates);
    let state = projectionState(projection.name, await states.get(projection.name));
    if (state.next?.version !== projection.version) {
      state = { ...state, ...withoutNext(state) };
      if (isToBuild(projection, state)) {
        const generation = 1 + Math.max(state.generation, ...state.retired.map((retired) => retired.generation));
        state.next = { version: projection.version, generation, checkpoint: BEGINNING, parked: 0 };
        state.rebuild = false;
      }
      await states.write([{ replace: state }]);
    }
    next = state.next;
    return {};
  });
  return next;
}

type InTurn = (work: (commit: Commit) => Promise<void>) => Promise<void>;

/** Fills the generation with the events up to `until`, inclusive; how many there were. */
async function catchUp(
  { log, logger, signal }: BuildOptions,
  target: Target,
  { from, until }: { from: Position; until: Position },
  inTurn: InTurn,
): Promise<number> {
  const { projection } = target;
  let taken = 0;
  async function take(events: RecordedEvent[], position: Position): Promise<void> {
    for (const part of partsOf({ events, position }, [projection])) {
      signal.throwIfAborted();
      await inTurn((commit) => takeEvents({ commit, targets: [target], reached: reachedIn(target), logger }, part));
    }
    taken += events.length;
  }
  if (from >= until) return 0;
  let page: RecordedEvent[] = [];
  for await (const event of log.readAll({ from, filter: { types: projection.types } })) {
    if (event.position > until) break;
    page.push(event);
    if (page.length < BUILD_PAGE) continue;
    await take(page, event.position);
    page = [];
  }
  await take(page, until);
  return taken;
}

const reachedIn =
  ({ projection, generation }: Target): Reached =>
  async (inside, { position }) => {
    const states = await inside.collection(projectionStates);
    const { next } = projectionState(projection.name, await states.get(projection.name));
    // A rebuild that was asked for meanwhile has given this one up.
    if (next?.generation !== generation || next.checkpoint > position) throw new Overtaken();
    await states.write([{ update: projection.name, set: { $set: { 'next.checkpoint': position } } }]);
    return {};
  };

async function flip(fence: Fence, commit: Commit, { projection, generation }: Target, at: Position): Promise<void> {
  const { name } = projection;
  await commit(async (inside) => {
    const states = await inside.collection(projectionStates);
    const state = projectionState(name, await states.get(name));
    const { next } = state;
    if (next?.generation !== generation || next.checkpoint !== at || fence.state.checkpoint !== at) {
      throw new Overtaken();
    }
    const collections = projection.collections.map((spec) => spec.name);
    // The code of today may have made some of its collections beside those that were declared then.
    const old = { generation: state.generation, collections: [...new Set([...state.collections, ...collections])] };
    const flipped: ProjectionState = {
      ...state,
      ...{ version: next.version, generation, parked: next.parked, next: null, collections },
      retired: state.generation > 0 ? [...state.retired, old] : state.retired,
    };
    await states.write([{ replace: flipped }]);
    await forgetParked(inside, name, generation);
    return { generations: { ...fence.state.generations, [name]: generation } };
  });
}

/** At most so many are kept of a generation. */
const ALL_PARKED = 10_000;

async function forgetParked(inside: Documents, projection: string, generation: number): Promise<void> {
  const parked = await inside.collection(parkedEvents);
  const old = await parked.find({ projection, generation: { $lt: generation } }, { limit: ALL_PARKED });
  await parked.write(old.map(({ _id }) => ({ delete: _id })));
}

/** First nobody may read it, then it is dropped: a stream that comes to an end in between is told. */
async function dropRetired(
  { documents, fence, logger }: BuildOptions,
  name: string,
  generation: number,
): Promise<void> {
  let collections: string[] = [];
  await fence.inTurn((commit) =>
    commit(async (inside) => {
      const states = await inside.collection(projectionStates);
      const state = projectionState(name, await states.get(name));
      collections = state.retired.find((retired) => retired.generation === generation)?.collections ?? [];
      const retired = state.retired.filter((kept) => kept.generation !== generation);
      await states.write([{ replace: { ...state, retired } }]);
      return {};
    }),
  );
  for (const collection of collections)
    await documents.drop(inGeneration({ name: collection } as never, generation).name);
  logger.info({ projection: name, generation }, 'dropped a read model that was built anew');
}

/** Drops what a crash has left of generations that no state knows. */
export async function dropOrphans({ documents, projections }: BuildOptions): Promise<void> {
  const names = await documents.names();
  for (const projection of projections) {
    const { generation, next, retired, collections } = await stateOf(documents, projection.name);
    const known = new Set([generation, next?.generation ?? 0, ...retired.map((one) => one.generation)]);
    const of = new Set([...collections, ...projection.collections.map((spec) => spec.name)]);
    for (const name of names) {
      const end = name.lastIndexOf('_');
      const number = Number(name.slice(end + 1));
      if (of.has(name.slice(0, end)) && number < Math.max(...known) && !known.has(number)) await documents.drop(name);
    }
  }
}
