// The checker as a library, without the service around it: `check` for one URL, `createEngine` for many.
import type { Outcome } from '../events/checks.ts';
import { createEngine, type EngineSettings } from './engine/engine.ts';

export type { ErrorCode, Outcome, Verdict } from '../events/checks.ts';
export { type CheckOptions, createEngine, type Engine, type EngineSettings, NotStarted } from './engine/engine.ts';

/** Those of the service. */
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
 * Checks one URL and leaves nothing open: `(await check('https://example.com/')).verdict`. What is wrong with the URL is
 * its outcome; it rejects only with an AbortError, when `signal` aborts. Each call has connections, names and probes of
 * its own: for more than a few URLs make one engine with `createEngine({ ...DEFAULT_SETTINGS })`, call its `check` for
 * each while `free` is above 0, and `close` it in the end.
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
