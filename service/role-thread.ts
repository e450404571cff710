// The entry of a thread that runs roles: opens the stores for itself, runs until it is told to stop, closes them. A role
// outlives its stores: when one is away it waits, says so, and goes on.
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
/** `started`: it works, or waits for a server that is away. */
export type ThreadMessage = { type: 'started' } | { type: 'failed'; reason: string; code?: StartError['code'] };

/** Each role loads its modules when a thread plays it. */
const RUN: Record<ThreadRole, () => Promise<{ run: RunRole }>> = {
  projector: () => import('./roles/projector.ts'),
  processes: () => import('./roles/processes.ts'),
  checker: () => import('./roles/checker.ts'),
};

const LONGEST_PAUSE_MS = 5_000;
const BEAT_MS = 250;
/** A role that is told to end waits no longer than this for a store that is away. */
const LAST_WORDS_MS = 5_000;

const port = parentPort!;
const { config, roles, own } = workerData as ThreadData;
const logger = openLogger(config).child({ roles });
const stop = new AbortController();
let is_told = false;
port.on('message', () => {
  is_told = true;
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
  } else if (is_told) logger.warn({ err: error }, 'a role did not end cleanly: what it had in hand is done again');
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
  // Whatever still waits for a store then is told that it is closed.
  stop.signal.addEventListener('abort', () => setTimeout(close, LAST_WORDS_MS).unref());
  try {
    // The projector does without the queue, and does not wait for one.
    await Promise.race([queue, waits.promise]);
    started();
    // One role that ends by a fault ends the thread, and the service with it.
    await Promise.all(roles.map((role) => play(role, stores, queue))).finally(() => stop.abort());
  } finally {
    await close();
  }
}

/** Plays the role again whenever a store's fault has ended it. Throws what time does not mend. */
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
        role_logger.warn({ err: error, failures }, `${reason}: the role waits, and goes on by itself`);
        signs.say('waiting', reason);
        await backOff(failures, LONGEST_PAUSE_MS, signal);
      }
    }
  } finally {
    await Promise.race([signs.stop(), pause(500, new AbortController().signal)]);
  }
}
