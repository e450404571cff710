// The checker role: an engine, its proxies when there is a list of them, and the worker that feeds it from the queue.
import { createEngine } from '../../checkers/engine/engine.ts';
import { openProxies } from '../../checkers/proxies/proxies.ts';
import { Tallies } from '../../checkers/tallies.ts';
import { runWorker } from '../../checkers/worker.ts';
import { openSandboxSite } from '../../cli/sample-site.ts';
import { openJobs } from '../../commands/jobs/job.ts';
import type { Outcome } from '../../events/checks.ts';
import { SANDBOX_HOST } from '../../events/test-user.ts';
import { engineSettings } from '../engine-settings.ts';
import type { RunRole } from './role.ts';

const LEVELS_MS = 1_000;

export const run: RunRole = async ({ config, log, queue, logger, signal, say, pulse, own, counts }) => {
  const { proxy_list_url: list_url, checker_per_proxy: per_proxy } = config;
  const proxies = list_url ? await openProxies({ list_url, per_proxy, log, logger }) : null;
  const site = await openSandboxSite();
  const tallies = new Tallies(counts);
  const engine = createEngine(engineSettings(config), {
    ...(proxies && { proxies: proxies.pool }),
    sandbox: { host: SANDBOX_HOST, port: site.port },
    working: pulse,
    backedOff: () => tallies.count('host_back_offs'),
    starved(reason) {
      if (reason === null) say('working');
      else say('waiting', reason);
    },
    defect: (error, url) => logger.error({ err: error, url }, "the checker failed at a URL's answer"),
  });
  for (const url of own.suspects) engine.suspect(url);
  const measure = () => {
    const { running: urls_in_flight, backlog: urls_waiting, hosts_held } = engine;
    tallies.level({ urls_in_flight, urls_waiting, hosts_held });
  };
  const measuring = setInterval(measure, LEVELS_MS);
  try {
    const { checker_ack_wait_ms: ack_wait_ms } = config;
    say('working');
    const checked = ({ verdict }: Outcome) => tallies.checked(verdict);
    await runWorker({ log, queue, logger, signal, jobs: openJobs(log), engine, ack_wait_ms, checked });
  } finally {
    clearInterval(measuring);
    await engine.close();
    await site.close();
    measure();
    await proxies?.close();
  }
};
