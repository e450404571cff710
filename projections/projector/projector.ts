// Runs the projections: the live run of all, and beside it the builds of new projections and new versions.
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { BEGINNING, type EventStore, type Position } from '../../events/event-store.ts';
import { isOfStore } from '../../events/store-faults.ts';
import { openUrlListing, type UrlListing } from '../../events/url-listing.ts';
import type { Documents } from '../../readmodels/documents.ts';
import { type Follower, inGeneration, PROJECTOR, requestRebuild } from '../../readmodels/projection-state.ts';
import { type ReportState, unlessAnswering, type Work, whileHeld } from '../../roles/holding.ts';
import type { LeaseKeeper } from '../../roles/leases.ts';
import { backOff, pause } from '../../time/pause.ts';
import { DISCARDING, type Projection } from '../projection.ts';
import { type BuildOptions, build, noteIdentities, runBuilds } from './build.ts';
import { type Fence, Overtaken, openFence } from './fence.ts';
import { dropOrphans, stateOf } from './generations.ts';
import { rebuildReadable } from './later-events.ts';
import { runLive } from './live-run.ts';
import { adoptLog, otherLog } from './other-log.ts';
import { keepRoom } from './room.ts';
import { isFaultOfEvent } from './take-events.ts';

export interface ProjectorOptions {
  log: EventStore;
  /** Default: one of its own. */
  listing?: UrlListing;
  /** Reads the log's id. */
  log_id: () => Promise<string>;
  documents: Documents;
  projections: readonly Projection[];
  /** Default: the projector. */
  follower?: FollowerOptions;
  leases: LeaseKeeper;
  logger: Logger;
  signal: AbortSignal;
  say?: ReportState;
  /** Called after each transaction of the live run with its position, and whether documents are incomplete or in their first round of builds. */
  advanced?: (position: Position, is_building: boolean) => void;
  /** Milliseconds that never go back. */
  monotonic?: () => number;
  /** Default: this thread. */
  builder?: BuildOptions['builder'];
  /** Called with the projection that is built, and with null at the end. */
  building?: BuildOptions['building'];
  /** Megabytes of the disk that builds leave to users; null: a share of it. */
  reserve_mb?: number | null;
}

const THIS_THREAD = { id: randomUUID() };

/** A follower with a checkpoint and a lease of its own. */
export interface FollowerOptions {
  name: Follower;
  /** The pause between two transactions while the log has little more. */
  spacing_ms: number;
}
const THE_PROJECTOR: FollowerOptions = { name: PROJECTOR, spacing_ms: 0 };
/** The projector's lease has the role's name. */
const leaseOf = ({ name }: FollowerOptions) => (name === PROJECTOR ? 'projector' : name);

/** The interval between two checks that nobody has replaced the log, or dropped a collection. */
const LOOK_MS = 10_000;
/** The interval between two looks for indexes that somebody has dropped. */
const INDEXES_LOOK_MS = 60_000;
/** A projector that was overtaken pauses up to this long before it overtakes the other one. */
const OVERTAKEN_MS = 500;
const LONGEST_PAUSE_MS = 5_000;

const FAILED = 'the projector failed and will continue from its checkpoint';

class LogReplaced extends Error {}

/** Runs until `signal` aborts, one process at a time; a fault is retried with back-off. */
export async function runProjector(options: ProjectorOptions): Promise<void> {
  const { log, logger, say } = options;
  let failures = 0;
  const run = async (signal: AbortSignal, work: Work) => {
    const committed = () => {
      failures = 0;
      work.done();
    };
    try {
      await project({ ...options, signal }, committed);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof LogReplaced) return logger.warn({ reason: error.message }, 'the log was replaced');
      if (error instanceof Overtaken) {
        logger.info('another projector has written; this one starts again from the stored checkpoint');
        return pause(OVERTAKEN_MS * (0.2 + 0.8 * Math.random()), signal);
      }
      failures++;
      work.failed(FAILED);
      // A store that is away passes by itself: one line tells of it.
      if (!isOfStore(error)) logger.error({ err: error, failures }, FAILED);
      else if (failures === 1) logger.warn({ err: error }, FAILED);
      await backOff(failures, LONGEST_PAUSE_MS, signal);
    }
  };
  const { follower = THE_PROJECTOR } = options;
  const unable = unlessAnswering({ 'the event log': () => log.head() });
  await whileHeld(options.leases, leaseOf(follower), options.signal, run, { unable, say, logger });
}

/**
 * `committed` is called after each transaction. Once the read models have reached the end that the log had when this began, it is called each
 * second too: before that, a round without a transaction says nothing of the live run.
 */
async function project(options: ProjectorOptions, committed: () => void): Promise<void> {
  const { log, documents, projections, logger, monotonic = () => performance.now() } = options;
  const { name, spacing_ms } = options.follower ?? THE_PROJECTOR;
  const ended = new AbortController();
  const signal = AbortSignal.any([options.signal, ended.signal]);
  const end = await log.head();
  const fence = await openFence(documents, signal, { follower: name, committed });
  const types = [...new Set([...projections.flatMap((projection) => projection.types), DISCARDING])];
  await adoptLog({ ...options, fence, types });
  const { listing = openUrlListing(log) } = options;
  const { builder = THIS_THREAD, building: say = () => {} } = options;
  const building: BuildOptions = {
    ...{ log, listing, documents, fence, projections, logger, signal, monotonic },
    ...{ builder, building: say, room: keepRoom(documents, options.reserve_mb ?? null, monotonic) },
  };
  await dropOrphans(building);
  await rebuildDropped(options, fence);
  for (const projection of projections) await rebuildReadable(options, fence, projection);
  // On empty documents all projections are built first, so that the live run reads the log once for all of them.
  if (fence.state.checkpoint === BEGINNING) for (const projection of projections) await build(building, projection);
  const unfit = await unfitGenerations(options, fence);

  let is_building = true;
  let looked_at = monotonic();
  let opened_at = looked_at;
  const advanced = () => options.advanced?.(fence.state.checkpoint, is_building || fence.state.catching_up_to !== null);
  async function endRound(): Promise<void> {
    is_building = false;
    if (fence.state.checkpoint >= end) committed();
    advanced();
    if (monotonic() - opened_at >= INDEXES_LOOK_MS) {
      await unfitGenerations(options, fence);
      opened_at = monotonic();
    }
    if (monotonic() - looked_at < LOOK_MS) return;
    looked_at = monotonic();
    await rebuildDropped(options, fence);
    const why = await otherLog(log, fence.state, await options.log_id());
    if (why !== null) throw new LogReplaced(why);
  }
  advanced();
  const runs = [
    runLive({ log, listing, fence, projections, unfit, types, spacing_ms, logger, signal, advanced }),
    runBuilds(building, endRound),
  ];
  // When one ends, it ends the other.
  const outcomes = await Promise.allSettled(runs.map((run) => run.finally(() => ended.abort())));
  for (const outcome of outcomes) {
    if (outcome.status === 'rejected' && outcome.reason !== signal.reason) throw outcome.reason;
  }
}

/**
 * Asks for a rebuild of each read model that lacks a collection, live or half built, because somebody has dropped it. A write after the drop
 * made it again without its documents, but with another identity.
 */
async function rebuildDropped({ documents, projections, logger }: ProjectorOptions, fence: Fence): Promise<void> {
  const there = await documents.identities();
  for (const { name, version, collections } of projections) {
    const { next, identities, ...built } = await stateOf(documents, name);
    const namesIn = (generation: number) => collections.map((spec) => inGeneration(spec, generation).name);
    const isDropped = (each: string) => !there.has(each) || (identities[each] ?? there.get(each)) !== there.get(each);
    const generation = fence.state.generations[name];
    // A version that declares other collections is built anyway.
    const of_live = generation !== undefined && built.version === version ? namesIn(generation) : [];
    // A build makes its collections before it takes an event.
    const of_next = next?.version === version && next.checkpoint !== BEGINNING ? namesIn(next.generation) : [];
    const dropped = [...of_live, ...of_next].filter(isDropped);
    if (dropped.length === 0) {
      // An earlier version has built it.
      if (of_live.some((each) => identities[each] === undefined))
        await fence.inTurn((commit) => noteIdentities(commit, name, there, of_live));
      continue;
    }
    logger.warn({ projection: name, dropped }, 'a read model lacks collections; it is rebuilt');
    await requestRebuild(documents, name, of_next.some(isDropped) ? {} : { continues: version });
  }
}

/** Makes dropped indexes again. Finds the generations, by projection, in which this version's collections and indexes cannot be opened. They wait for a build. */
async function unfitGenerations({ documents, projections, logger }: ProjectorOptions, fence: Fence) {
  const unfit = new Map<string, number>();
  for (const { name, version, collections } of projections) {
    const generation = fence.state.generations[name];
    if (generation === undefined) continue;
    try {
      for (const spec of collections) await documents.collection(inGeneration(spec, generation));
    } catch (error) {
      if (!isFaultOfEvent(error) || (await stateOf(documents, name)).version === version) throw error;
      logger.warn({ err: error, projection: name, generation }, 'a read model is not updated until it is rebuilt');
      unfit.set(name, generation);
    }
  }
  return unfit;
}
