// The checker as a library, without the service around it: `check` for one URL, `createEngine` for many.
import type { Outcome } from '../events/checks.ts';
import { createEngine, type EngineSettings } from './engine/engine.ts';
import { DEFAULT_SETTINGS } from './engine/limits.ts';

export type { ErrorCode, Outcome, Verdict } from '../events/checks.ts';
export { type CheckOptions, createEngine, type Engine, type EngineSettings, NotStarted } from './engine/engine.ts';
export { DEFAULT_SETTINGS } from './engine/limits.ts';

/**
 * Checks one URL and leaves no socket open. The outcome reports every fault of the URL; the promise rejects only with an
 * AbortError, when `signal` aborts. Each call opens its own connections and DNS cache: for more than a few URLs make one
 * engine with `createEngine`, call its `check` while `free` is above 0, and `close` it at the end.
 * @example const { verdict } = await check('https://example.com/', { timeout_ms: 5_000 });
 */
export async function check(
  url: string,
  options: Partial<EngineSettings> & { signal?: AbortSignal } = {},
): Promise<Outcome> {
  const { signal, ...settings } = options;
  const engine = createEngine({ ...DEFAULT_SETTINGS, ...settings });
  try {
    return await engine.check(url, signal === undefined ? {} : { signal });
  } finally {
    await engine.close();
  }
}
