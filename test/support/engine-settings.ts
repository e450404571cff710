import type { EngineSettings } from '../../checkers/engine/engine.ts';

/** Of an engine that checks test sites, without a second attempt. */
export const SETTINGS: EngineSettings = {
  concurrency: 16,
  per_host: 4,
  timeout_ms: 15_000,
  retries: 0,
  allow_addresses: ['127.0.0.0/8'],
  user_agent: 'test/1.0',
};
