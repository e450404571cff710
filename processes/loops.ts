// The process managers that are loops of their own: they hand out work, hear the checkers, send webhooks, or follow the log itself.
import type { Queue } from '../checkers/queue.ts';
import { IN_HAND_SUBJECT, type InHand } from '../checkers/work.ts';
import { openBackups } from '../commands/backups.ts';
import { openIdempotencyKeys } from '../commands/idempotency.ts';
import { openWebhookDeliveries } from '../commands/webhook-delivery.ts';
import { openWebhookEndpoints } from '../commands/webhook-endpoints.ts';
import { openUrlListing } from '../events/url-listing.ts';
import { jobs } from '../readmodels/jobs/jobs.ts';
import type { ManagerName } from '../roles/managers.ts';
import { pause } from '../time/pause.ts';
import { runBackups } from './backups.ts';
import { contextOf } from './context-of.ts';
import { Dispatcher } from './dispatch.ts';
import { runDispatcher } from './dispatch-passes.ts';
import { runEndpointKeys } from './endpoint-keys.ts';
import { runKeyRetirement } from './key-retirement.ts';
import { runLedgerAudit } from './ledger-audit.ts';
import { runLedgerHeads } from './ledger-heads.ts';
import { runWitnessing } from './ledger-witness.ts';
import type { ManagerWatch } from './manager-watch.ts';
import type { ManagingOptions } from './options.ts';
import { type ProgressWatch, watchProgress } from './progress.ts';
import { WebhookDispatcher } from './webhook-deliveries.ts';

const PROGRESS_MS = 5_000;
const LOST_AFTER_MS = 5 * 60_000;

export interface Loop {
  name: ManagerName;
  /** Runs until `signal` aborts; calls `onPass` after each pass. */
  run(signal: AbortSignal, onPass: () => void, watch: ManagerWatch): Promise<void>;
}

export function loopsOf(options: ManagingOptions): Loop[] {
  const { log, readmodels, job_commands, logger, removals, now, steady, monotonic } = options;
  // The dispatcher's turns and the progress watch's times survive a restart of their loop.
  const dispatcher = new Dispatcher({
    jobs: readmodels.collection(jobs),
    queue: options.queue,
    listing: options.listing ?? openUrlListing(log),
    logger,
    monotonic,
    lost_after_ms: LOST_AFTER_MS,
    fail: (job_id) =>
      job_commands.run(job_id, { type: 'fail', reason: 'no_progress' }, contextOf('dispatch', now)(job_id)),
  });
  options.measure?.(() => dispatcher.inFlight());
  const progress = watchProgress({ log, job_commands, context: contextOf('progress', now), logger, monotonic });
  const { ledger_heads, ledger_audit } = options;
  const following: Loop[] = [];
  if (ledger_heads) {
    const { heads, interval_ms, witnesses, tellSigner: tell = () => {}, tellWitness = () => {} } = ledger_heads;
    const { stored_log } = options;
    const signing = { stored_log, heads, interval_ms, tell, context: contextOf('ledger', now), now };
    following.push({ name: 'ledger heads', run: (signal, onPass) => runLedgerHeads(signing, signal, onPass) });
    const witnessing = { last: heads.last, witnesses: witnesses ?? [], tell: tellWitness, monotonic };
    if (witnesses)
      following.push({ name: 'ledger witness', run: (signal, onPass) => runWitnessing(witnessing, signal, onPass) });
  }
  if (ledger_audit)
    following.push({ name: 'ledger audit', run: (signal, onPass) => runLedgerAudit(ledger_audit, signal, onPass) });
  return [
    { name: 'dispatch', run: (signal, onPass) => runDispatcher(dispatcher, options, signal, onPass) },
    { name: 'progress', run: (signal, onPass) => progressPasses(progress, dispatcher, options.queue, signal, onPass) },
    webhooks(options),
    ...following,
    {
      name: 'endpoint keys',
      run: (signal, onPass) => runEndpointKeys({ log, readmodels, removals }, signal, onPass),
    },
    {
      name: 'key retirement',
      run(signal, onPass) {
        const retiring = { log, keys: openIdempotencyKeys(log), removals, logger, now: steady };
        return runKeyRetirement({ ...retiring, context: contextOf('key-retirement', steady) }, signal, onPass);
      },
    },
    {
      name: 'backups',
      run(signal, onPass) {
        const { stored_log, blobs, backup_progress: progress, backup_retention: retention } = options;
        const writing = { stored_log, blobs, progress, removals, logger, now, monotonic, readmodels, retention };
        const backups = openBackups(log);
        return runBackups({ ...writing, backups, context: contextOf('backups', now) }, signal, onPass);
      },
    },
  ];
}

function webhooks({ log, readmodels, sender, webhook_key, steady, monotonic }: ManagingOptions): Loop {
  const dispatcher = new WebhookDispatcher({
    readmodels,
    endpoints: openWebhookEndpoints(log),
    deliveries: openWebhookDeliveries(log),
    sender,
    signing_key: webhook_key,
    context: contextOf('webhooks', steady),
    now: steady,
    monotonic,
    random: Math.random,
  });
  return { name: 'webhooks', run: (signal, onPass, watch) => dispatcher.run(signal, onPass, watch) };
}

async function progressPasses(
  progress: ProgressWatch,
  dispatcher: Dispatcher,
  queue: Queue,
  signal: AbortSignal,
  onPass: () => void,
): Promise<void> {
  const done = new AbortController();
  const hear = (body: unknown) => {
    dispatcher.observeInHand(body as InHand);
    progress.observe(body as InHand);
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
