// The entry of a thread that runs roles: opens the stores for itself, runs until it is told to stop, closes them. A role
// outlives its stores: when one is away it waits, says so, and goes on.
import { parentPort, workerData } from 'node:worker_threads';
import type { Logger } from 'pino';
import { openLogMailer } from './adapters/mail/log-mailer.ts';
import { openUndiciWebhookSender } from './adapters/webhook-sender/undici-webhook-sender.ts';
import { createEngine } from './checkers/engine/engine.ts';
import { openProxies } from './checkers/proxies/proxies.ts';
import { Pulse } from './checkers/pulse.ts';
import type { Queue } from './checkers/queue.ts';
import { WORK_SUBJECT } from './checkers/work.ts';
import { runWorker } from './checkers/worker.ts';
import { openCredits } from './commands/credits.ts';
import { openJobs } from './commands/job.ts';
import { identifyLog } from './commands/log-identity.ts';
import type { Config, Role } from './config.ts';
import { StartError } from './data-dir.ts';
import { storeFaultOf } from './events/store-faults.ts';
import { keyOf } from './local-key.ts';
import { openLogger } from './logger.ts';
import type { Mailer } from './processes/mail.ts';
import { runProcesses } from './processes/processes.ts';
import { ALL_PROJECTIONS } from './projections/all.ts';
import { runProjector } from './projections/projector.ts';
import { openReadModels } from './readmodels/read-models.ts';
import { openLeases } from './roles/leases.ts';
import { giveRoleSigns, type RoleSigns } from './roles/role-signs.ts';
import { type OpeningOptions, openQueue, openStores, type Stores } from './stores.ts';
import type { ThreadStart } from './supervised-thread.ts';
import { backOff, pause } from './time/pause.ts';

export interface ThreadData {
  config: Config;
  roles: readonly Role[];
  own: ThreadStart;
}
/** `started`: it works, or waits for a server that is away. */
export type ThreadMessage = { type: 'started' } | { type: 'failed'; reason: string; code?: StartError['code'] };

const LONGEST_PAUSE_MS = 5_000;
const BEAT_MS = 250;
/** A role that is told to end waits no longer than this for a store that is away. */
const LAST_WORDS_MS = 5_000;

const port = parentPort!;
const { config, roles, own } = workerData as ThreadData;
const logger = openLogger(config).child({ roles });
const stop = new AbortController();
let is_told = false;
port.on('message', () => {
  is_told = true;
  stop.abort();
});
const pulse = new Pulse(own.pulse);
const beats = setInterval(() => pulse.beat(), BEAT_MS);

try {
  await playAll();
} catch (error) {
  if (error instanceof StartError) {
    const { message: reason, code } = error;
    port.postMessage({ type: 'failed', reason, code } satisfies ThreadMessage);
    process.exitCode = 1;
  } else if (is_told) logger.warn({ err: error }, 'a role did not end cleanly: what it had in hand is done again');
  else {
    logger.fatal({ err: error }, 'a role failed');
    port.postMessage({ type: 'failed', reason: (error as Error).message } satisfies ThreadMessage);
    process.exitCode = 1;
  }
} finally {
  clearInterval(beats);
  port.close();
}

function usesQueue(role: Role): boolean {
  return role === 'processes' || role === 'checker';
}

async function playAll(): Promise<void> {
  const started = () => port.postMessage({ type: 'started' } satisfies ThreadMessage);
  const waits = Promise.withResolvers<void>();
  const waiting = () => {
    started();
    waits.resolve();
  };
  const opening: OpeningOptions = {
    of: roles.includes('checker') ? 'checker' : 'others',
    signal: stop.signal,
    waiting,
  };
  const stores = await openStores(config, logger, opening);
  const queue = roles.some(usesQueue) ? openQueue(config, logger, opening) : null;
  const close = async () => {
    const opened = await queue?.catch(() => null);
    await Promise.allSettled([stores.close(), opened?.close()]);
  };
  // Whatever still waits for a store then is told that it is closed.
  stop.signal.addEventListener('abort', () => setTimeout(close, LAST_WORDS_MS).unref());
  try {
    // The projector does without the queue, and does not wait for one.
    await Promise.race([queue, waits.promise]);
    started();
    // One role that ends by a fault ends the thread, and the service with it.
    await Promise.all(roles.map((role) => play(role, stores, queue))).finally(() => stop.abort());
  } finally {
    await close();
  }
}

/** Plays the role again whenever a store's fault has ended it. Throws what time does not mend. */
async function play(role: Role, stores: Stores, opening: Promise<Queue> | null): Promise<void> {
  const role_logger = logger.child({ role });
  const { signal } = stop;
  const { documents } = stores;
  let queue: Queue | null = null;
  const askQueue = async () => {
    if (queue === null) throw new Error('there is no queue yet');
    await queue.depth(WORK_SUBJECT);
  };
  const signs = giveRoleSigns({ documents, role, ...(usesQueue(role) ? { askQueue } : {}) });
  try {
    for (let failures = 0; !signal.aborted; failures += 1) {
      try {
        if (opening && usesQueue(role)) queue = await opening;
        await run(role, { ...stores, queue: queue! }, signs, role_logger);
      } catch (error) {
        if (signal.aborted) return;
        const fault = storeFaultOf(error);
        if (fault === null) throw error;
        const reason = fault === 'storage_full' ? 'there is no room to write' : 'a store does not answer';
        role_logger.warn({ err: error, failures }, `${reason}: the role waits, and goes on by itself`);
        signs.say('waiting', reason);
        await backOff(failures, LONGEST_PAUSE_MS, signal);
      }
    }
  } finally {
    await Promise.race([signs.stop(), pause(500, new AbortController().signal)]);
  }
}

async function run(
  role: Role,
  { log, documents, queue, blobs }: Stores & { queue: Queue },
  signs: RoleSigns,
  role_logger: Logger,
): Promise<void> {
  const log_id = () => identifyLog(log, `process:${role}`, Date.now());
  const common = { log, queue, logger: role_logger, signal: stop.signal, say: signs.say };
  if (role === 'projector') {
    const leases = await openLeases(documents);
    await runProjector({ ...common, documents, projections: ALL_PROJECTIONS, leases, log_id });
  } else if (role === 'processes') {
    const leases = await openLeases(documents);
    const readmodels = openReadModels(documents, { log_id });
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
      {
        ...(proxies && { proxies: proxies.pool }),
        working: pulse,
        starved(reason) {
          if (reason === null) signs.say('working');
          else signs.say('waiting', reason);
        },
        defect: (error, url) => role_logger.error({ err: error, url }, 'the checker failed over what a URL answered'),
      },
    );
    for (const url of own.suspects) engine.suspect(url);
    try {
      const { checker_ack_wait_ms: ack_wait_ms, checker_timeout_ms: attempt_ms } = config;
      signs.say('working');
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
