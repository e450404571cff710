// What the engine does unless its settings say otherwise, and the limit that no setting moves.
import type { EngineSettings } from './types.ts';

/** The defaults of the service's settings, and of the library. */
export const DEFAULT_SETTINGS = {
  concurrency_limit: 4096,
  per_host: 10,
  host_gap_ms: 0,
  timeout_ms: 15_000,
  retries: 2,
  allow_addresses: [],
  user_agent: 'Mozilla/5.0 (compatible; url-checker/1.0)',
  accept_language: 'en-US,en;q=0.9',
} as const satisfies EngineSettings;

/** The most bytes of an answer's head, as in Chromium. */
export const MAX_HEAD_BYTES = 256 * 1024;

/**
 * The most bytes read for one answer. Heads and bodies have far smaller limits, but a parser also reads bytes that belong to neither:
 * extensions of a chunk, or spaces in a status line.
 */
export const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
