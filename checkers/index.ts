// The checker as a library, without the service around it: `check` for one URL, `createEngine` for many.
import type { Outcome } from '../events/checks.ts';
import { createEngine, type EngineSettings } from './engine/engine.ts';

export type { ErrorCode, Outcome, Verdict } from '../events/checks.ts';
export { type CheckOptions, createEngine, type Engine, type EngineSettings, NotStarted } from './engine/engine.ts';

/** The defaults of the service. */
export const DEFAULT_SETTINGS: EngineSettings = {
  concurrency: 256,
  per_host: 10,
  host_gap_ms: 0,
  timeout_ms: 15_000,
  retries: 2,
  allow_addresses: [],
  user_agent: 'Mozilla/5.0 (compatible; url-checker/1.0)',
};

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
