// Rebuilds projections: asks for it in their states, and watches. The service's projector does it; while there is none, this program is a
// projector as any other, so that it takes over when the service's ends, and stands by when another one works.
import { type Logger, pino } from 'pino';
import { storeFaultOf } from '../../events/store-faults.ts';
import type { Projection } from '../../projections/projection.ts';
import {
  type Comparison,
  followerOf,
  type ProjectionState,
  projectionState,
  projectionStates,
  projectorStates,
  requestRebuild,
} from '../../readmodels/projection-state.ts';
import { giveRoleSigns } from '../../roles/role-signs.ts';
import { run as project } from '../../service/roles/projector.ts';
import { openStores, type Stores } from '../../service/stores.ts';
import { type Config, readConfig } from '../../settings/config.ts';
import { backOff, pause } from '../../time/pause.ts';
import { onInterrupts } from '../interrupts.ts';
import { type Out, type Progress, showProgress } from '../progress.ts';
import type { Run } from './command.ts';
import { placeOf, unitOf } from './log-progress.ts';
import { openLogToRead } from './open-log.ts';

export interface Rebuilt {
  name: string;
  version: number;
  generation: number;
  parked_events: number;
  verified: Comparison | null;
}

export interface RebuildOptions {
  verify: boolean;
  /** Gives up a build that is under way. */
  anew: boolean;
}

const LOOK_MS = 200;
const LONGEST_PAUSE_MS = 2_000;

/** A build failed, and waits for an operator. */
class BuildFailed extends Error {
  readonly code = 'build_failed';
}

/** Null when a signal came first: the rebuild is still asked for. Throws `BuildFailed` and the stores' errors. */
export async function rebuild(
  run: Run,
  projections: readonly Projection[],
  options: RebuildOptions,
): Promise<Rebuilt[] | null> {
  const config = readConfig(run.env);
  // Nothing is made where there is no log.
  await (await openLogToRead(run)).log.close();
  const interrupts = onInterrupts();
  const logger = pino({ level: 'silent' });
  const say = (reason: string | undefined) => reason !== undefined && run.err.write(`${reason}\n`);
  const { signal } = interrupts;
  const stores = await openStores(config, logger, { of: 'others', signal, waiting: (what) => say(what?.reason) });
  const ended = new AbortController();
  const failures = loggerOfFailures(run);
  const working = beProjector(stores, config, failures, AbortSignal.any([signal, ended.signal]));
  working.catch(() => ended.abort());
  try {
    const watched = watchBuilds(run, stores, projections, options, AbortSignal.any([signal, ended.signal]));
    return await watched.finally(() => ended.abort());
  } finally {
    await working.finally(() => stores.close());
  }
}

/** Tells the user each failure of the projector once: it tries again, and some failures do not pass by themselves. */
function loggerOfFailures({ err }: Run): Logger {
  const told = new Set<string>();
  const write = (line: string) => {
    const reason = (JSON.parse(line) as { err?: { message: string } }).err?.message;
    if (reason === undefined || told.has(reason)) return;
    told.add(reason);
    err.write(`the projector failed and tries again: ${reason}\n`);
  };
  return pino({ level: 'error' }, { write });
}

/** Works whenever no other projector does, until `signal` aborts. */
async function beProjector(stores: Stores, config: Config, logger: Logger, signal: AbortSignal): Promise<void> {
  const { log, listing, documents } = stores;
  const signs = giveRoleSigns({ documents, role: 'projector' });
  try {
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        await project({ log, listing, documents, logger, signal, config, say: signs.say });
      } catch (error) {
        if (signal.aborted) return;
        if (storeFaultOf(error) === null) throw error;
        await backOff(failures, LONGEST_PAUSE_MS, signal);
      }
    }
  } finally {
    await signs.stop();
  }
}

async function watchBuilds(
  run: Run,
  { log, documents }: Stores,
  projections: readonly Projection[],
  { verify, anew }: RebuildOptions,
  signal: AbortSignal,
): Promise<Rebuilt[] | null> {
  const states = documents.reading(projectionStates);
  const followers = documents.reading(projectorStates);
  let is_away = false;
  /** Retries for as long as a store is away; undefined once `signal` has aborted. */
  async function patiently<R>(work: () => Promise<R>): Promise<R | undefined> {
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        const result = await work();
        is_away = false;
        return result;
      } catch (error) {
        if (storeFaultOf(error) === null) throw error;
        if (!is_away) run.err.write(`a store does not answer: waiting for it (${(error as Error).message})\n`);
        is_away = true;
        await backOff(failures, LONGEST_PAUSE_MS, signal);
      }
    }
    return undefined;
  }
  const ask = ({ name, version }: Projection, is_anew: boolean) =>
    patiently(() => requestRebuild(documents, name, { verify, ...(!is_anew && { continues: version }) }));

  /** The generations that are to be replaced, by projection. */
  const replaced = new Map<string, number>();
  const done = new Map<string, Rebuilt>();
  for (const projection of projections) {
    const generation = await ask(projection, anew);
    if (generation !== undefined) replaced.set(projection.name, generation);
  }
  const head = (await patiently(() => log.head())) ?? '';
  const progress: Progress = { total: projections.length * placeOf(head), done: 0 };
  const shown = showProgress(() => progress, run.err as Out, unitOf(head));
  try {
    while (!signal.aborted) {
      const found = new Map((await patiently(() => states.find({})))?.map((state) => [state._id, state]));
      // Where there were no documents, the builds are empty, and the live run fills them all at once.
      const filling = new Map(
        (await patiently(() => followers.find({})))
          ?.filter(({ catching_up_to }) => catching_up_to !== null)
          .map(({ _id, checkpoint }) => [_id, checkpoint]),
      );
      progress.done = 0;
      for (const projection of projections) {
        const { name } = projection;
        const state = projectionState(name, found.get(name) ?? null);
        const filled_to = filling.get(followerOf(name));
        if (state.failed?.version === projection.version) throw new BuildFailed(`${name}: ${state.failed.reason}`);
        const is_built =
          state.generation > replaced.get(name)! && !(verify && isUnverified(state, replaced.get(name)!));
        if (is_built && filled_to === undefined && !done.has(name)) done.set(name, rebuiltOf(state));
        progress.done += done.has(name)
          ? placeOf(head)
          : Math.min(placeOf(head), placeOf(filled_to ?? state.next?.checkpoint ?? ''));
        // A projector of another version has given the build up, or flipped before it was asked to compare.
        const is_forgotten = !done.has(name) && !is_built && state.next === null && !state.rebuild;
        if (is_forgotten) replaced.set(name, (await ask(projection, false)) ?? replaced.get(name)!);
      }
      if (done.size === projections.length) return projections.map(({ name }) => done.get(name)!);
      await pause(LOOK_MS, signal);
    }
    return null;
  } finally {
    shown.stop();
  }
}

/** There was nothing to compare with the first generation. */
const isUnverified = ({ verified }: ProjectionState, replaced: number) => replaced > 0 && verified === null;

const rebuiltOf = ({ _id, version, generation, parked, verified }: ProjectionState): Rebuilt => ({
  ...{ name: _id, version, generation, parked_events: parked, verified },
});
