// Two users with every kind of data, of whom a test erases one.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { openSqliteDocuments } from '../../adapters/documents/sqlite/sqlite-documents.ts';
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { openDeleteJob } from '../../commands/jobs/delete-job.ts';
import { openJobs } from '../../commands/jobs/job.ts';
import { openCredits } from '../../commands/ledger/credits.ts';
import { openReportedEvents } from '../../commands/reported-events.ts';
import { openShares } from '../../commands/shares.ts';
import { openAccounts } from '../../commands/users/accounts.ts';
import { openUserAdministration } from '../../commands/users/administer-users.ts';
import { openApiKeys } from '../../commands/users/api-keys.ts';
import { openUsageLimits } from '../../commands/users/usage-limits.ts';
import { openErasures } from '../../commands/users/user.ts';
import { openWebhookEndpoints } from '../../commands/webhook-endpoints.ts';
import type { EventStore } from '../../events/event-store.ts';
import { userStream } from '../../events/streams.ts';
import { erasures as erasing, LAST_REQUESTS_MS, type SubscriptionEnder } from '../../processes/erasures.ts';
import { purging } from '../../processes/purge.ts';
import { openRemovals } from '../../processes/removals.ts';
import { settlement } from '../../processes/settlement.ts';
import { endedJob, jobs } from '../../readmodels/jobs/jobs.ts';
import { openReadModels } from '../../readmodels/read-models.ts';
import { apiKeys } from '../../readmodels/users/api-keys.ts';
import { erasures as erasureDocuments } from '../../readmodels/users/erasures.ts';
import { webhookEndpoints } from '../../readmodels/webhooks.ts';
import { fileBlobs } from './file-blobs.ts';
import { assertExact } from './ledger.ts';
import { passesOf } from './manager-pass.ts';
import { coded, commandContext, project, silent } from './stores.ts';
import { submitUpload } from './submitted.ts';

export const URLS = 60;
export const ACCOUNTS = { signup_credits: 300, bonus_at: 'first_sight' } as const;
/** The personal texts of the erased user, each in some event. */
export const PERSONAL = [
  ...['ada@lovelace.example', 'analytical-engine.csv', 'ada-key-name', 'hooks.lovelace.example'],
  ...['ada-difference-engine', 'ada-saw-the-paywall', 'ada-countess', 'ada-note-of-root', 'ada-limit-reason'],
];

export const JOBS = {
  'done-of-ada': '6a0e6b0c-2f5e-4c0b-9d55-0d6b7f6f0a01',
  'running-of-ada': '6a0e6b0c-2f5e-4c0b-9d55-0d6b7f6f0a02',
  'late-of-ada': '6a0e6b0c-2f5e-4c0b-9d55-0d6b7f6f0a03',
  'done-of-charles': '6a0e6b0c-2f5e-4c0b-9d55-0d6b7f6f0b01',
  'running-of-charles': '6a0e6b0c-2f5e-4c0b-9d55-0d6b7f6f0b02',
};
export type JobName = keyof typeof JOBS;

/** A user with every kind of data, and another one who stays. */
export async function twoUsers(t: ExecutionContext) {
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-erasures-'));
  const store = await openSqliteEventStore({ path: join(folder, 'events.db') });
  const documents = await openSqliteDocuments({ path: join(folder, 'documents.db') });
  const log = coded(store);
  let is_open = true;
  const close = async () => {
    if (is_open) await Promise.all([log.close(), documents.close()]);
    is_open = false;
  };
  t.teardown(async () => {
    await close();
    await rm(folder, { recursive: true, force: true });
  });
  const blobs = await fileBlobs(join(folder, 'blobs'));
  const [job_commands, credits, context] = [openJobs(log), openCredits(log), () => commandContext()];
  const readmodels = openReadModels(documents);

  async function submit(name: JobName, of: { owner_id: string; email: string; filename: string; checked: number }) {
    const urls = Array.from({ length: URLS }, (_, i) => `https://site-${i}.example/${name}`);
    const job_id = JOBS[name];
    const { owner_id, email: owner_email, filename, checked } = of;
    const submitted = { job_id, owner_id, owner_email, filename, urls, batch_size: 10, checked };
    await submitUpload({ log, blobs, job_commands, credits }, submitted);
  }

  for (const { user_id, email, filename, host } of [
    { user_id: 'u-1', email: PERSONAL[0]!, filename: PERSONAL[1]!, host: PERSONAL[3]! },
    { user_id: 'u-2', email: 'charles@babbage.example', filename: 'difference.csv', host: 'hooks.babbage.example' },
  ]) {
    const [named, noted, limited] = user_id === 'u-1' ? PERSONAL.slice(6) : ['charles', 'a note', 'a reason'];
    await openAccounts(log, credits, ACCOUNTS).see({ user_id, email, name: named! }, context());
    const administrator = { ...context(), actor: 'admin:root' };
    await openUserAdministration(credits).updateNotes(user_id, { notes: noted! }, administrator);
    await openUsageLimits(credits).setLimit(user_id, { limit: 9_999, reason: limited! }, administrator);
    const [machine, seen] = user_id === 'u-1' ? [PERSONAL[4]!, PERSONAL[5]!] : ['an-engine', 'the-paywall'];
    const fingerprint = { os: machine, device_type: null, screen_size: null };
    const claim = { address: 'home', site: null, user: 'f'.repeat(64), fingerprint: 'f'.repeat(64) };
    await openAccounts(log, credits, ACCOUNTS).recordFingerprint({ user_id, fingerprint, claim }, context());
    const paywall = { user_id, event: 'shown', properties: JSON.stringify({ seen }) };
    await openReportedEvents(log).recordPaywallEvent(paywall, context());
    const name = user_id === 'u-1' ? PERSONAL[2]! : 'charles-key';
    await openApiKeys(log).create({ plaintext: `key of ${user_id}`, user_id, email, name }, context());
    const endpoint = { endpoint_id: `hook-${user_id}`, user_id, url: `https://${host}/x`, events: [] };
    await openWebhookEndpoints(log).run(user_id, { type: 'create', endpoint }, context());
    const owner = { owner_id: user_id, email, filename };
    const suffix = user_id === 'u-1' ? ('of-ada' as const) : ('of-charles' as const);
    await submit(`done-${suffix}`, { ...owner, checked: URLS });
    await submit(`running-${suffix}`, { ...owner, checked: 20 });
    await job_commands.run(
      JOBS[`done-${suffix}`],
      { type: 'complete', completed_urls: URLS, broken_urls: 0 },
      context(),
    );
    await openShares(log).create(
      { token: user_id, job_id: JOBS[`done-${suffix}`], user_id, expires_at: null },
      context(),
    );
  }
  await project({ log, documents });

  let now = 0;
  /** Opens a process with new aggregates over this log, as after a start. */
  function process(over: EventStore = log, payments: SubscriptionEnder | null = null) {
    const own = openJobs(over);
    const deleteJob = openDeleteJob(own, openCredits(over), async (job_id) => {
      const job = await readmodels.collection(jobs).get(job_id);
      return job && endedJob(job);
    });
    const [erasures, endpoints] = [openErasures(over), openWebhookEndpoints(over)];
    const options = {
      log: over,
      readmodels,
      erasures,
      endpoints,
      job_commands: own,
      deleteJob,
      context,
      payments,
      removals: openRemovals(),
      mailer: { erase: async () => {} },
      monotonic: () => now,
    };
    const removing = { log: over, job_commands: own, blobs, removals: openRemovals(), context };
    const of = { logger: silent, monotonic: () => now };
    const purger = passesOf(purging(removing), readmodels, of);
    const eraser = passesOf(erasing(options), readmodels, of);
    const settling = passesOf(settlement({ job_commands: own, credits: openCredits(over), context }), readmodels);
    return async () => {
      await eraser.pass();
      await project({ log, documents });
      await settling.pass();
      await project({ log, documents });
      await purger.pass();
      await project({ log, documents });
    };
  }
  const isDone = async () => (await readmodels.collection(erasureDocuments).count({})) === 0;
  /** Runs passes until the erasure is done. */
  async function finish(pass = process()): Promise<void> {
    for (let passes = 0; !(await isDone()); passes++) {
      if (passes > 50) throw new Error('the erasure does not end');
      await pass();
      now += LAST_REQUESTS_MS / 8;
    }
    await pass();
  }
  async function assertGone(): Promise<void> {
    t.is(await readmodels.collection(jobs).count({ owner_id: 'u-1' }), 0);
    t.is(await readmodels.collection(apiKeys).count({ user_id: 'u-1' }), 0);
    t.is(await readmodels.collection(webhookEndpoints).count({ user_id: 'u-1' }), 0);
    t.is(await readmodels.collection(jobs).count({ owner_id: 'u-2', owner_email: 'charles@babbage.example' }), 2);
    t.like(await readmodels.collection(jobs).get(JOBS['done-of-charles']), { filename: 'difference.csv' });
    // A replay with the remaining keys makes the same documents, and the ledgers verify.
    const empty = await openSqliteDocuments({ path: join(folder, `${crypto.randomUUID()}.db`) });
    await assertExact(t, coded(store), documents, empty);
    await empty.close();
  }
  const erase = () => openErasures(log).erase('u-1', context());
  const typesOf = async () =>
    (await Array.fromAsync(log.readStream(userStream('u-1')))).map(({ type }) => type as string);
  const pass_ms = (ms: number) => void (now += ms);
  return {
    ...{ stored_log: store, blobs },

    folder,
    log,
    documents,
    readmodels,
    pass_ms,
    process,
    finish,
    erase,
    assertGone,
    isDone,
    typesOf,
    close,
    submit,
  };
}
