// The checker's engine as the operator set it, for the role and for checks without the service.
import type { EngineSettings } from '../checkers/engine/engine.ts';
import type { Config } from '../settings/config.ts';

export const engineSettings = (config: Config): EngineSettings => ({
  ...(config.checker_concurrency !== null && { concurrency: config.checker_concurrency }),
  concurrency_limit: config.checker_concurrency_limit,
  per_host: config.checker_per_host,
  host_gap_ms: config.checker_host_gap_ms,
  timeout_ms: config.checker_timeout_ms,
  retries: config.checker_retries,
  allow_addresses: config.checker_allow_addresses,
  user_agent: config.checker_user_agent,
  accept_language: config.checker_accept_language,
});
