// Builds a new generation of a projection beside the live one, while the live run goes on; flips when both are at the same
// position in the log; drops the old generation when no reader can still be in it. Decision 84 says why.
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { BEGINNING, type EventStore, type Position } from '../../events/event-store.ts';
import type { UrlListing } from '../../events/url-listing.ts';
import type { Documents } from '../../readmodels/documents.ts';
import {
  type Comparison,
  followerOf,
  inGeneration,
  type ProjectionState,
  projectionState,
  projectionStates,
  withoutNext,
} from '../../readmodels/projection-state.ts';
import { pause } from '../../time/pause.ts';
import { type Range, readParts } from '../parts.ts';
import type { Projection, Read, Target } from '../projection.ts';
import { compareDocuments } from './compare.ts';
import { type Commit, type Fence, Overtaken } from './fence.ts';
import { dropRetired, numbersOf, stateOf } from './generations.ts';
import type { RoomKeeper } from './room.ts';
import { forgetParked, isFaultOfEvent, isPassing, type Reached, stateIn, takeEvents } from './take-events.ts';

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
  /** Who builds: a process or thread, until a failure. */
  builder: { id: string };
  /** Called with the projection that is built, and with null at the end. */
  building: (projection: string | null) => void;
  room: RoomKeeper;
}

/** With as few events left, a build closes the gap while the live run waits. */
const FEW_EVENTS = 1000;
/** A build whose builders end one after the other, without a step forward, is no longer tried. */
export const MAX_BUILDERS = 8;
/** So many small parts take a builder beyond what its predecessor ended at. */
const SMALL_PARTS = 20;
const MAX_REASON_CHARS = 1000;
const FAILED = 'the build of a read model failed and waits for an operator: the live one stays, and all others go on';
/** The interval between two looks for requested rebuilds. */
const LOOK_MS = 1000;
/**
 * A retired generation is kept this long, for readers that began in it: longer than any read but the export of a very slow
 * client. The process's monotonic clock measures it, so that a restart begins it anew.
 */
export const GRACE_MS = 15 * 60_000;

type Next = Required<NonNullable<ProjectionState['next']>>;

function isToBuild(projection: Projection, state: ProjectionState): boolean {
  if (state.failed?.version === projection.version) return false;
  return state.rebuild || state.next !== null || state.version !== projection.version;
}

/** Builds projections and drops retired generations until `signal` aborts. Calls `onRound` after each round. */
export async function runBuilds(options: BuildOptions, onRound: () => Promise<void>): Promise<void> {
  const { documents, fence, projections, signal, monotonic } = options;
  const retired_since = new Map<string, number>();
  while (!signal.aborted) {
    const all = await documents.reading(projectionStates).find({});
    const states = all.filter(({ _id }) => followerOf(_id) === fence.state._id);
    for (const projection of projections) {
      const stored = states.find((state) => state._id === projection.name) ?? null;
      if (isToBuild(projection, projectionState(projection.name, stored))) await build(options, projection);
    }
    for (const stored of states) {
      const { generation: live, retired } = projectionState(stored._id, stored);
      for (const { generation } of retired) {
        const key = `${stored._id}/${generation}`;
        if (!retired_since.has(key)) retired_since.set(key, monotonic());
        // Nobody reads a generation that was never live, since its build was given up. While none is live, an earlier one may have been.
        const was_given_up = live > 0 && generation > live;
        if (was_given_up || monotonic() - retired_since.get(key)! >= GRACE_MS)
          await dropRetired(options, stored._id, generation);
      }
    }
    await onRound();
    await pause(LOOK_MS, signal);
  }
}

/**
 * Builds the projection's next generation and flips to it; continues an interrupted build from its checkpoint. A build that cannot go on
 * waits for an operator, and the projector goes on without it. Throws `Overtaken` and the store's errors.
 */
export async function build(options: BuildOptions, projection: Projection): Promise<void> {
  const { fence, signal, builder, building } = options;
  const { name, version } = projection;
  building(name);
  try {
    await buildNext(options, projection);
  } catch (error) {
    if (signal.aborted || error instanceof Overtaken) throw error;
    if (!isFaultOfEvent(error)) {
      if (!isPassing(error)) builder.id = randomUUID(); // counts as another that did not get on
      throw error;
    }
    const failed = {
      version,
      reason: String((error as Error | undefined)?.message ?? error).slice(0, MAX_REASON_CHARS),
    };
    options.logger.error({ err: error, projection: name }, FAILED);
    await fence.inTurn((commit) => noteFailure(commit, name, failed));
  } finally {
    building(null);
  }
}

async function buildNext(options: BuildOptions, projection: Projection): Promise<void> {
  const { documents, fence, logger, signal, builder, room } = options;
  const used = numbersOf(projection, await documents.names());
  const next = await fence.inTurn((commit) => begin(commit, projection, { used, builder: builder.id }));
  if (next === null) return;
  if (next.builders.length > MAX_BUILDERS) {
    throw new Error(
      `its last ${MAX_BUILDERS} tries ended, with their process, their thread or an error of the store, before one got on from ` +
        (next.checkpoint === BEGINNING ? 'the beginning of the log' : `position ${next.checkpoint}`),
    );
  }
  const made = projection.collections.map((spec) => inGeneration(spec, next.generation));
  const { generation } = await stateOf(documents, projection.name);
  const live = generation === 0 ? [] : projection.collections.map((spec) => inGeneration(spec, generation).name);
  for (const spec of made) await documents.collection(spec);
  if (next.checkpoint === BEGINNING) {
    const identities = await documents.identities();
    const names = made.map((spec) => spec.name);
    await fence.inTurn((commit) => noteIdentities(commit, projection.name, identities, names));
  }
  await room.assertFits(
    live,
    made.map(({ name }) => name),
  );
  // A first start has nothing to read, and builds each of them: the operator's log names builds that take time.
  const level = fence.state.checkpoint === BEGINNING ? 'debug' : 'info';
  logger[level]({ projection: projection.name, ...next }, 'building a read model');
  const target: Target = { projection, generation: next.generation, counter: 'next.parked' };
  let checkpoint = next.checkpoint;
  const small_parts = next.builders.length > 1 ? SMALL_PARTS : 0;
  async function pass(inTurn: InTurn): Promise<number> {
    const until = fence.state.checkpoint;
    const taken = await catchUp(options, target, { from: checkpoint, until, small_parts }, inTurn);
    signal.throwIfAborted();
    checkpoint = until;
    return taken;
  }
  const passBeside = () => pass((work) => fence.inTurn(work));
  /** The last events are read while the live run waits for its turn, so that both end at one position. */
  async function atOnePosition(work: (commit: Commit) => Promise<void>): Promise<void> {
    while ((await passBeside()) > FEW_EVENTS);
    await fence.inTurn(async (commit) => {
      await pass((read) => read(commit));
      await work(commit);
    });
  }
  // The first pass reads the whole log; each later one, the events that were appended during the one before.
  await passBeside();
  const verified = await verify(options, target, atOnePosition);
  await atOnePosition((commit) => flip(fence, commit, { target, at: checkpoint, verified }));
  logger[level]({ projection: projection.name, generation: next.generation }, 'a read model was built and is live');
}

/** Compares the live documents with those of the target, when somebody has asked for it. */
async function verify(
  { documents, logger, signal, fence }: BuildOptions,
  { projection, generation }: Target,
  atOnePosition: (work: () => Promise<void>) => Promise<void>,
): Promise<Comparison | null> {
  const state = await stateOf(documents, projection.name);
  if (!state.verify || state.generation === 0) return null;
  const live: Read = (spec) => documents.reading(inGeneration(spec, state.generation));
  const rebuilt: Read = (spec) => documents.reading(inGeneration(spec, generation));
  const found = await compareDocuments({
    ...{ projection, live, rebuilt, signal },
    async readBoth<R>(reading: (side: Read) => Promise<R>) {
      const both: R[] = [];
      await atOnePosition(async () => void both.push(await reading(live), await reading(rebuilt)));
      return both as [R, R];
    },
  });
  const { differing } = found;
  logger[differing > 0 ? 'warn' : 'info']({ projection: projection.name, ...found }, 'compared a rebuilt read model');
  return { position: fence.state.checkpoint, ...found };
}

/** Returns the generation to fill, with a number that is not `used`; null when the projection needs no build. Gives up a build of another version. */
async function begin(
  commit: Commit,
  projection: Projection,
  { used, builder }: { used: readonly number[]; builder: string },
): Promise<Next | null> {
  let next: Next | null = null;
  await commit(async (inside) => {
    const states = await inside.collection(projectionStates);
    let state = projectionState(projection.name, await states.get(projection.name));
    if (state.next?.version !== projection.version) {
      state = { ...state, ...withoutNext(state) };
      if (isToBuild(projection, state)) {
        const retired = state.retired.map(({ generation }) => generation);
        const generation = 1 + Math.max(state.generation, ...retired, ...used);
        state.next = { version: projection.version, generation, checkpoint: BEGINNING, parked: 0 };
        state.rebuild = false;
      }
    }
    if (state.next) {
      const builders = [...new Set([...(state.next.builders ?? []), builder])];
      state = { ...state, next: (next = { ...state.next, builders }) };
    }
    await states.write([{ replace: state }]);
    return {};
  });
  return next;
}

async function noteFailure(commit: Commit, name: string, failed: ProjectionState['failed']): Promise<void> {
  await commit(async (inside) => {
    const { states } = await stateIn(inside, name);
    await states.write([{ update: name, set: { $set: { failed } } }]);
    return {};
  });
}

/** Notes the identities of `names` beside those of the other collections that are still there. */
export async function noteIdentities(
  commit: Commit,
  projection: string,
  there: ReadonlyMap<string, string>,
  names: readonly string[],
): Promise<void> {
  await commit(async (inside) => {
    const { states, state } = await stateIn(inside, projection);
    const kept = Object.entries(state.identities).filter(([name]) => there.has(name));
    const noted = names.map((name) => [name, there.get(name) ?? '']);
    await states.write([
      { update: projection, set: { $set: { identities: Object.fromEntries([...kept, ...noted]) } } },
    ]);
    return {};
  });
}

type InTurn = (work: (commit: Commit) => Promise<void>) => Promise<void>;

/** Fills the generation with the events after `from` up to `until`, inclusive. Returns the number of events. */
function catchUp(options: BuildOptions, target: Target, range: Range, inTurn: InTurn): Promise<number> {
  const { fence, logger } = options;
  const reached = reachedIn(target);
  return readParts(options, target.projection, range, async (part, urls_of) => {
    await options.room.assertReserve();
    await inTurn((commit) =>
      takeEvents({ commit, beside: fence.beside, targets: [target], reached, urls_of, logger }, part),
    );
  });
}

const reachedIn =
  ({ projection, generation }: Target): Reached =>
  async (inside, { position }) => {
    const states = await inside.collection(projectionStates);
    const { next } = projectionState(projection.name, await states.get(projection.name));
    // A rebuild requested meanwhile has given this build up.
    if (next?.generation !== generation || next.checkpoint > position) throw new Overtaken();
    await states.write([
      { update: projection.name, set: { $set: { 'next.checkpoint': position, 'next.builders': [] } } },
    ]);
    return {};
  };

interface Flip {
  target: Target;
  at: Position;
  verified: Comparison | null;
}

async function flip(fence: Fence, commit: Commit, { target, at, verified }: Flip): Promise<void> {
  const { projection, generation } = target;
  const { name } = projection;
  await commit(async (inside) => {
    const { states, state } = await stateIn(inside, name);
    const { next } = state;
    if (next?.generation !== generation || next.checkpoint !== at || fence.state.checkpoint !== at) {
      throw new Overtaken();
    }
    const collections = projection.collections.map((spec) => spec.name);
    // This version's code may have opened collections in the old generation that its own version did not declare.
    const old = { generation: state.generation, collections: [...new Set([...state.collections, ...collections])] };
    const flipped: ProjectionState = {
      ...state,
      ...{
        version: next.version,
        generation,
        parked: next.parked,
        next: null,
        collections,
        types: [...projection.types],
      },
      ...{ failed: null, verify: false, verified },
      retired: state.generation > 0 ? [...state.retired, old] : state.retired,
    };
    await states.write([{ replace: flipped }]);
    await forgetParked(inside, name, generation);
    return { generations: { ...fence.state.generations, [name]: generation } };
  });
}
