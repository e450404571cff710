// Runs the projections: reads the log once for all that are live, and writes what they make together with the
// checkpoint in one transaction. A projection that is new or of a new version is built beside and then flipped.
import type { Logger } from 'pino';
import {
  BEGINNING,
  type EventStore,
  type Position,
  type RecordedEvent,
  type SubscriptionBatch,
} from '../events/event-store.ts';
import type { CollectionSpec, Document, Documents } from '../readmodels/documents.ts';
import { type LeaseKeeper, pause, type Say, whileHeld } from '../readmodels/leases.ts';
import {
  inGeneration,
  PROJECTOR,
  type ProjectionState,
  projectionStates,
  projectorStates,
} from '../readmodels/projection-state.ts';
import type { OpenCollection, Projection } from './projection.ts';

export interface ProjectorOptions {
  log: EventStore;
  documents: Documents;
  projections: readonly Projection[];
  leases: LeaseKeeper;
  logger: Logger;
  signal: AbortSignal;
  say?: Say;
  /** Called after each transaction with what is visible now. */
  advanced?: (position: Position) => void;
}

const BUILD_PAGE = 1000;
const LONGEST_PAUSE_MS = 5_000;

/** Another projector wrote: what this one knows is out of date. */
class Overtaken extends Error {}

/** Runs until `signal` aborts, one process at a time; a fault is retried with back-off. */
export async function runProjector(options: ProjectorOptions): Promise<void> {
  const { logger, say } = options;
  let failures = 0;
  const advanced = (position: Position) => {
    if (failures > 0) say?.('working');
    failures = 0;
    options.advanced?.(position);
  };
  const run = async (signal: AbortSignal) => {
    try {
      await project({ ...options, advanced, signal });
    } catch (error) {
      if (error instanceof Overtaken) return;
      failures++;
      say?.('waiting', 'the projector failed and will go on from its checkpoint');
      logger.error({ err: error, failures }, 'projector failed; it will go on from its checkpoint');
      await pause(Math.min(100 * 2 ** failures, LONGEST_PAUSE_MS), signal);
    }
  };
  const sayOfLease: Say = (state, reason) => {
    if (state !== 'working' || failures === 0) say?.(state, reason);
  };
  await whileHeld(options.leases, 'projector', options.signal, run, { say: sayOfLease, logger });
}

async function project(options: ProjectorOptions): Promise<void> {
  const { log, documents, projections, signal } = options;
  let checkpoint = await liveCheckpoint(documents);
  const live: { projection: Projection; generation: number }[] = [];
  for (const projection of projections) {
    const generation = await build(options, projection, checkpoint);
    live.push({ projection, generation });
  }
  if (checkpoint === BEGINNING) await documents.collection(projectorStates);
  options.advanced?.(checkpoint);

  const types = [...new Set(projections.flatMap((p) => p.types))];
  for await (const batch of log.subscribe({ from: checkpoint, filter: { types }, signal })) {
    for (const { events, position } of transactionsOf(batch, projections)) {
      const from = checkpoint;
      await documents.transaction(async (inside) => {
        const projector = await inside.collection(projectorStates);
        const stored = (await projector.get(PROJECTOR))?.checkpoint ?? BEGINNING;
        if (stored !== from) throw new Overtaken();
        for (const { projection, generation } of live) {
          await applyTo(projection, events, openIn(inside, generation));
        }
        await projector.write([{ replace: { _id: PROJECTOR, checkpoint: position } }]);
      });
      checkpoint = position;
      options.advanced?.(checkpoint);
    }
  }
}

const isHeavy = ({ type }: RecordedEvent, projections: readonly Projection[]) =>
  projections.some(({ heavy }) => heavy?.includes(type));

/** A batch, cut after each heavy event. */
function* transactionsOf(
  { events, position }: SubscriptionBatch,
  projections: readonly Projection[],
): Generator<SubscriptionBatch> {
  let from = 0;
  for (const [n, event] of events.slice(0, -1).entries()) {
    if (!isHeavy(event, projections)) continue;
    yield { events: events.slice(from, n + 1), position: event.position };
    from = n + 1;
  }
  yield { events: events.slice(from), position };
}

async function liveCheckpoint(documents: Documents): Promise<Position> {
  const projector = await documents.collection(projectorStates);
  return (await projector.get(PROJECTOR))?.checkpoint ?? BEGINNING;
}

const openIn =
  (documents: Documents, generation: number): OpenCollection =>
  <T extends Document>(spec: CollectionSpec<T>) =>
    documents.collection(inGeneration(spec, generation));

async function applyTo(projection: Projection, events: readonly RecordedEvent[], open: OpenCollection): Promise<void> {
  const taken = events.filter((event) => projection.types.includes(event.type));
  if (taken.length > 0) await projection.apply(taken, open);
}

/**
 * Brings a projection to the checkpoint of the live ones and makes it live: nothing to do when its version is read
 * already. The generation that is live then. An interrupted build goes on where it was.
 */
async function build(options: ProjectorOptions, projection: Projection, until: Position): Promise<number> {
  const { log, documents, logger } = options;
  const states = await documents.collection(projectionStates);
  let state: ProjectionState = (await states.get(projection.name)) ?? {
    _id: projection.name,
    version: 0,
    generation: 0,
    next: null,
    collections: [],
  };
  if (state.version === projection.version) {
    for (const spec of projection.collections) await documents.collection(inGeneration(spec, state.generation));
    return state.generation;
  }
  const old_generation = state.generation;
  const old_collections = state.collections;
  if (state.next?.version !== projection.version) {
    const generation = (state.next?.generation ?? state.generation) + 1;
    state = { ...state, next: { version: projection.version, generation, checkpoint: BEGINNING } };
    for (const spec of projection.collections) await documents.drop(inGeneration(spec, generation).name);
    await states.write([{ replace: state }]);
  }
  const next = state.next!;
  for (const spec of projection.collections) await documents.collection(inGeneration(spec, next.generation));
  logger.info({ projection: projection.name, ...next }, 'building a read model');

  let page: RecordedEvent[] = [];
  async function flush(): Promise<void> {
    const last = page.at(-1);
    if (!last) return;
    const events = page;
    page = [];
    next.checkpoint = last.position;
    await documents.transaction(async (inside) => {
      await applyTo(projection, events, openIn(inside, next.generation));
      await (await inside.collection(projectionStates)).write([{ replace: { ...state, next } }]);
    });
  }
  if (until !== BEGINNING) {
    for await (const event of log.readAll({ from: next.checkpoint, filter: { types: projection.types } })) {
      if (event.position > until) break;
      page.push(event);
      if (page.length === BUILD_PAGE || isHeavy(event, [projection])) await flush();
    }
    await flush();
  }
  const collections = projection.collections.map((spec) => spec.name);
  const flipped = { ...state, version: next.version, generation: next.generation, next: null, collections };
  await states.write([{ replace: flipped }]);
  if (old_generation > 0) {
    for (const name of old_collections) await documents.drop(`${name}_${old_generation}`);
  }
  return next.generation;
}
