// A checker's thread under supervision: one that gives no sign of life, or ends by a fault, is replaced by a new one, and
// the URL that it was working over is given up.
import { setTimeout as delay } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import { Pulse } from '../checkers/pulse.ts';

/** A thread that gives no sign of life for so long hangs. */
const SILENT_MS = 10_000;
/** Until its first sign of life: it loads its modules, which a busy machine makes long, and meets no page. */
const LOADING_MS = 300_000;
const LOOK_MS = 1_000;
/** How long the next one waits after each end: the first begins at once. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
/** Ends are counted over so long. */
const COUNTED_MS = 10 * 60_000;
/** Ends without a URL to blame that are one too many: the next thread would only end too. */
const MAX_UNEXPLAINED = 5;
/** The URLs that are given up; the oldest is forgotten first. */
const MAX_SUSPECTS = 1_000;

/** What a new thread starts with. */
export interface ThreadStart {
  /** Of a `Pulse`. */
  pulse: SharedArrayBuffer;
  /** URLs over which others before it hung or ended. */
  suspects: readonly string[];
}

export interface SupervisedOptions {
  start: (data: ThreadStart) => Worker;
  /** Resolves when a new thread works; rejects when it cannot. */
  started: (thread: Worker) => Promise<void>;
  logger: Logger;
  /** Whether another thread would meet the same, whatever it does. Default: never. */
  isHopeless?: (error: Error) => boolean;
  /** It cannot be kept alive. */
  failed: (error: Error) => void;
  /** Milliseconds that never go back. */
  monotonic?: () => number;
  look_ms?: number;
  silent_ms?: number;
  pause?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** For how long a thread has been silent, as far as its supervisor was awake to see it. */
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

  /** To be called every `look_ms`. Where it is late the process, or the machine, was stopped, and the thread with it. */
  look(beats: number, now: number): number {
    const passed_ms = Math.min(now - this.#looked_at, 2 * this.#look_ms);
    this.#looked_at = now;
    this.#silent_ms = beats === this.#beats ? this.#silent_ms + passed_ms : 0;
    this.#beats = beats;
    return this.#silent_ms;
  }
}

/** How the signs of life of a thread are looked at; times in milliseconds. */
export interface WatchOptions {
  limit_ms: number;
  monotonic?: () => number;
  look_ms?: number;
}

/** Calls `silent` again and again once the thread has given no sign of life for `limit_ms`. Returns what ends the watch. */
export function watchSilence(
  pulse: Pulse,
  { limit_ms, monotonic = () => performance.now(), look_ms = LOOK_MS }: WatchOptions,
  silent: (silent_ms: number) => void,
): () => void {
  const silence = new Silence(pulse.beats, monotonic(), look_ms);
  const timer = setInterval(() => {
    const silent_ms = silence.look(pulse.beats, monotonic());
    if (silent_ms >= (pulse.beats === 0 ? Math.max(LOADING_MS, limit_ms) : limit_ms)) silent(silent_ms);
  }, look_ms);
  return () => clearInterval(timer);
}

/** Its code when it is gone. `once` of node:events rejects when the thread fails, before that. */
export function exitOf(thread: Worker): Promise<number> {
  return new Promise((resolve) => thread.once('exit', resolve));
}

export class SupervisedThread {
  readonly #options: SupervisedOptions;
  readonly #monotonic: () => number;
  readonly #stop = new AbortController();
  #suspects: string[] = [];
  /** When threads ended of late, and whether a URL was to blame. */
  #ends: { at: number; explained: boolean }[] = [];
  #thread: Worker | null = null;
  replaced = 0;

  constructor(options: SupervisedOptions) {
    this.#options = options;
    this.#monotonic = options.monotonic ?? (() => performance.now());
  }

  /** Resolves when the first thread works; rejects when it does not. */
  async start(): Promise<void> {
    const { thread, ended } = this.#begin();
    const works = this.#options.started(thread);
    await Promise.race([works, ended.then((end) => Promise.reject(end.error))]);
    void ended.then((end) => this.#replaceFrom(end));
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    const thread = this.#thread;
    if (thread === null || thread.threadId === -1) return;
    const exited = exitOf(thread);
    thread.postMessage({ type: 'stop' });
    await exited;
  }

  async terminate(): Promise<void> {
    this.#stop.abort();
    await this.#thread?.terminate();
  }

  /** `ended` never rejects. */
  #begin(): { thread: Worker; ended: Promise<ThreadEnd> } {
    const pulse = new Pulse();
    const thread = this.#options.start({ pulse: pulse.memory, suspects: this.#suspects });
    this.#thread = thread;
    const { silent_ms: limit_ms = SILENT_MS, look_ms } = this.#options;
    let error: Error | null = null;
    const endWatch = watchSilence(pulse, { limit_ms, look_ms, monotonic: this.#monotonic }, (silent_ms) => {
      error ??= new Error(`the checker's thread gave no sign of life for ${Math.round(silent_ms / 1000)} s`);
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
    return { thread, ended };
  }

  async #replaceFrom(first: ThreadEnd): Promise<void> {
    const { signal } = this.#stop;
    const { logger, failed, isHopeless = () => false, pause = paused } = this.#options;
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
      const { thread, ended } = this.#begin();
      // Why it could not start is said by its end.
      this.#options.started(thread).catch(() => {});
      end = await ended;
    }
  }

  /** How long to wait before the next thread; null when there is to be none. */
  #count(explained: boolean): number | null {
    const now = this.#monotonic();
    this.#ends = [...this.#ends.filter(({ at }) => now - at < COUNTED_MS), { at: now, explained }];
    if (this.#ends.filter((end) => !end.explained).length > MAX_UNEXPLAINED) return null;
    const before = this.#ends.length - 1;
    return before === 0 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** (before - 1), LONGEST_PAUSE_MS);
  }
}

async function paused(ms: number, signal: AbortSignal): Promise<void> {
  // An abort is seen by who waits.
  await delay(ms, undefined, { signal }).catch(() => {});
}

interface ThreadEnd {
  error: Error;
  url: string | null;
}
