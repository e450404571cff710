// Runs the process managers, each on its own. Every step is a command, which asks the log: a pass over stale documents, or a second pass,
// changes nothing.
import { WORK_SUBJECT } from '../checkers/work.ts';
import { DocumentsNotReady } from '../readmodels/read-models.ts';
import { DependencyFault } from '../roles/dependencies.ts';
import { unlessAnswering, type Work, whileHeld } from '../roles/holding.ts';
import type { ManagerName } from '../roles/managers.ts';
import { steadyClock } from '../time/steady-clock.ts';
import { keepRunning, StoreWaits } from './keep-running.ts';
import { loopsOf } from './loops.ts';
import { ManagerRunner } from './manager-runner.ts';
import { ManagerWatch } from './manager-watch.ts';
import { managersOf } from './managers.ts';
import type { ProcessesOptions } from './options.ts';
import { PutOff } from './put-off.ts';
import { openRemovals } from './removals.ts';

/** Runs until `signal` aborts, in one process at a time. */
export async function runProcesses(options: ProcessesOptions): Promise<void> {
  const { log, queue, readmodels, logger, say } = options;
  const { now = Date.now, monotonic = () => performance.now() } = options;
  const steady = steadyClock(now, monotonic);
  let is_running = false;
  const run = async (signal: AbortSignal, work: Work) => {
    is_running = true;
    const parts = { ...options, removals: openRemovals(), now, steady, monotonic };
    const watches: ManagerWatch[] = [];
    const waits = new StoreWaits(logger);
    options.managing?.(() => watches.map((watch) => watch.sign()));
    const keep = (name: ManagerName, start: (watch: ManagerWatch, onPass: () => void) => Promise<void>) => {
      const watch = new ManagerWatch(name, monotonic);
      watches.push(watch);
      // Without the dispatcher, jobs stand still: another process takes the role over. The others wait for their own fault to end.
      const stands = name === 'dispatch' ? { work } : {};
      return keepRunning(watch, (onPass) => start(watch, onPass), { logger, waits, signal, ...stands });
    };
    await Promise.all([
      ...loopsOf(parts).map(({ name, run }) => keep(name, (watch, onPass) => run(signal, onPass, watch))),
      ...managersOf(parts).map((manager) => {
        // What is put off, and since when, survives a restart of its manager.
        const lasting = { ...manager, put_off: manager.put_off ?? new PutOff(monotonic) };
        return keep(manager.name, (watch, onPass) =>
          new ManagerRunner(lasting, { readmodels, logger, now: steady, monotonic, watch }).run(signal, onPass),
        );
      }),
    ]).finally(() => (is_running = false));
  };
  const unable = unlessAnswering({
    'the event log': () => log.head(),
    'the queue': () => queue.depth(WORK_SUBJECT),
    // The lease, which its holder renews, is in the same store.
    'the store of documents': async () => is_running || (await readmodels.position().catch(blameReadModels)),
  });
  await whileHeld(options.leases, 'processes', options.signal, run, { unable, say, logger });
}

function blameReadModels(error: unknown): never {
  throw error instanceof DocumentsNotReady ? new DependencyFault(error.message) : error;
}
