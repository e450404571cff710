// Supervises a checker's thread: when it has no heartbeat or fails, a new thread replaces it, and the checkers give up the URL
// whose answer it was reading.
import type { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import { Pulse } from '../checkers/pulse.ts';
import { backOffMs } from '../time/back-off.ts';
import { pause as pauseFor } from '../time/pause.ts';

/** A thread without a heartbeat for this long hangs. */
const SILENT_MS = 10_000;
/** A thread that does not work yet may be silent for this long: it loads its modules and opens stores, which is slow on a busy machine. */
const STARTING_MS = 300_000;
const LOOK_MS = 1_000;
/** The first replacement starts at once; the pauses before later ones double from the first to the longest. */
const PAUSES = { first_ms: 1_000, longest_ms: 30_000 };
/** The supervisor counts the threads that ended within this time. */
const COUNTED_MS = 10 * 60_000;
/** After more ends than this without a URL to blame, the supervisor gives up: the next thread would end too. */
const MAX_UNEXPLAINED = 5;
/** At most this many URLs are given up at a time; the oldest is forgotten first. */
const MAX_SUSPECTS = 1_000;

/** The data of a new thread. */
export interface ThreadStart {
  /** The memory of a `Pulse`. */
  pulse: SharedArrayBuffer;
  /** URLs at which earlier threads hung or failed. */
  suspects: readonly string[];
}

export interface SupervisedOptions {
  start: (data: ThreadStart) => Worker;
  /** Resolves when a new thread works; rejects when it cannot. */
  started: (thread: Worker) => Promise<void>;
  logger: Logger;
  /** Whether a new thread would fail with the same error. Default: never. */
  isHopeless?: (error: Error) => boolean;
  /** Called when the supervisor gives up. */
  failed: (error: Error) => void;
  /** Milliseconds that never go back. */
  monotonic?: () => number;
  look_ms?: number;
  silent_ms?: number;
  pause?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** Measures how long a thread has had no heartbeat, without the time in which this process was stopped. */
export class Silence {
  readonly #look_ms: number;
  #beats: number;
  #silent_ms = 0;
  #looked_at: number;

  constructor(beats: number, now: number, look_ms = LOOK_MS) {
    this.#beats = beats;
    this.#looked_at = now;
    this.#look_ms = look_ms;
  }

  /** Returns the silence in ms; call it every `look_ms`. A late call means that the process was stopped, and the thread with it. */
  look(beats: number, now: number): number {
    const passed_ms = Math.min(now - this.#looked_at, 2 * this.#look_ms);
    this.#looked_at = now;
    this.#silent_ms = beats === this.#beats ? this.#silent_ms + passed_ms : 0;
    this.#beats = beats;
    return this.#silent_ms;
  }
}

/** Times in milliseconds. */
export interface WatchOptions {
  limit_ms: number;
  /** Whether the thread still starts. Default: until its first heartbeat. */
  isStarting?: () => boolean;
  monotonic?: () => number;
  look_ms?: number;
}

/** Calls `silent` at each look while the thread has had no heartbeat for `limit_ms`. Returns a function that ends the watch. */
export function watchSilence(
  pulse: Pulse,
  {
    limit_ms,
    isStarting = () => pulse.beats === 0,
    monotonic = () => performance.now(),
    look_ms = LOOK_MS,
  }: WatchOptions,
  silent: (silent_ms: number) => void,
): () => void {
  const silence = new Silence(pulse.beats, monotonic(), look_ms);
  const timer = setInterval(() => {
    const silent_ms = silence.look(pulse.beats, monotonic());
    if (silent_ms >= (isStarting() ? Math.max(STARTING_MS, limit_ms) : limit_ms)) silent(silent_ms);
  }, look_ms);
  return () => clearInterval(timer);
}

/** Resolves with the thread's exit code. `once` of node:events would reject when the thread fails, before its exit. */
export function exitOf(thread: Worker): Promise<number> {
  return new Promise((resolve) => thread.once('exit', resolve));
}

/** Asks a thread that runs to stop, and waits for its exit. */
export async function stopThread(thread: Worker | null): Promise<void> {
  if (thread === null || thread.threadId === -1) return;
  const exited = exitOf(thread);
  thread.postMessage({ type: 'stop' });
  await exited;
}

export class SupervisedThread {
  readonly #options: SupervisedOptions;
  readonly #monotonic: () => number;
  readonly #stop = new AbortController();
  #suspects: string[] = [];
  /** The recent ends of threads, and whether a URL explains each. */
  #ends: { at: number; explained: boolean }[] = [];
  #thread: Worker | null = null;
  replaced = 0;

  constructor(options: SupervisedOptions) {
    this.#options = options;
    this.#monotonic = options.monotonic ?? (() => performance.now());
  }

  /** Resolves when the first thread works; rejects when it does not. */
  async start(): Promise<void> {
    const { started, ended } = this.#begin();
    await Promise.race([started, ended.then((end) => Promise.reject(end.error))]);
    void ended.then((end) => this.#replaceFrom(end));
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await stopThread(this.#thread);
  }

  async terminate(): Promise<void> {
    this.#stop.abort();
    await this.#thread?.terminate();
  }

  /** `ended` never rejects, and carries the error of a thread that cannot start. */
  #begin(): { started: Promise<void>; ended: Promise<ThreadEnd> } {
    const pulse = new Pulse();
    const thread = this.#options.start({ pulse: pulse.memory, suspects: this.#suspects });
    this.#thread = thread;
    const { silent_ms: limit_ms = SILENT_MS, look_ms } = this.#options;
    let error: Error | null = null;
    let starts = true;
    const started = this.#options.started(thread).then(() => void (starts = false));
    started.catch(() => {});
    const watch = { limit_ms, isStarting: () => starts, look_ms, monotonic: this.#monotonic };
    const endWatch = watchSilence(pulse, watch, (silent_ms) => {
      error ??= new Error(`the checker's thread sent no heartbeat for ${Math.round(silent_ms / 1000)} s`);
      void thread.terminate();
    });
    thread.on('error', (fault: Error) => {
      error ??= fault;
    });
    thread.on('message', (message: { type: string; reason?: string }) => {
      if (message.type === 'failed') error ??= new Error(message.reason);
    });
    const ended = exitOf(thread).then((code) => {
      endWatch();
      return { error: error ?? new Error(`the checker's thread ended with ${code}`), url: pulse.url };
    });
    return { started, ended };
  }

  async #replaceFrom(first: ThreadEnd): Promise<void> {
    const { signal } = this.#stop;
    const { logger, failed, isHopeless = () => false, pause = pauseFor } = this.#options;
    for (let end = first; !signal.aborted; ) {
      const { error, url } = end;
      if (isHopeless(error)) {
        failed(error);
        return;
      }
      if (url !== null) this.#suspects = [...this.#suspects, url].slice(-MAX_SUSPECTS);
      const pause_ms = this.#count(url !== null);
      if (pause_ms === null) {
        failed(new Error(`the checker's threads end one after another: ${error.message}`, { cause: error }));
        return;
      }
      this.replaced++;
      logger.error({ err: error, url, pause_ms }, "the checker's thread is replaced");
      await pause(pause_ms, signal);
      if (signal.aborted) return;
      end = await this.#begin().ended;
    }
  }

  /** Counts an end. Returns the pause in ms before the next thread; null when the supervisor gives up. */
  #count(explained: boolean): number | null {
    const now = this.#monotonic();
    this.#ends = [...this.#ends.filter(({ at }) => now - at < COUNTED_MS), { at: now, explained }];
    if (this.#ends.filter((end) => !end.explained).length > MAX_UNEXPLAINED) return null;
    const before = this.#ends.length - 1;
    return before === 0 ? 0 : backOffMs(before - 1, PAUSES);
  }
}

interface ThreadEnd {
  error: Error;
  url: string | null;
}
