// Builds a new generation of a projection beside the live one, while the live run goes on; flips when both are at the same
// position in the log; drops the old generation when no reader can still be in it.
import type { Logger } from 'pino';
import { BEGINNING, type EventStore, type Position, type RecordedEvent } from '../events/event-store.ts';
import type { UrlListing } from '../events/url-listing.ts';
import type { Documents, Inside } from '../readmodels/documents.ts';
import {
  inGeneration,
  type ProjectionState,
  parkedEvents,
  projectionState,
  projectionStates,
  withoutNext,
} from '../readmodels/projection-state.ts';
import { pause } from '../time/pause.ts';
import { readUrls } from './checked-urls.ts';
import { type Commit, type Fence, Overtaken } from './fence.ts';
import type { Projection, Target } from './projection.ts';
import { BUILD_PART_URLS, partsOf, type Reached, takeEvents } from './take-events.ts';

export interface BuildOptions {
  log: EventStore;
  listing: UrlListing;
  documents: Documents;
  fence: Fence;
  projections: readonly Projection[];
  logger: Logger;
  signal: AbortSignal;
  /** Milliseconds that never go back. */
  monotonic: () => number;
}

const BUILD_PAGE = 1000;
/** The interval between two looks for requested rebuilds. */
const LOOK_MS = 1000;
/**
 * A retired generation is kept this long, for readers that began in it: longer than any read but the export of a very slow
 * client. The process's monotonic clock measures it, so that a restart begins it anew.
 */
export const GRACE_MS = 15 * 60_000;

type Next = NonNullable<ProjectionState['next']>;

export function isToBuild(projection: Projection, state: ProjectionState): boolean {
  return state.rebuild || state.next !== null || state.version !== projection.version;
}

/** Builds projections and drops retired generations until `signal` aborts. Calls `onRound` after each round. */
export async function runBuilds(options: BuildOptions, onRound: () => Promise<void>): Promise<void> {
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
    await onRound();
    await pause(LOOK_MS, signal);
  }
}

export async function stateOf(documents: Documents, name: string): Promise<ProjectionState> {
  return projectionState(name, await documents.reading(projectionStates).get(name));
}

/** Builds the projection's next generation and flips to it; continues an interrupted build from its checkpoint. */
export async function build(options: BuildOptions, projection: Projection): Promise<void> {
  const { documents, fence, logger, signal } = options;
  const next = await fence.inTurn((commit) => begin(commit, projection));
  if (next === null) return;
  for (const spec of projection.collections) await documents.collection(inGeneration(spec, next.generation));
  logger.info({ projection: projection.name, ...next }, 'building a read model');
  const target: Target = { projection, generation: next.generation, counter: 'next.parked' };
  let checkpoint = next.checkpoint;
  // The first pass reads the whole log; each later one, the events that were appended during the one before.
  for (let pass = 1, taken = 0; pass <= 2 || taken > BUILD_PAGE; pass++) {
    const until = fence.state.checkpoint;
    taken = await catchUp(options, target, { from: checkpoint, until }, (work) => fence.inTurn(work));
    checkpoint = until;
    if (signal.aborted) return;
  }
  // The last events are read while the live run waits for its turn, so that both end at one position.
  await fence.inTurn(async (commit) => {
    const until = fence.state.checkpoint;
    await catchUp(options, target, { from: checkpoint, until }, (work) => work(commit));
    await flip(fence, commit, target, until);
  });
  logger.info({ projection: projection.name, generation: next.generation }, 'a read model was built and is live');
}

/** Returns the generation to fill; null when the projection needs no build. Gives up a build of another version. */
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

/** Fills the generation with the events after `from` up to `until`, inclusive. Returns the number of events. */
async function catchUp(
  { log, listing, logger, signal }: BuildOptions,
  target: Target,
  { from, until }: { from: Position; until: Position },
  inTurn: InTurn,
): Promise<number> {
  const { projection } = target;
  let taken = 0;
  async function take(events: RecordedEvent[], position: Position): Promise<void> {
    for (const part of partsOf({ events, position }, [projection], BUILD_PART_URLS)) {
      signal.throwIfAborted();
      const urls_of = await readUrls(listing, part.events);
      const reached = reachedIn(target);
      await inTurn((commit) => takeEvents({ commit, targets: [target], reached, urls_of, logger }, part));
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
    // A rebuild requested meanwhile has given this build up.
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
    // This version's code may have opened collections in the old generation that its own version did not declare.
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

/** More than the parked events that are kept of all old generations. */
const ALL_PARKED = 10_000;

async function forgetParked(inside: Inside, projection: string, generation: number): Promise<void> {
  const parked = await inside.collection(parkedEvents);
  const old = await parked.find({ projection, generation: { $lt: generation } }, { limit: ALL_PARKED });
  await parked.write(old.map(({ _id }) => ({ delete: _id })));
}

/** First removes the generation from the state, then drops it: a reader whose stream ends in between finds out from the state. */
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
  logger.info({ projection: name, generation }, 'dropped the old generation of a rebuilt read model');
}

/** Drops collections that a crash has left of generations that no state names. */
export async function dropOrphans({ documents, projections }: BuildOptions): Promise<void> {
  const names = await documents.names();
  for (const projection of projections) {
    const { generation, next, retired, collections } = await stateOf(documents, projection.name);
    const known = new Set([generation, next?.generation ?? 0, ...retired.map((old) => old.generation)]);
    const own = new Set([...collections, ...projection.collections.map((spec) => spec.name)]);
    for (const name of names) {
      const end = name.lastIndexOf('_');
      const number = Number(name.slice(end + 1));
      if (own.has(name.slice(0, end)) && number < Math.max(...known) && !known.has(number)) await documents.drop(name);
    }
  }
}
