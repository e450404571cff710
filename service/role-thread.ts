// The entry of a thread that runs roles: opens its own stores, runs the roles until the stop message, and closes the stores. A
// role outlives its stores: while one is away the role waits, reports that, and then goes on.
import { parentPort, workerData } from 'node:worker_threads';
import { Pulse } from '../checkers/pulse.ts';
import type { Queue } from '../checkers/queue.ts';
import { WORK_SUBJECT } from '../checkers/work.ts';
import { storeFaultOf } from '../events/store-faults.ts';
import { giveRoleSigns } from '../roles/role-signs.ts';
import type { Config, Role } from '../settings/config.ts';
import { backOff, pause } from '../time/pause.ts';
import { StartError } from './data-dir.ts';
import { openLogger } from './logger.ts';
import type { RunRole } from './roles/role.ts';
import { type OpeningOptions, openQueue, openStores, type Stores } from './stores.ts';
import type { ThreadStart } from './supervised-thread.ts';

/** http runs in the process's first thread. */
export type ThreadRole = Exclude<Role, 'http'>;

export interface ThreadData {
  config: Config;
  roles: readonly ThreadRole[];
  own: ThreadStart;
}
/** `started`: the thread works, or waits for a server that is away. */
export type ThreadMessage = { type: 'started' } | { type: 'failed'; reason: string; code?: StartError['code'] };

/** A thread loads only the modules of its roles. */
const RUN: Record<ThreadRole, () => Promise<{ run: RunRole }>> = {
  projector: () => import('./roles/projector.ts'),
  processes: () => import('./roles/processes.ts'),
  checker: () => import('./roles/checker.ts'),
};

const LONGEST_PAUSE_MS = 5_000;
const BEAT_MS = 250;
/** A stopping role waits no longer than this for a store that is away. */
const LAST_WORDS_MS = 5_000;

const port = parentPort!;
const { config, roles, own } = workerData as ThreadData;
const logger = openLogger(config).child({ roles });
const stop = new AbortController();
let is_stopping = false;
port.on('message', () => {
  is_stopping = true;
  stop.abort();
});
const pulse = new Pulse(own.pulse);
const beats = setInterval(() => pulse.beat(), BEAT_MS);

try {
  await playAll();
} catch (error) {
  if (error instanceof StartError) {
    const { message: reason, code } = error;
    port.postMessage({ type: 'failed', reason, code } satisfies ThreadMessage);
    process.exitCode = 1;
  } else if (is_stopping)
    logger.warn({ err: error }, 'a role did not end cleanly: the next start repeats its work in hand');
  else {
    logger.fatal({ err: error }, 'a role failed');
    port.postMessage({ type: 'failed', reason: (error as Error).message } satisfies ThreadMessage);
    process.exitCode = 1;
  }
} finally {
  clearInterval(beats);
  port.close();
}

function usesQueue(role: Role): boolean {
  return role === 'processes' || role === 'checker';
}

async function playAll(): Promise<void> {
  const started = () => port.postMessage({ type: 'started' } satisfies ThreadMessage);
  const waits = Promise.withResolvers<void>();
  const waiting = () => {
    started();
    waits.resolve();
  };
  const opening: OpeningOptions = {
    of: roles.includes('checker') ? 'checker' : 'others',
    signal: stop.signal,
    waiting,
  };
  const stores = await openStores(config, logger, opening);
  const queue = roles.some(usesQueue) ? openQueue(config, logger, opening) : null;
  const close = async () => {
    const opened = await queue?.catch(() => null);
    await Promise.allSettled([stores.close(), opened?.close()]);
  };
  // After this time, waits for a store end with the error that the store is closed.
  stop.signal.addEventListener('abort', () => setTimeout(close, LAST_WORDS_MS).unref());
  try {
    // While the queue is away, the projector starts without it.
    await Promise.race([queue, waits.promise]);
    started();
    // A role that fails ends the thread, and the service with it.
    await Promise.all(roles.map((role) => play(role, stores, queue))).finally(() => stop.abort());
  } finally {
    await close();
  }
}

/** Runs the role, and again with back-off whenever a store's fault has ended it. Throws every other error. */
async function play(role: ThreadRole, stores: Stores, opening: Promise<Queue> | null): Promise<void> {
  const role_logger = logger.child({ role });
  const { signal } = stop;
  const { documents } = stores;
  let queue: Queue | null = null;
  const askQueue = async () => {
    if (queue === null) throw new Error('there is no queue yet');
    await queue.depth(WORK_SUBJECT);
  };
  const signs = giveRoleSigns({ documents, role, ...(usesQueue(role) ? { askQueue } : {}) });
  try {
    for (let failures = 0; !signal.aborted; failures += 1) {
      try {
        if (opening && usesQueue(role)) queue = await opening;
        const { run } = await RUN[role]();
        const { say } = signs;
        await run({ ...stores, config, queue: queue!, logger: role_logger, signal, say, pulse, own });
      } catch (error) {
        if (signal.aborted) return;
        const fault = storeFaultOf(error);
        if (fault === null) throw error;
        const reason = fault === 'storage_full' ? 'there is no room to write' : 'a store does not answer';
        role_logger.warn({ err: error, failures }, `${reason}: the role waits and then goes on by itself`);
        signs.say('waiting', reason);
        await backOff(failures, LONGEST_PAUSE_MS, signal);
      }
    }
  } finally {
    await Promise.race([signs.stop(), pause(500, new AbortController().signal)]);
  }
}
