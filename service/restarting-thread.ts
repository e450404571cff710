// The thread of projector and processes. When it runs out of memory a new one replaces it, and nothing else ends: http goes on. Every
// other end is the service's: see docs/decisions/0028-roles-outlive-their-stores.md.
import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import { Pulse } from '../checkers/pulse.ts';
import { backOffMs } from '../time/back-off.ts';
import { pause as pauseFor } from '../time/pause.ts';
import { StartError } from './data-dir.ts';
import type { ThreadMessage } from './role-thread.ts';
import { stopThread, type ThreadStart, watchSilence } from './supervised-thread.ts';

/** A thread without a heartbeat for this long hangs: one turn of its event loop takes seconds at most. */
const SILENT_MS = 120_000;
/** The pauses before new threads double from the first to the longest. */
const PAUSES = { first_ms: 1_000, longest_ms: 30_000 };
/** After so long the pauses begin again with the first. */
const FORGOTTEN_MS = 10 * 60_000;

export interface RestartingOptions {
  /** Names the thread in the log. */
  name: string;
  start: (own: ThreadStart) => Worker;
  logger: Pick<Logger, 'fatal'>;
  /** Called at every end but for want of memory. */
  failed: (error: Error) => void;
  /** Milliseconds that never go back. */
  monotonic?: () => number;
  pause?: (ms: number, signal: AbortSignal) => Promise<void>;
}

export class RestartingThread {
  readonly #options: RestartingOptions;
  readonly #stop = new AbortController();
  #thread: Worker | null = null;
  /** The times of the ends of threads. */
  #ends: number[] = [];

  constructor(options: RestartingOptions) {
    this.#options = options;
  }

  /** Resolves when the first thread works, or waits for a server. Rejects when it cannot. */
  async start(): Promise<void> {
    const [message] = (await once(this.#begin(), 'message')) as [ThreadMessage];
    if (message.type === 'failed') throw failureOf(message);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await stopThread(this.#thread);
  }

  async terminate(): Promise<void> {
    this.#stop.abort();
    await this.#thread?.terminate();
  }

  #begin(): Worker {
    const { name, start, failed, monotonic } = this.#options;
    const pulse = new Pulse();
    const thread = start({ pulse: pulse.memory, suspects: [] });
    this.#thread = thread;
    let doing: string | null = null;
    const faults: Error[] = [];
    const named = () => (doing === null ? name : `${name} (${doing})`);
    const watch = { limit_ms: SILENT_MS, ...(monotonic && { monotonic }) };
    const endWatch = watchSilence(pulse, watch, (silent_ms) =>
      failed(new Error(`${named()} sent no heartbeat for ${Math.round(silent_ms / 1000)} s`)),
    );
    thread.on('message', (message: ThreadMessage) => {
      if (message.type === 'doing') doing = message.what;
      if (message.type === 'failed') failed(failureOf(message, named()));
    });
    thread.on('error', (fault: Error) => faults.push(fault));
    thread.on('exit', (code) => {
      endWatch();
      if (this.#stop.signal.aborted) return;
      const [error] = faults;
      if (error && isOutOfMemory(error)) void this.#replace(error, named());
      else failed(ended(named(), error?.message ?? `the thread ended with ${code}`, error?.stack));
    });
    return thread;
  }

  async #replace(error: Error, name: string): Promise<void> {
    const { logger, monotonic = () => performance.now(), pause = pauseFor } = this.#options;
    const now = monotonic();
    this.#ends = [...this.#ends.filter((at) => now - at < FORGOTTEN_MS), now];
    const pause_ms = backOffMs(this.#ends.length - 1, PAUSES);
    logger.fatal({ err: error, thread: name, pause_ms }, `the thread of ${name} ran out of memory and is replaced`);
    await pause(pause_ms, this.#stop.signal);
    if (!this.#stop.signal.aborted) this.#begin();
  }
}

const isOutOfMemory = ({ code }: NodeJS.ErrnoException) => code === 'ERR_WORKER_OUT_OF_MEMORY';

/** With the stack of what the thread threw. As a `cause` the log would write its message once more. */
const ended = (name: string, reason: string, stack: string | undefined): Error =>
  Object.assign(new Error(`${name}: ${reason}`), stack !== undefined && { stack });

/** Makes the thread's error again, because a message between threads loses an error's class. */
export function failureOf({ reason, code }: ThreadMessage & { type: 'failed' }, name?: string): Error {
  if (code === 'start') return new StartError(reason);
  return Object.assign(new Error(name === undefined ? reason : `${name}: ${reason}`), { code });
}
