// An erased user is in no read model, in no byte of any file and in no replay. The ledger stays and verifies.
import test from 'ava';
import { readBackup } from '../../backups/read-backup.ts';
import { writeBackup } from '../../backups/write-backup.ts';
import { openSubscriptions } from '../../commands/billing/subscription.ts';
import { openJobs } from '../../commands/jobs/job.ts';
import { openSubmitJob } from '../../commands/jobs/submit-job.ts';
import { openCredits } from '../../commands/ledger/credits.ts';
import { openAccounts } from '../../commands/users/accounts.ts';
import { openErasures } from '../../commands/users/user.ts';
import { openWebhookEndpoints } from '../../commands/webhook-endpoints.ts';
import type { EventStore } from '../../events/event-store.ts';
import { jobStream, personalKeyStream, userStream } from '../../events/streams.ts';
import { testUserOf } from '../../events/test-user.ts';
import { LAST_REQUESTS_MS } from '../../processes/erasures.ts';
import { jobs } from '../../readmodels/jobs/jobs.ts';
import { erasures as erasureDocuments } from '../../readmodels/users/erasures.ts';
import { webhookEndpoints } from '../../readmodels/webhooks.ts';
import { occurrences } from '../support/bytes.ts';
import { ACCOUNTS, JOBS, PERSONAL, twoUsers, URLS } from '../support/erased-users.ts';
import { commandContext, project } from '../support/stores.ts';

test('what the test keys of an erased user made goes too', async (t) => {
  const { documents, log, finish, erase, readmodels } = await twoUsers(t);
  const [jobs_of, credits, user_id] = [openJobs(log), openCredits(log), testUserOf('u-1')];
  const pages = (async function* () {
    yield { urls: ['http://sandbox.test/'] };
  })();
  const counts = () => ({ duplicates_removed: 0, invalid_urls_rejected: 0, blocked_urls_skipped: 0 });
  const submission = { job_id: crypto.randomUUID(), owner_id: user_id, owner_email: null, source: 'api' as const };
  const more = { filename: null, blob_key: null, pages, counts, needs_credits: true };
  t.true((await openSubmitJob(log, jobs_of, credits)({ ...submission, ...more }, commandContext())).ok);
  const endpoint = { endpoint_id: 'hook-of-test', user_id, url: 'https://hooks.example/x', events: [] };
  await openWebhookEndpoints(log).run(user_id, { type: 'create', endpoint }, commandContext());
  await project({ log, documents });
  const left = async () => [
    await readmodels.collection(jobs).count({ owner_id: user_id }),
    await readmodels.collection(webhookEndpoints).count({ user_id }),
  ];
  t.deepEqual(await left(), [1, 1]);
  await erase();
  await project({ log, documents });
  await finish();
  t.deepEqual(await left(), [0, 0]);
  t.deepEqual(await Array.fromAsync(log.readStream(personalKeyStream(`user/${user_id}`))), []);
});

test('no byte of any file names an erased user, and a replay makes the same documents', async (t) => {
  const { folder, documents, log, finish, erase, assertGone, close, typesOf, ...parts } = await twoUsers(t);
  t.deepEqual(
    Object.keys(await occurrences(folder, PERSONAL)).filter((found) => found.startsWith('events.db')),
    [],
    'the log never held them in clear',
  );
  t.true((await erase()).ok);
  t.true((await erase()).ok, 'asked for twice');
  await project({ log, documents });
  await finish();
  await assertGone();
  t.deepEqual(await typesOf(), [
    ...[
      'UserRegistered',
      'UserNamed',
      'SignupBonusApproved',
      'NotesUpdated',
      'UsageLimitSet',
      'FingerprintRecorded',
      'UserErased',
    ],
    'UserForgotten',
  ]);
  const [registered] = await Array.fromAsync(log.readStream(userStream('u-1')));
  t.like(registered, { data: { user_id: 'u-1', email: null } });
  const { stored_log, blobs } = parts;
  const key = 'backups/after/file.ndjson.zst';
  const { signal } = new AbortController();
  await writeBackup({ backup_id: 'after', log: stored_log, blobs, key, now: Date.now(), signal });
  const lines = await Array.fromAsync(readBackup((await blobs.get(key))!));
  const backup = JSON.stringify(lines.map(({ line }) => line));
  t.deepEqual(
    PERSONAL.filter((text) => backup.includes(text)),
    [],
  );
  const streams = lines.flatMap((line) => (line.kind === 'event' ? [line.line.stream] : []));
  t.false(streams.includes('personal_keys-user/u-1'), 'a backup from after the erasure has no key of the user');
  t.true(streams.includes('personal_keys-user/u-2'));
  t.true(lines.some((line) => line.kind === 'deleted' && line.line.deleted_stream === 'personal_keys-user/u-1'));
  const files = lines.flatMap((line) => (line.kind === 'file' ? [line.line.file] : []));
  t.true(files.length > 0 && files.every((file) => !file.includes(JOBS['done-of-ada'])));
  await close();
  const urls = Array.from({ length: URLS }, (_, i) => `https://site-${i}.example/`);
  const texts = [...PERSONAL, ...urls.flatMap((url) => [`${url}done-of-ada`, `${url}running-of-ada`])];
  t.deepEqual(await occurrences(folder, texts), {});
  t.not(Object.keys(await occurrences(folder, [`${urls[0]}done-of-charles`])).length, 0);
});

test('an erasure ends the running subscriptions at the provider once, and is not done while the provider is away', async (t) => {
  const { log, documents, process, finish, erase, isDone, typesOf } = await twoUsers(t);
  const subscription = {
    customer_id: 'cus_1',
    plan: 'pro' as const,
    interval: 'month' as const,
    period_start: '2026-01-01T00:00:00Z',
    period_end: '2026-02-01T00:00:00Z',
    cancel_at: null,
    changed_at: '2026-01-01T00:00:00Z',
  };
  for (const [user_id, subscription_id, status] of [
    ['u-1', 'sub_active', 'active'],
    ['u-1', 'sub_past_due', 'past_due'],
    ['u-1', 'sub_over', 'canceled'],
    ['u-1', 'sandbox_of_ada', 'active'],
    ['u-2', 'sub_of_charles', 'active'],
  ] as const) {
    const change = { type: 'change' as const, subscription: { ...subscription, subscription_id, status } };
    await openSubscriptions(log).run(user_id, change, commandContext());
  }
  await erase();
  await project({ log, documents });
  let is_away = true;
  const asked: string[] = [];
  const pass = process(log, {
    async endSubscription(subscription_id) {
      asked.push(subscription_id);
      if (is_away) throw new Error('away');
    },
  });
  await t.throwsAsync(finish(pass), { message: 'the erasure does not end' });
  t.true(asked.length > 1 && asked.length <= 51, `the provider was asked ${asked.length} times`);
  t.deepEqual([...new Set(asked)], ['sub_active']);
  t.false(await isDone());
  t.deepEqual((await typesOf()).at(-1), 'UserErased');
  await t.throwsAsync(finish(process()), { message: 'the erasure does not end' }, 'no provider is known');
  is_away = false;
  asked.length = 0;
  await finish(pass);
  t.deepEqual(asked, ['sub_active', 'sub_past_due']);
});

test('users who are erased at once do not wait for each other', async (t) => {
  const { log, documents, process, isDone, pass_ms } = await twoUsers(t);
  const users = Array.from({ length: 120 }, (_, n) => `many-${n}`);
  for (const user_id of users) {
    await openAccounts(log, openCredits(log), ACCOUNTS).see({ user_id, email: null }, commandContext());
    await openErasures(log).erase(user_id, commandContext());
  }
  await project({ log, documents });
  const pass = process();
  const STEP_MS = LAST_REQUESTS_MS / 4;
  let passes = 0;
  for (; !(await isDone()) && passes < 20; passes++) {
    await pass();
    pass_ms(STEP_MS);
  }
  t.true(passes <= 7, `the last one was forgotten at pass ${passes}`);
});

test('a damaged job or user holds up the erasure of no other job or user', async (t) => {
  const { log, documents, readmodels, process, isDone, pass_ms } = await twoUsers(t);
  const damaged = new Set([jobStream(JOBS['done-of-ada']), userStream('u-3')]);
  const credits = openCredits(log);
  await openAccounts(log, credits, ACCOUNTS).see({ user_id: 'u-3', email: null }, commandContext());
  for (const user_id of ['u-1', 'u-3', 'u-2']) await openErasures(log).erase(user_id, commandContext());
  await project({ log, documents });
  const readStream: EventStore['readStream'] = (stream, options) => {
    if (damaged.has(stream)) throw new Error('an event of it is damaged');
    return log.readStream(stream, options);
  };
  const pass = process({ ...log, readStream });
  const left = async () => (await readmodels.collection(erasureDocuments).find({})).map(({ _id }) => _id).toSorted();
  for (let passes = 0; passes < 20; passes++) {
    await pass();
    pass_ms(LAST_REQUESTS_MS / 8);
  }
  t.deepEqual(await left(), ['u-1', 'u-3'], 'the other user is forgotten');
  t.is(await readmodels.collection(jobs).get(JOBS['running-of-ada']), null, 'the other job is deleted');
  damaged.clear();
  for (let passes = 0; !(await isDone()) && passes < 50; passes++) {
    await pass();
    pass_ms(LAST_REQUESTS_MS / 8);
  }
  t.true(await isDone());
});

test('an erased user who comes back with a token that is still valid is refused', async (t) => {
  const { log, erase } = await twoUsers(t);
  await erase();
  const users = openAccounts(log, openCredits(log), ACCOUNTS);
  t.is(await users.see({ user_id: 'u-1', email: PERSONAL[0]! }, commandContext()), 'erased');
  t.like(await openErasures(log).erase('nobody', commandContext()), { refused: { code: 'user_not_found' } });
});

test('a job that an earlier request creates after the erasure is erased too', async (t) => {
  const { log, documents, process, finish, erase, assertGone, submit } = await twoUsers(t);
  await erase();
  await project({ log, documents });
  const pass = process();
  for (let passes = 0; passes < 4; passes++) await pass();
  await submit('late-of-ada', { owner_id: 'u-1', email: PERSONAL[0]!, filename: PERSONAL[1]!, checked: 10 });
  await project({ log, documents });
  await finish(pass);
  await assertGone();
});

test('two concurrent processes, and one that is killed between any two steps, reach the same end', async (t) => {
  for (let fatal = 1, finished = false; !finished; fatal += 8) {
    const { log, documents, process, finish, erase, assertGone, isDone } = await twoUsers(t);
    await erase();
    await project({ log, documents });
    let steps = 0;
    const dying =
      <Args extends unknown[], R>(step: (...args: Args) => Promise<R>) =>
      async (...args: Args): Promise<R> => {
        if (++steps >= fatal) throw Object.assign(new Error('killed'), { code: 'unavailable' });
        return step(...args);
      };
    const killed: EventStore = {
      ...log,
      append: dying((...args: Parameters<EventStore['append']>) => log.append(...args)),
      deleteStream: dying((stream: string) => log.deleteStream(stream)),
    };
    await finish(process(killed)).catch((error: Error) =>
      t.is((error instanceof AggregateError ? (error.errors[0] as Error) : error).message, 'killed'),
    );
    finished = await isDone();
    const [one, two] = [process(), process()];
    await finish(async () => {
      await Promise.all([one(), two()]);
    });
    await assertGone();
  }
});
