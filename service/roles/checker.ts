// The checker role: an engine, its proxies when there is a list of them, and the worker that feeds it from the queue.
import { createEngine } from '../../checkers/engine/engine.ts';
import { openProxies } from '../../checkers/proxies/proxies.ts';
import { runWorker } from '../../checkers/worker.ts';
import { openJobs } from '../../commands/job.ts';
import { engineSettings } from '../engine-settings.ts';
import type { RunRole } from './role.ts';

export const run: RunRole = async ({ config, log, queue, logger, signal, say, pulse, own }) => {
  const { proxy_list_url: list_url, checker_per_proxy: per_proxy } = config;
  const proxies = list_url ? openProxies({ list_url, per_proxy, log, logger }) : null;
  const engine = createEngine(engineSettings(config), {
    ...(proxies && { proxies: proxies.pool }),
    working: pulse,
    starved(reason) {
      if (reason === null) say('working');
      else say('waiting', reason);
    },
    defect: (error, url) => logger.error({ err: error, url }, "the checker failed at a URL's answer"),
  });
  for (const url of own.suspects) engine.suspect(url);
  try {
    const { checker_ack_wait_ms: ack_wait_ms, checker_timeout_ms: attempt_ms } = config;
    say('working');
    await runWorker({ log, queue, logger, signal, jobs: openJobs(log), engine, ack_wait_ms, attempt_ms });
  } finally {
    await engine.close();
    await proxies?.close();
  }
};
