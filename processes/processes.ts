// Runs the processes: one pass after the other over the read models, woken when they move on; beside the passes what
// may not wait for one, or would hold one up. Every step asks the log through a command, so a pass that acts on old
// news, or twice, changes nothing.
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Queue } from '../checkers/queue.ts';
import type { CommandContext } from '../commands/aggregate.ts';
import type { CreditsLedger } from '../commands/credits.ts';
import { openDomainChecks } from '../commands/domain-checks.ts';
import type { Jobs } from '../commands/job.ts';
import { openWebhookDeliveries } from '../commands/webhook-delivery.ts';
import { openWebhookEndpoints } from '../commands/webhook-endpoints.ts';
import type { EventStore, Position } from '../events/event-store.ts';
import type { Blobs } from '../readmodels/blobs.ts';
import { jobs } from '../readmodels/jobs.ts';
import { type LeaseKeeper, pause, type Say, whileHeld } from '../readmodels/leases.ts';
import { pending } from '../readmodels/pending.ts';
import type { ReadModels } from '../readmodels/read-models.ts';
import { jobStats } from '../readmodels/stats.ts';
import { completeJobs } from './completion.ts';
import { type Dispatcher, openDispatcher } from './dispatch.ts';
import { runDomainChecks } from './domain-checks.ts';
import type { Mailer } from './mail.ts';
import { runPurges } from './purge.ts';
import { settleJobs } from './settlement.ts';
import { sweep } from './sweeper.ts';
import { openUrlListing } from './url-listing.ts';
import { openWebhookDispatcher } from './webhook-deliveries.ts';
import { runWebhookEndpoints } from './webhook-endpoints.ts';
import type { WebhookSender } from './webhook-sender.ts';

export interface ProcessesOptions {
  log: EventStore;
  readmodels: ReadModels;
  queue: Queue;
  leases: LeaseKeeper;
  blobs: Blobs;
  commands: Jobs;
  credits: CreditsLedger;
  sender: WebhookSender;
  /** That the secrets of webhook endpoints are made of. */
  webhook_key: Uint8Array;
  mailer: Mailer;
  logger: Logger;
  signal: AbortSignal;
  say?: Say;
  now?: () => number;
}

/** How often the read models' position is looked at, and a full queue's depth. */
const LOOK_MS = 10;
/** A pass is made at least this often: a queue that has lost work, or time that has run out, moves no position. */
const IDLE_PASS_MS = 500;
const SWEEP_MS = 30_000;
const LONGEST_PAUSE_MS = 5_000;
const LOST_AFTER_MS = 5 * 60_000;

/** Runs until `signal` aborts, in one process at a time. */
export async function runProcesses(options: ProcessesOptions): Promise<void> {
  const { log, queue, readmodels, logger, say } = options;
  const now = options.now ?? Date.now;
  const run = async (signal: AbortSignal) => {
    const part = (name: string, start: (works: () => void) => Promise<void>) =>
      keepRunning(name, start, logger, signal, name === 'passes' ? say : undefined);
    const endpoints = openWebhookEndpoints(log);
    const deliveries = openWebhookDeliveries(log);
    const webhooks = openWebhookDispatcher({
      readmodels,
      endpoints,
      deliveries,
      sender: options.sender,
      signing_key: options.webhook_key,
      context: contextOf('webhooks', now),
      now,
      random: Math.random,
    });
    await Promise.all([
      part('passes', (works) => {
        const lost_after_ms = LOST_AFTER_MS;
        const listing = openUrlListing(log);
        const dispatcher = openDispatcher({
          jobs: readmodels.collection(jobs),
          queue,
          listing,
          logger,
          now,
          lost_after_ms,
        });
        return runPasses({ ...options, signal, now }, dispatcher, works);
      }),
      part('domain checks', (works) => {
        const commands = openDomainChecks(log);
        return runDomainChecks({ readmodels, commands, context: contextOf('domain-checks', now) }, signal, works);
      }),
      part('webhooks', (works) => webhooks.run(signal, works)),
      part('webhook endpoints', (works) => {
        const { mailer } = options;
        const context = contextOf('webhook-endpoints', now);
        return runWebhookEndpoints({ log, readmodels, endpoints, deliveries, mailer, context }, signal, works);
      }),
      part('purges', (works) => runPurges({ ...options, context: contextOf('purge', now) }, signal, works)),
    ]);
  };
  await whileHeld(options.leases, 'processes', options.signal, run, { say, logger });
}

/** Until `signal` aborts: a fault is logged, and what failed runs again after a pause that grows until it works. */
async function keepRunning(
  part: string,
  run: (works: () => void) => Promise<void>,
  logger: Logger,
  signal: AbortSignal,
  say?: Say,
): Promise<void> {
  let failures = 0;
  const works = () => {
    if (failures > 0) say?.('working');
    failures = 0;
  };
  while (!signal.aborted) {
    try {
      await run(works);
    } catch (error) {
      if (signal.aborted) return;
      failures++;
      say?.('waiting', 'what dispatches and completes jobs failed and will run again');
      logger.error({ err: error, part, failures }, 'a part of the processes failed; it will run again');
      await pause(Math.min(100 * 2 ** failures, LONGEST_PAUSE_MS), signal);
    }
  }
}

async function runPasses(
  options: ProcessesOptions & { now: () => number },
  dispatcher: Dispatcher,
  works: () => void,
): Promise<void> {
  const { log, readmodels, commands, credits, signal, now } = options;
  const job_documents = readmodels.collection(jobs);
  const stats_documents = readmodels.collection(jobStats);
  const pending_documents = readmodels.collection(pending);
  const began_at = now();
  let swept_at = now();
  while (!signal.aborted) {
    const seen = await readmodels.position();
    await completeJobs(job_documents, stats_documents, commands, contextOf('completion', now));
    await settleJobs(job_documents, commands, credits, contextOf('settlement', now));
    const { more } = await dispatcher.pass();
    if (now() - swept_at >= SWEEP_MS) {
      swept_at = now();
      const context = contextOf('sweeper', now);
      await sweep({ log, jobs: job_documents, pending: pending_documents, commands, credits, context, now, began_at });
    }
    works();
    await untilMoved(readmodels, seen, more ? LOOK_MS : IDLE_PASS_MS, signal);
  }
}

async function untilMoved(readmodels: ReadModels, seen: Position, at_most_ms: number, signal: AbortSignal) {
  const until = Date.now() + at_most_ms;
  do await pause(LOOK_MS, signal);
  while (!signal.aborted && Date.now() < until && (await readmodels.position()) === seen);
}

const contextOf =
  (process: string, now: () => number) =>
  (job_id: string): CommandContext => ({
    command_id: randomUUID(),
    causation_id: job_id,
    actor: `process:${process}`,
    now: now(),
  });
