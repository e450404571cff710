// The entry of a thread that runs roles: opens its own stores, runs the roles until the stop message, and closes the stores. A
// role outlives its stores: while one is away the role waits, reports that, and then goes on.
import { access, constants } from 'node:fs/promises';
import { getPriority, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { Pulse } from '../checkers/pulse.ts';
import type { Queue } from '../checkers/queue.ts';
import { WORK_SUBJECT } from '../checkers/work.ts';
import type { Blobs } from '../commands/blobs.ts';
import { storeFaultOf } from '../events/store-faults.ts';
import { watchCertificates } from '../roles/certificates.ts';
import {
  DependencyFault,
  measureDependency,
  type Probe,
  probeDependencies,
  reachServer,
} from '../roles/dependencies.ts';
import { giveRoleSigns } from '../roles/role-signs.ts';
import type { Config, Role } from '../settings/config.ts';
import { atMost, backOff } from '../time/pause.ts';
import { StartError } from './data-dir.ts';
import { giveMemoryBack } from './idle-memory.ts';
import { openLogger } from './logger.ts';
import type { RunRole, UsedDependency } from './roles/role.ts';
import { type OpeningOptions, openBlobs, openQueue, openStores, type Stores } from './stores.ts';
import type { ThreadStart } from './supervised-thread.ts';
import { openTracing } from './tracing.ts';
import { watchedCertificates } from './watched-certificates.ts';

/** http runs in the process's first thread. */
export type ThreadRole = Exclude<Role, 'http'>;

export interface ThreadData {
  config: Config;
  roles: readonly ThreadRole[];
  own: ThreadStart;
  /** The memory of the `Tallies` of this process's checker. */
  counts: SharedArrayBuffer;
}
/** `started`: the thread works, or waits for a server that is away. `doing`: what it would end at, if it ran out of memory. */
export type ThreadMessage =
  | { type: 'started' }
  | { type: 'doing'; what: string | null }
  | { type: 'failed'; reason: string; code?: string | undefined };

/** A thread loads only the modules of its roles. */
const RUN: Record<ThreadRole, () => Promise<{ run: RunRole }>> = {
  projector: () => import('./roles/projector.ts'),
  processes: () => import('./roles/processes.ts'),
  checker: () => import('./roles/checker.ts'),
};

const LONGEST_PAUSE_MS = 5_000;
const BEAT_MS = 250;
const MAIL_PROBE_MS = 10_000;
/** A stopping role waits no longer than this for a store that is away. */
const LAST_WORDS_MS = 5_000;
/** And no longer than this for its last heartbeat. */
const SIGNS_STOP_MS = 500;

/** Linux gives this thread, and threads that it starts, a quarter of a core that http wants too. */
const NICE = 5;

const port = parentPort!;
const { config, roles, own, counts } = workerData as ThreadData;
const logger = openLogger(config).child({ roles });
const stop = new AbortController();
let is_stopping = false;
port.on('message', () => {
  is_stopping = true;
  stop.abort();
});
const pulse = new Pulse(own.pulse);
const beats = setInterval(() => pulse.beat(), BEAT_MS);
const endMemory = giveMemoryBack();

// Reads wait for the projector, so it does not yield; the checker's work can wait.
if (config.roles.includes('http') && !roles.includes('projector')) yieldToHttp();

const endTracing = await openTracing(config, roles);
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
    const { message: reason, code } = error as NodeJS.ErrnoException;
    port.postMessage({ type: 'failed', reason, code } satisfies ThreadMessage);
    process.exitCode = 1;
  }
} finally {
  clearInterval(beats);
  endMemory();
  await endTracing();
  port.close();
}

/**
 * On Linux a priority is of the calling thread alone; elsewhere it would be of the whole process. A process that was started nicer stays so, for only
 * a privileged one may take that back. Where a sandbox refuses it, requests share the processor with the other roles.
 */
function yieldToHttp(): void {
  if (process.platform !== 'linux' || getPriority() >= NICE) return;
  try {
    setPriority(NICE);
  } catch (error) {
    logger.warn({ err: error }, 'this thread cannot yield to http: the system refuses it another priority');
  }
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
  const blobs = roles.includes('processes') ? openBlobs(config, logger, opening) : null;
  const close = async () => {
    const opened = await Promise.all([queue, blobs].map((one) => one?.catch(() => null)));
    await Promise.allSettled([stores, ...opened].map((one) => one?.close()));
  };
  // After this time, waits for a store end with the error that the store is closed.
  stop.signal.addEventListener('abort', () => setTimeout(close, LAST_WORDS_MS).unref());
  try {
    // While the queue or the files are away, the projector starts without them.
    await Promise.race([Promise.all([queue, blobs]), waits.promise]);
    started();
    // A role that fails ends the thread, and the service with it.
    await Promise.all(roles.map((role) => play(role, stores, { queue, blobs }))).finally(() => stop.abort());
  } finally {
    await close();
  }
}

type Faults = Partial<Record<UsedDependency, string | null>>;

/** What vouches for the heads of the ledger outside of this machine did what it was last asked. */
function ledgerProbes({ ledger_sign_command, ledger_witness }: Config, faults: Faults): Probe[] {
  const probe = (name: UsedDependency, kind: string): Probe => ({
    ...{ name, kind },
    async ask() {
      const reason = faults[name] ?? null;
      if (reason !== null) throw new DependencyFault(reason);
    },
  });
  return [
    ...(ledger_sign_command === null ? [] : [probe('ledger_signer', 'command')]),
    ...(ledger_witness.length === 0 ? [] : [probe('ledger_witness', 'file, url or mailbox')]),
  ];
}

/** The mail server takes a connection, and took the last mail; without a server, mails are files. */
function mailProbes({ smtp_url, data_dir }: Config, fault: () => string | null): Probe[] {
  if (!smtp_url) return [{ name: 'mail', kind: 'outbox', ask: () => access(data_dir, constants.W_OK) }];
  const ask = async (aborted: AbortSignal) => {
    await reachServer(smtp_url, aborted);
    const reason = fault();
    if (reason !== null) throw new DependencyFault(`no mail can be sent: ${reason}`);
  };
  return [{ name: 'mail', kind: 'smtp', ask }];
}

/** The stores that only some roles use; null: no role of this thread does. */
interface LateStores {
  queue: Promise<Queue> | null;
  blobs: Promise<Blobs> | null;
}

/** Runs the role, and again with back-off whenever a store's fault has ended it. Throws every other error. */
async function play(role: ThreadRole, stores: Stores, opening: LateStores): Promise<void> {
  const role_logger = logger.child({ role });
  const { signal } = stop;
  const { documents } = stores;
  let queue: Queue | null = null;
  const measured = measureDependency({ name: 'queue', kind: config.nats_url ? 'nats' : 'sqlite' });
  let queue_depth: number | null = null;
  const askQueue = () =>
    measured.ask(async () => {
      if (queue === null) throw new Error('there is no queue yet');
      queue_depth = await queue.depth(WORK_SUBJECT);
    });
  const faults: Faults = {};
  const used = [...mailProbes(config, () => faults.mail ?? null), ...ledgerProbes(config, faults)];
  const servers = role === 'processes' ? probeDependencies(used, { signal, every_ms: MAIL_PROBE_MS }) : null;
  const signs = giveRoleSigns({
    ...{ documents, role, ...(usesQueue(role) ? { askQueue } : {}) },
    dependencies: () => [...(usesQueue(role) ? [measured.state()] : []), ...(servers?.states() ?? [])],
    queue_depth: () => queue_depth,
    certificates: watchCertificates(watchedCertificates(config, role), { signal }),
    data_dir: config.data_dir,
  });
  try {
    for (let failures = 0; !signal.aborted; failures += 1) {
      try {
        if (usesQueue(role)) queue = await opening.queue;
        const blobs = role === 'processes' ? await opening.blobs : null;
        const { run } = await RUN[role]();
        const { say, measure, managing, audited } = signs;
        const late = { queue: queue!, blobs: blobs! };
        await run({
          ...stores,
          ...late,
          config,
          logger: role_logger,
          signal,
          say,
          measure,
          managing,
          audited,
          fault: (dependency, reason) => void (faults[dependency] = reason),
          pulse,
          own,
          counts,
          doing: (what) => port.postMessage({ type: 'doing', what } satisfies ThreadMessage),
        });
      } catch (error) {
        if (signal.aborted) return;
        const fault = storeFaultOf(error);
        if (fault === null) throw error;
        const reason = fault === 'storage_full' ? 'there is no room to write' : 'a store does not answer';
        role_logger.warn({ err: error, failures }, `${reason}: the role waits and then continues by itself`);
        signs.say('waiting', reason);
        await backOff(failures, LONGEST_PAUSE_MS, signal);
      }
    }
  } finally {
    await atMost(SIGNS_STOP_MS, signs.stop());
  }
}
