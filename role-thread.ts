// The entry of a thread that runs roles: opens the stores for itself, runs until it is told to stop, closes them.
import { parentPort, workerData } from 'node:worker_threads';
import type { Logger } from 'pino';
import { openLogMailer } from './adapters/mail/log-mailer.ts';
import { openUndiciWebhookSender } from './adapters/webhook-sender/undici-webhook-sender.ts';
import { createEngine } from './checkers/engine/engine.ts';
import { openProxies } from './checkers/proxies/proxies.ts';
import { runWorker } from './checkers/worker.ts';
import { openCredits } from './commands/credits.ts';
import { openJobs } from './commands/job.ts';
import type { Config, Role } from './config.ts';
import { keyOf } from './local-key.ts';
import { openLogger } from './logger.ts';
import type { Mailer } from './processes/mail.ts';
import { runProcesses } from './processes/processes.ts';
import { ALL_PROJECTIONS } from './projections/all.ts';
import { runProjector } from './projections/projector.ts';
import { openLeases } from './readmodels/leases.ts';
import { openReadModels } from './readmodels/projection-state.ts';
import { openStores, type Stores } from './stores.ts';

export interface ThreadData {
  config: Config;
  roles: readonly Role[];
}
export type ThreadMessage = { type: 'started' } | { type: 'failed'; reason: string };

const port = parentPort!;
const { config, roles } = workerData as ThreadData;
const logger = openLogger(config).child({ roles });
const stop = new AbortController();
port.on('message', () => stop.abort());

try {
  const stores = await openStores(config, logger, roles.includes('checker') ? 'checker' : 'others');
  const running = roles.map((role) => run(role, stores, logger.child({ role }), stop.signal));
  port.postMessage({ type: 'started' } satisfies ThreadMessage);
  // One role that ends by a fault ends the thread, and the service with it.
  await Promise.all(running).finally(() => stop.abort());
  await stores.close();
} catch (error) {
  logger.fatal({ err: error }, 'a role failed');
  port.postMessage({ type: 'failed', reason: (error as Error).message } satisfies ThreadMessage);
  process.exitCode = 1;
} finally {
  port.close();
}

async function run(role: Role, stores: Stores, role_logger: Logger, signal: AbortSignal): Promise<void> {
  const { log, documents, queue, blobs } = stores;
  const common = { log, queue, logger: role_logger, signal };
  if (role === 'projector') {
    const leases = await openLeases(documents);
    await runProjector({ ...common, documents, projections: ALL_PROJECTIONS, leases });
  } else if (role === 'processes') {
    const leases = await openLeases(documents);
    const readmodels = await openReadModels(documents);
    const [commands, credits] = [openJobs(log), openCredits(log)];
    const webhook_key = await keyOf(config.webhook_signing_key, config.data_dir, 'webhook-key');
    const sender = openUndiciWebhookSender({ allow_addresses: config.webhook_allow_addresses });
    const mailer = await openMailer(role_logger);
    try {
      const webhooks = { webhook_key, sender, mailer };
      await runProcesses({ ...common, ...webhooks, readmodels, leases, blobs, commands, credits });
    } finally {
      sender.close();
      mailer.close();
    }
  } else if (role === 'checker') {
    const { proxy_list_url: list_url, checker_per_proxy: per_proxy } = config;
    const proxies = list_url ? openProxies({ list_url, per_proxy, log, logger: role_logger }) : null;
    const engine = createEngine(
      {
        concurrency: config.checker_concurrency,
        per_host: config.checker_per_host,
        host_gap_ms: config.checker_host_gap_ms,
        timeout_ms: config.checker_timeout_ms,
        retries: config.checker_retries,
        allow_addresses: config.checker_allow_addresses,
        user_agent: config.checker_user_agent,
      },
      proxies === null ? {} : { proxies: proxies.pool },
    );
    try {
      const { checker_ack_wait_ms: ack_wait_ms, checker_timeout_ms: attempt_ms } = config;
      await runWorker({ ...common, jobs: openJobs(log), engine, ack_wait_ms, attempt_ms });
    } finally {
      await engine.close();
      await proxies?.close();
    }
  }
}

async function openMailer(role_logger: Logger): Promise<Mailer> {
  if (!config.smtp_url) return openLogMailer(role_logger);
  const { openSmtpMailer } = await import('./adapters/mail/smtp-mailer.ts');
  return openSmtpMailer({ url: config.smtp_url, from: config.mail_from });
}
