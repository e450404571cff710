// Checks the URLs of a run that have no outcome yet, and keeps each outcome in the run.
import { type Engine, NotStarted } from '../../checkers/index.ts';
import { pause } from '../../time/pause.ts';
import type { RunStore } from './run-store.ts';

type Run = Pick<RunStore, 'pending' | 'keep' | 'flush' | 'addElapsed'>;

/** URLs read from the run at once. */
const PAGE = 1000;
/** The longest time that an outcome is in memory alone. */
const FLUSH_MS = 500;
/** The wait before URLs that the machine had no room for are tried again. */
const NO_ROOM_MS = 1000;

/** Resolves when every URL has an outcome, or soon after `signal` aborts. Errors of the engine or of the run are thrown. */
export async function checkUrls(
  run: Run,
  engine: Pick<Engine, 'check' | 'free'>,
  signal: AbortSignal,
  wait: (ms: number, signal: AbortSignal) => Promise<void> = pause,
): Promise<void> {
  const failed = new AbortController();
  const stop = AbortSignal.any([signal, failed.signal]);
  let in_flight = 0;
  let settled = Promise.withResolvers<void>();
  let since = performance.now();

  function attempt(work: () => void): void {
    try {
      work();
    } catch (error) {
      failed.abort(error);
    }
  }
  function flush(): void {
    const now = performance.now();
    run.addElapsed(now - since);
    since = now;
    run.flush();
  }
  function start(index: number, url: string): void {
    in_flight++;
    engine
      .check(url, { signal: stop })
      .then(
        (outcome) => attempt(() => run.keep(index, outcome)),
        (error: unknown) => {
          if (!(error instanceof NotStarted) && !stop.aborted) failed.abort(error);
        },
      )
      .finally(() => {
        in_flight--;
        settled.resolve();
        settled = Promise.withResolvers();
      });
  }

  const flushing = setInterval(() => attempt(flush), FLUSH_MS);
  try {
    for (let is_first = true; ; is_first = false) {
      const count = await startAll();
      while (in_flight > 0) await settled.promise;
      failed.signal.throwIfAborted();
      flush();
      if (count === 0 || stop.aborted) return;
      // URLs remain only where the machine had no room for them.
      if (!is_first) await wait(NO_ROOM_MS, stop);
    }
  } finally {
    clearInterval(flushing);
  }

  /** Starts the check of each URL without an outcome; returns their number. */
  async function startAll(): Promise<number> {
    let count = 0;
    let page = run.pending(-1, PAGE);
    for (; page.length > 0; page = run.pending(page.at(-1)!.index, PAGE)) {
      for (const { index, url } of page) {
        while (engine.free === 0 && in_flight > 0 && !stop.aborted) await settled.promise;
        while (engine.free === 0 && in_flight === 0 && !stop.aborted) await wait(NO_ROOM_MS, stop);
        if (stop.aborted) return count;
        start(index, url);
        count++;
      }
    }
    return count;
  }
}
