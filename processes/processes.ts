// Runs the process managers, each in a loop of its own: a pass over the read models, then a wait until these move on. Every step
// is a command, which asks the log: a pass over stale documents, or a second pass, changes nothing.
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Queue } from '../checkers/queue.ts';
import { IN_HAND_SUBJECT, type InHand, WORK_SUBJECT } from '../checkers/work.ts';
import type { CommandContext } from '../commands/aggregate.ts';
import { openBackups } from '../commands/backups.ts';
import type { Blobs } from '../commands/blobs.ts';
import type { CreditsLedger } from '../commands/credits.ts';
import { openDeleteJob } from '../commands/delete-job.ts';
import { openDomainChecks } from '../commands/domain-checks.ts';
import { openIdempotencyKeys } from '../commands/idempotency.ts';
import type { Jobs } from '../commands/job.ts';
import type { LedgerHeads } from '../commands/ledger-heads.ts';
import { openMails } from '../commands/mail.ts';
import { openSubscriptions } from '../commands/subscription.ts';
import { openTrials } from '../commands/trial.ts';
import { openErasures } from '../commands/user.ts';
import { openWebhookDeliveries } from '../commands/webhook-delivery.ts';
import { openWebhookEndpoints } from '../commands/webhook-endpoints.ts';
import type { EventStore, StoredLog } from '../events/event-store.ts';
import { openUrlListing, type UrlListing } from '../events/url-listing.ts';
import type { BackupProgressStore } from '../readmodels/backups.ts';
import { endedJob, jobs } from '../readmodels/jobs.ts';
import { pending } from '../readmodels/pending.ts';
import { DocumentsNotReady, type ReadModels } from '../readmodels/read-models.ts';
import { jobStats } from '../readmodels/stats.ts';
import { DependencyFault } from '../roles/dependencies.ts';
import { type Say, unlessAnswering, type Work, whileHeld } from '../roles/holding.ts';
import type { LeaseKeeper } from '../roles/leases.ts';
import { pause } from '../time/pause.ts';
import { steadyClock } from '../time/steady-clock.ts';
import { type Retention, runBackups } from './backups.ts';
import { completeJobs } from './completion.ts';
import { type Dispatcher, openDispatcher } from './dispatch.ts';
import { runDispatcher } from './dispatch-passes.ts';
import { runDomainChecks } from './domain-checks.ts';
import { runDues } from './dues.ts';
import { runEndpointKeys } from './endpoint-keys.ts';
import { runErasures, type SubscriptionEnder } from './erasures.ts';
import { keepRunning } from './keep-running.ts';
import { runKeyRetirement } from './key-retirement.ts';
import { type ContinuousAudit, runLedgerAudit } from './ledger-audit.ts';
import { runLedgerHeads } from './ledger-heads.ts';
import { runWitnessing, type Witness } from './ledger-witness.ts';
import type { Mailer } from './mail.ts';
import { runMails } from './mails.ts';
import { passOnMoves } from './passes.ts';
import { type ProgressWatch, watchProgress } from './progress.ts';
import { runPurges } from './purge.ts';
import { type Apart, openApart, openPutOff } from './put-off.ts';
import { openRemovals } from './removals.ts';
import { runRetention } from './retention.ts';
import { settleJobs } from './settlement.ts';
import { openSweeper } from './sweeper.ts';
import { openWebhookDispatcher } from './webhook-deliveries.ts';
import { runWebhookEndpoints } from './webhook-endpoints.ts';
import type { WebhookSender } from './webhook-sender.ts';

export interface ProcessesOptions {
  log: EventStore;
  /** The same log as it is stored, for backups. */
  stored_log: StoredLog;
  backup_progress: BackupProgressStore;
  backup_retention: Retention;
  /** The days for which the results of ended jobs are kept; null: for ever. */
  results_days: number | null;
  /** Default: one of its own. */
  listing?: UrlListing;
  readmodels: ReadModels;
  queue: Queue;
  leases: LeaseKeeper;
  blobs: Pick<Blobs, 'put' | 'get' | 'list' | 'delete'>;
  commands: Jobs;
  credits: CreditsLedger;
  sender: WebhookSender;
  /** The key from which the secrets of webhook endpoints derive. */
  webhook_key: Uint8Array;
  mailer: Mailer;
  /** Signs the heads of the ledger; null: it has none. */
  ledger_heads: {
    heads: LedgerHeads;
    interval_ms: number;
    /** Keep the heads outside of this machine. */
    witnesses?: readonly Witness[];
    /** Told what keeps the outside key from signing, and the witnesses from keeping; null for nothing. */
    tellSigner?: (fault: string | null) => void;
    tellWitness?: (fault: string | null) => void;
  } | null;
  /** Audits the ledger all the time; null: nobody does. */
  ledger_audit: ContinuousAudit | null;
  /** The payment provider; null where none is configured. */
  payments: SubscriptionEnder | null;
  /** The credits of a trial; 0: no trials begin. */
  trial_credits: number;
  logger: Logger;
  signal: AbortSignal;
  say?: Say;
  /** Gets the function that tells of the work in flight. */
  measure?: (work: Dispatcher['inFlight']) => void;
  now?: () => number;
  /** Milliseconds that never go back. */
  monotonic?: () => number;
}

/** The least time between two passes. */
const SPACING_MS = 10;
const SWEEP_MS = 30_000;
const PROGRESS_MS = 5_000;
const PROJECTED_MS = 1_000;
/** While jobs keep ending, a pass completes the jobs of this time together. */
const ENDINGS_MS = 40;
const LOST_AFTER_MS = 5 * 60_000;

/** Runs until `signal` aborts, in one process at a time. */
export async function runProcesses(options: ProcessesOptions): Promise<void> {
  const { log, queue, readmodels, logger, say } = options;
  const { now = Date.now, monotonic = () => performance.now(), commands } = options;
  const steady = steadyClock(now, monotonic);
  let is_running = false;
  const run = async (signal: AbortSignal, work: Work) => {
    is_running = true;
    const part = (name: string, start: (onPass: () => void) => Promise<void>) =>
      keepRunning(name, start, logger, signal, name === 'dispatch' ? work : undefined);
    const endpoints = openWebhookEndpoints(log);
    const deliveries = openWebhookDeliveries(log);
    const subscriptions = openSubscriptions(log);
    const removals = openRemovals();
    const { trial_credits } = options;
    const trials = trial_credits > 0 ? openTrials(log, options.credits, trial_credits) : null;
    const webhooks = openWebhookDispatcher({
      readmodels,
      endpoints,
      deliveries,
      sender: options.sender,
      signing_key: options.webhook_key,
      context: contextOf('webhooks', steady),
      now: steady,
      monotonic,
      random: Math.random,
    });
    // The dispatcher's turns and the progress watch's times survive a restart of their part.
    const dispatcher = openDispatcher({
      jobs: readmodels.collection(jobs),
      queue,
      listing: options.listing ?? openUrlListing(log),
      logger,
      monotonic,
      lost_after_ms: LOST_AFTER_MS,
      fail: (job_id) =>
        commands.run(job_id, { type: 'fail', reason: 'no_progress' }, contextOf('dispatch', now)(job_id)),
    });
    options.measure?.(() => dispatcher.inFlight());
    const failed_purges = openPutOff(monotonic);
    const ofLog = { logger, monotonic };
    const ended_apart = openApart('a job cannot be ended now; the others are', ofLog);
    const progress = watchProgress({ log, commands, context: contextOf('progress', now), ...ofLog });
    const sweeper = openSweeper({
      log,
      pending: readmodels.collection(pending),
      commands,
      credits: options.credits,
      blobs: options.blobs,
      removals,
      context: contextOf('sweeper', now),
      monotonic,
    });
    await Promise.all([
      part('dispatch', (onPass) => runDispatcher(dispatcher, options, signal, onPass)),
      part('endings', (onPass) => endingPasses({ ...options, now, apart: ended_apart }, signal, onPass)),
      part('progress', (onPass) => progressPasses(progress, dispatcher, options, signal, onPass)),
      part('sweeper', async (onPass) => {
        for (; !signal.aborted; await pause(SWEEP_MS, signal)) {
          await sweeper.pass();
          onPass();
        }
      }),
      part('domain checks', (onPass) => {
        const commands = openDomainChecks(log);
        const apart = openApart('the domains of a job cannot be recorded now; those of others are', ofLog);
        return runDomainChecks(
          { readmodels, commands, context: contextOf('domain-checks', now), apart },
          signal,
          onPass,
        );
      }),
      part('webhooks', (onPass) => webhooks.run(signal, onPass)),
      part('webhook endpoints', (onPass) => {
        const { mailer } = options;
        const context = contextOf('webhook-endpoints', now);
        return runWebhookEndpoints({ log, readmodels, endpoints, deliveries, mailer, context }, signal, onPass);
      }),
      part('erasures', (onPass) => {
        const deleteJob = openDeleteJob(commands, options.credits, async (job_id, position) => {
          const job =
            (await readmodels.passed(position, PROJECTED_MS)) && (await readmodels.collection(jobs).get(job_id));
          return job ? endedJob(job) : null;
        });
        const context = contextOf('erasures', now);
        const erasures = openErasures(log);
        return runErasures(
          {
            ...{ log, readmodels, erasures, endpoints, commands, deleteJob, context, monotonic, logger },
            ...{ mailer: options.mailer, payments: options.payments, removals },
          },
          signal,
          onPass,
        );
      }),
      part('dues', (onPass) => {
        const context = contextOf('dues', steady);
        return runDues(
          { readmodels, credits: options.credits, subscriptions, trials, context, now: steady, ...ofLog },
          signal,
          onPass,
        );
      }),
      part('mails', (onPass) => {
        const sending = { log, readmodels, mails: openMails(log), mailer: options.mailer, logger };
        return runMails({ ...sending, context: contextOf('mails', now), monotonic }, signal, onPass);
      }),
      options.ledger_heads &&
        part('ledger heads', (onPass) => {
          const { stored_log } = options;
          const { heads, interval_ms, tellSigner: tell = () => {} } = options.ledger_heads!;
          const signing = { stored_log, heads, interval_ms, tell, context: contextOf('ledger', now), now };
          return runLedgerHeads(signing, signal, onPass);
        }),
      options.ledger_heads?.witnesses &&
        part('ledger witness', (onPass) => {
          const { heads, witnesses = [], tellWitness: tell = () => {} } = options.ledger_heads!;
          return runWitnessing({ last: heads.last, witnesses, tell, monotonic }, signal, onPass);
        }),
      options.ledger_audit && part('ledger audit', (onPass) => runLedgerAudit(options.ledger_audit!, signal, onPass)),
      part('purges', (onPass) => {
        const context = contextOf('purge', now);
        return runPurges({ ...options, monotonic, removals, context, put_off: failed_purges }, signal, onPass);
      }),
      options.results_days !== null &&
        part('retention', (onPass) => {
          const context = contextOf('retention', steady);
          const of = { readmodels, commands, failed_purges, logger, context, now: steady, monotonic };
          return runRetention({ ...of, days: options.results_days! }, signal, onPass);
        }),
      part('endpoint keys', (onPass) => runEndpointKeys({ log, readmodels, removals }, signal, onPass)),
      part('key retirement', (onPass) => {
        const keys = openIdempotencyKeys(log);
        const context = contextOf('key-retirement', steady);
        return runKeyRetirement({ log, keys, removals, logger, context, now: steady }, signal, onPass);
      }),
      part('backups', (onPass) => {
        const { stored_log, blobs, backup_progress: progress, backup_retention: retention } = options;
        const writing = { stored_log, blobs, progress, removals, logger, now, monotonic };
        const backups = openBackups(log);
        const context = contextOf('backups', now);
        return runBackups({ ...writing, readmodels, retention, backups, context }, signal, onPass);
      }),
    ]).finally(() => (is_running = false));
  };
  const unable = unlessAnswering({
    'the event log': () => log.head(),
    'the queue': () => queue.depth(WORK_SUBJECT),
    // The lease, which its holder renews, is in the same store.
    'the store of documents': async () => is_running || (await readmodels.position().catch(blameReadModels)),
  });
  await whileHeld(options.leases, 'processes', options.signal, run, { unable, say, logger });
}

function blameReadModels(error: unknown): never {
  throw error instanceof DocumentsNotReady ? new DependencyFault(error.message) : error;
}

async function endingPasses(
  options: ProcessesOptions & { now: () => number; apart: Apart },
  signal: AbortSignal,
  onPass: () => void,
): Promise<void> {
  const { log, readmodels, commands, credits, now, apart } = options;
  const job_documents = readmodels.collection(jobs);
  const stats_documents = readmodels.collection(jobStats);
  const [to_complete, to_settle] = [contextOf('completion', now), contextOf('settlement', now)];
  await passOnMoves({ readmodels, spacing_ms: SPACING_MS, signal, onPass }, async () => {
    const reached = await completeJobs(log, job_documents, stats_documents, commands, to_complete, apart);
    await settleJobs(job_documents, commands, credits, to_settle, apart);
    if (reached === null) return;
    // Before that the read model would return the same jobs again.
    await readmodels.passed(reached, PROJECTED_MS);
    await pause(ENDINGS_MS, signal);
  });
}

async function progressPasses(
  progress: ProgressWatch,
  dispatcher: Dispatcher,
  { queue }: ProcessesOptions,
  signal: AbortSignal,
  onPass: () => void,
): Promise<void> {
  const done = new AbortController();
  const hear = (body: unknown) => {
    dispatcher.hear(body as InHand);
    progress.hear(body as InHand);
  };
  try {
    const ends = AbortSignal.any([signal, done.signal]);
    await queue.listen(IN_HAND_SUBJECT, hear, ends);
    for (; !signal.aborted; await pause(PROGRESS_MS, signal)) {
      await progress.pass();
      onPass();
    }
  } finally {
    done.abort();
  }
}

const contextOf =
  (process: string, now: () => number) =>
  (job_id: string): CommandContext => ({
    command_id: randomUUID(),
    causation_id: job_id,
    actor: `process:${process}`,
    now: now(),
  });
