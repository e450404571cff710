// The whole life of a job, from outside: every transition, every one that is refused, and what each of them costs.
import test, { type ExecutionContext } from 'ava';
import { jobStream, urlsStream } from '../../events/streams.ts';
import { type Behind, eventsOf, openBehind, until } from '../support/behind.ts';
import { occurrences } from '../support/bytes.ts';
import { assertExactFolder } from '../support/ledger.ts';
import { patientClock } from '../support/patient-clock.ts';
import { openTestClient, startTestService, type TestClient, type TestService } from '../support/service.ts';
import { openSite, page, type Site } from '../support/sites.ts';

let service: TestService;
let stores: Behind;
let site: Site;
/** Answers what is under /quick; everything else is asked about for ever. */
let silent: Site;
/** Requests that the silent site has not answered and whose connection is open. */
const waiting = new Set<string>();

test.before(async () => {
  site = await openSite();
  silent = await openSite((request, response) => {
    const path = request.url!;
    if (path.startsWith('/quick/')) return page(request, response);
    waiting.add(path);
    response.on('close', () => waiting.delete(path));
  });
  // Nobody's silent URLs hold up anybody else's.
  service = await startTestService({ CHECKER_PER_HOST: '200', CHECKER_TIMEOUT_MS: '60000' });
  stores = await openBehind(service.data_dir);
});
test.after.always(async (t) => {
  await stores?.close();
  await Promise.all([site?.close(), silent?.close()]);
  await service?.stop((data_dir) => assertExactFolder(t as ExecutionContext, data_dir));
});

/** Runs on a service whose checker asks for few URLs at a time: most of a job waits in the queue. */
async function withFewSlots(t: ExecutionContext, run: (slow: TestService) => Promise<void>): Promise<void> {
  const slow = await startTestService({ CHECKER_CONCURRENCY: '4', CHECKER_TIMEOUT_MS: '60000' });
  let look: Parameters<TestService['stop']>[0];
  try {
    await run(slow);
    look = (data_dir) => assertExactFolder(t, data_dir);
  } finally {
    await slow.stop(look);
  }
}

const urlsOf = ({ url }: Site, folder: string, count: number) =>
  Array.from({ length: count }, (_, i) => `${url}/${folder}/${i}`);
const waitingIn = (folder: string) => [...waiting].filter((path) => path.startsWith(`/${folder}/`)).length;
const askedIn = ({ asked }: Site, folder: string) => [...asked].filter(([path]) => path.startsWith(`/${folder}/`));

async function submit(client: TestClient, urls: readonly string[]): Promise<string> {
  const { status, body } = await client.upload(urls.join('\n'));
  if (status !== 201) throw new Error(JSON.stringify(body));
  return body.job_id;
}
const act = (client: TestClient, job_id: string, action: string) => client.ask('POST', `/jobs/${job_id}/${action}`);
const remove = (client: TestClient, job_id: string) => client.ask('DELETE', `/jobs/${job_id}`);
const jobOf = async (client: TestClient, job_id: string) => (await client.ask('GET', `/jobs/${job_id}`)).body;
const balanceOf = async (client: TestClient) => (await client.ask('GET', '/users/me/credits')).body.credit_balance;

/** A job of one URL that waits for its site. */
async function processing(client: TestClient, folder: string): Promise<string> {
  const job_id = await submit(client, urlsOf(silent, folder, 1));
  await until(() => waitingIn(folder) === 1);
  return job_id;
}
async function completed(client: TestClient, folder: string): Promise<string> {
  const job_id = await submit(client, urlsOf(site, folder, 1));
  await client.ended(job_id);
  return job_id;
}

test('a paused job finishes its URLs in flight; a resumed one checks the others, every URL once', (t) =>
  withFewSlots(t, async (slow) => {
    const alice = await slow.client('pauser');
    const job_id = await submit(alice, urlsOf(site, 'paused', 300));
    await until(async () => (await jobOf(alice, job_id)).completed_urls > 0, 20);
    const paused = await act(alice, job_id, 'pause');
    t.is(paused.status, 200);
    t.like(paused.body, { status: 'paused', pause_reason: 'owner', credits_allocated: 300 });
    // What was begun is recorded, and nothing else is begun.
    await until(async () => (await jobOf(alice, job_id)).completed_urls === askedIn(site, 'paused').length);
    t.true(askedIn(site, 'paused').length < 300, 'what is in the queue is dropped');
    const resumed = await act(alice, job_id, 'resume');
    t.is(resumed.status, 200);
    t.like(resumed.body, { pause_reason: null, credits_allocated: 300 });
    t.like(await alice.ended(job_id), { status: 'completed', completed_urls: 300, credits_refunded: 0 });
    const asked = askedIn(site, 'paused');
    t.is(asked.length, 300);
    t.deepEqual(
      asked.filter(([, times]) => times > 1),
      [],
    );
    t.is(await balanceOf(alice), 0);
  }));

test('after a purchase one of twenty concurrent resumptions succeeds, and the ledger charges once', async (t) => {
  const alice = await service.client('buyer');
  const job_id = await submit(alice, urlsOf(site, 'bought', 310));
  t.like(await alice.ended(job_id), { status: 'paused', pause_reason: 'credit_ceiling', completed_urls: 300 });
  const poor = await act(alice, job_id, 'resume');
  t.deepEqual([poor.status, poor.body.code], [402, 'no_credits']);
  t.is((await jobOf(alice, job_id)).status, 'paused');

  await stores.grant('buyer', 25);
  const answers = await Promise.all(Array.from({ length: 20 }, () => act(alice, job_id, 'resume')));
  const won = answers.filter(({ status }) => status === 200);
  t.is(won.length, 1);
  t.is(won[0]!.body.credits_allocated, 310);
  t.deepEqual(
    answers.filter(({ status }) => status !== 200).map(({ status, body }) => [status, body.code]),
    Array(19).fill([409, 'illegal_transition']),
  );
  t.like(await alice.ended(job_id), { status: 'completed', completed_urls: 310, credits_refunded: 0 });
  // The refused requests gave back what they had reserved, and their answers name no position to wait for.
  await until(async () => (await balanceOf(alice)) === 15);
  const { body: results } = await alice.ask('GET', `/jobs/${job_id}/results?limit=1000`);
  t.is(results.total, 310);
  const asked = askedIn(site, 'bought');
  t.deepEqual([asked.length, asked.every(([, times]) => times === 1)], [310, true]);
});

test('a resumed job checks as many URLs as there are credits', async (t) => {
  const alice = await service.client('half-buyer');
  const job_id = await submit(alice, urlsOf(site, 'half', 310));
  await alice.ended(job_id);
  await stores.grant('half-buyer', 4);
  t.like((await act(alice, job_id, 'resume')).body, { credits_allocated: 304 });
  const again = await alice.ended(job_id);
  t.like(again, { status: 'paused', pause_reason: 'credit_ceiling', completed_urls: 304 });
  t.is(await balanceOf(alice), 0);
});

test('a cancelled job stops long before its requests would end, and the ledger refunds exactly its unused credits', (t) =>
  withFewSlots(t, async (slow) => {
    const alice = await slow.client('canceller');
    const urls = [...urlsOf(silent, 'quick/cancelled', 40), ...urlsOf(silent, 'cancelled', 160)];
    const job_id = await submit(alice, urls);
    await until(() => waitingIn('cancelled') === 4);
    const elapsed_ms = patientClock(t);
    const cancelled = await act(alice, job_id, 'cancel');
    await until(() => waitingIn('cancelled') === 0);
    t.true(elapsed_ms() < 20_000, `${elapsed_ms()} ms of the 60,000 that a request may take`);
    t.is(cancelled.status, 200);
    const { status, completed_urls, credits_refunded } = cancelled.body;
    t.is(status, 'cancelled');
    t.true(completed_urls > 0 && completed_urls <= 40, String(completed_urls));
    t.is(completed_urls + credits_refunded, 200);
    t.is(await balanceOf(alice), 300 - completed_urls);
    t.is((await alice.ask('GET', `/jobs/${job_id}/results`)).body.total, completed_urls, 'results stay');

    // Another job has gone all the way through the queue: of this one nothing was left there.
    const asked = askedIn(silent, 'cancelled').length;
    await completed(alice, 'after-cancelled');
    t.is(askedIn(silent, 'cancelled').length, asked);
  }));

test('a job that is cancelled while paused discards its URLs in flight', async (t) => {
  const alice = await service.client('pause-canceller');
  const job_id = await processing(alice, 'pause-cancelled');
  t.is((await act(alice, job_id, 'pause')).status, 200);
  t.is(waitingIn('pause-cancelled'), 1, 'what is in hand goes on');
  const elapsed_ms = patientClock(t);
  t.like((await act(alice, job_id, 'cancel')).body, { status: 'cancelled', credits_refunded: 1, pause_reason: null });
  await until(() => waitingIn('pause-cancelled') === 0);
  t.true(elapsed_ms() < 10_000, 'sooner than the request would have ended by itself');
});

test('one of twenty cancellations succeeds, the others get 409, and the ledger refunds once', async (t) => {
  const alice = await service.client('twice-canceller');
  const job_id = await processing(alice, 'twice-cancelled');
  const answers = await Promise.all(Array.from({ length: 20 }, () => act(alice, job_id, 'cancel')));
  t.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array(19).fill(409)]);
  const late = await act(alice, job_id, 'cancel');
  t.is(late.status, 409);
  const { body } = await alice.ask('GET', '/users/me/credit-transactions');
  const refunds = body.items.filter((entry: { transaction_type: string }) => entry.transaction_type === 'refund');
  t.deepEqual(
    refunds.map((entry: { amount: number; reference_id: string }) => [entry.amount, entry.reference_id]),
    [[1, job_id]],
  );
  t.is(await balanceOf(alice), 300);
});

test('the service refuses an illegal change with the status and the legal changes', async (t) => {
  const alice = await service.client('refused');
  const jobs = {
    processing: await processing(alice, 'refused-1'),
    paused: await processing(alice, 'refused-2'),
    cancelled: await processing(alice, 'refused-3'),
    completed: await completed(alice, 'refused-4'),
  };
  await act(alice, jobs.paused, 'pause');
  await act(alice, jobs.cancelled, 'cancel');
  const legal = {
    processing: ['pause', 'cancel'],
    paused: ['resume', 'cancel'],
    cancelled: ['delete'],
    completed: ['delete'],
  };
  for (const [status, job_id] of Object.entries(jobs)) {
    const allowed = legal[status as keyof typeof legal];
    for (const action of ['pause', 'resume', 'cancel', 'delete'].filter((one) => !allowed.includes(one))) {
      const refused = action === 'delete' ? await remove(alice, job_id) : await act(alice, job_id, action);
      const { detail, ...rest } = refused.body;
      t.is(refused.status, 409, `${action} of ${status}`);
      t.deepEqual(rest, { code: 'illegal_transition', details: { status, legal: allowed } });
      t.true(detail.includes(status), detail);
      if (action === 'delete') t.regex(detail, /cancel it first/);
      t.is((await jobOf(alice, job_id)).status, status, 'it changes nothing');
    }
  }
  await Promise.all([act(alice, jobs.processing, 'cancel'), act(alice, jobs.paused, 'cancel')]);
});

test("nobody changes someone else's job", async (t) => {
  const [alice, bob, admin] = await Promise.all([
    service.client('life-owner'),
    service.client('life-stranger'),
    service.client('life-admin', { is_admin: true }),
  ]);
  const job_id = await completed(alice, 'foreign');
  for (const action of ['pause', 'resume', 'cancel']) {
    t.is((await act(bob, job_id, action)).status, 404);
    t.is((await act(admin, job_id, action)).status, 404);
  }
  t.is((await remove(bob, job_id)).status, 403);
  t.is((await remove(bob, crypto.randomUUID())).status, 404);
  t.is((await jobOf(alice, job_id)).status, 'completed');
  t.is((await remove(admin, job_id)).status, 200, 'but an administrator may delete it');
});

test('a deleted job disappears at once and its content soon; its events and ledger entries stay', async (t) => {
  const alice = await service.client('deleter');
  const uploaded = await alice.upload(urlsOf(site, 'deleted', 45).join('\n'), '', 'deletable.csv');
  const job_id = uploaded.body.job_id as string;
  await alice.ended(job_id);
  t.truthy(await stores.blobs.get(`uploads/${job_id}`));
  // The queue overwrites its messages once they are acknowledged. A checkpoint may move rows from a file that is not read yet to one that is.
  const holders = ['events.db', 'documents.db', job_id];
  await until(async () => {
    const found = Object.keys(await occurrences(service.data_dir, ['/deleted/']));
    return holders.every((file) => found.some((each) => each.includes(file)));
  });
  const listed = async () => (await alice.ask('GET', '/jobs?email=deleter@example.com')).body.total;
  t.deepEqual([await listed(), await listed()], [1, 1], 'the list is kept until something happens');
  const { status, body } = await remove(alice, job_id);
  t.deepEqual([status, body], [200, { job_id, deleted: true }]);
  t.is((await alice.ask('GET', `/jobs/${job_id}`)).status, 404);
  t.is((await alice.ask('GET', `/jobs/${job_id}/results`)).status, 404);
  t.is(await listed(), 0);
  t.is((await remove(alice, job_id)).status, 404);
  t.is((await act(alice, job_id, 'resume')).status, 404);

  await until(async () => (await eventsOf(stores.log, jobStream(job_id))).at(-1)!.type === 'JobPurged');
  t.deepEqual(
    (await eventsOf(stores.log, jobStream(job_id))).map(({ type }) => type),
    ['JobCreated', 'JobCompleted', 'JobDeleted', 'JobPurged'],
  );
  t.deepEqual(await eventsOf(stores.log, urlsStream(job_id)), []);
  const checks = await Array.fromAsync(stores.log.readAll({ filter: { categories: ['checks'] } }));
  t.false(checks.some(({ stream }) => stream.includes(job_id)));
  t.is(await stores.blobs.get(`uploads/${job_id}`), null);
  const ledger = await alice.ask('GET', '/users/me/credit-transactions');
  t.like(ledger.body.items[0], { transaction_type: 'reservation', amount: -45, reference_id: job_id });
  t.is(await balanceOf(alice), 255, 'nothing was unused');

  // No file holds a byte of the URLs or of the file's name, write-ahead logs included.
  const texts = ['/deleted/', 'deletable.csv'];
  await until(async () => Object.keys(await occurrences(service.data_dir, texts)).length === 0);
});

test('deleting a cancelled job refunds nothing more', async (t) => {
  const alice = await service.client('cancel-deleter');
  const job_id = await processing(alice, 'cancel-deleted');
  await act(alice, job_id, 'cancel');
  t.is((await remove(alice, job_id)).status, 200);
  t.is(await balanceOf(alice), 300);
});

test('a bulk delete decides for each job, and names the reason of each refusal', async (t) => {
  const [alice, bob, admin] = await Promise.all([
    service.client('bulk-owner'),
    service.client('bulk-stranger'),
    service.client('bulk-admin', { is_admin: true }),
  ]);
  const [first, second, third] = await Promise.all(['b1', 'b2', 'b3'].map((folder) => completed(alice, folder)));
  const busy = await processing(alice, 'bulk');
  const theirs = await completed(bob, 'b4');
  const absent = crypto.randomUUID();
  const bulkDelete = (client: TestClient, job_ids: unknown) => client.ask('POST', '/jobs/bulk-delete', { job_ids });

  const { status, body } = await bulkDelete(alice, [first, busy, theirs, absent, second, first, 'no id']);
  t.is(status, 200);
  t.deepEqual(body.deleted, [first, second]);
  t.deepEqual(
    body.errors.map((error: { job_id: string; status: number }) => [error.job_id, error.status]),
    [
      [busy, 409],
      [theirs, 403],
      [absent, 404],
      ['no id', 404],
    ],
  );
  t.regex(body.errors[0].detail, /A processing job cannot be deleted: cancel it first/);
  t.is((await alice.ask('GET', `/jobs/${first}`)).status, 404);
  t.is((await jobOf(bob, theirs)).status, 'completed');
  t.deepEqual((await bulkDelete(admin, [third, theirs])).body, { deleted: [third, theirs], errors: [] });

  t.is((await bulkDelete(alice, [])).status, 422);
  t.is((await bulkDelete(alice, Array(1001).fill(absent))).status, 422);
  t.is((await bulkDelete(alice, 'all')).status, 422);
  await act(alice, busy, 'cancel');
});

test('a caller can change a new job before the read model has it', async (t) => {
  const whole = await startTestService({ ROLES: 'http,projector' });
  t.teardown(() => whole.stop());
  const owners = await Promise.all(['quick', 'quick-stranger'].map((user_id) => whole.client(user_id)));
  await Promise.all(owners.map((owner) => owner.ask('GET', '/users/me')));
  await whole.restart(async () => {
    // Nobody projects meanwhile.
    const blind = await startTestService({ DATA_DIR: whole.data_dir, ROLES: 'http' });
    try {
      const [alice, bob] = owners.map(({ token }) => openTestClient(blind.url, token)) as [TestClient, TestClient];
      const job_id = await submit(alice, urlsOf(site, 'quick', 2));
      t.is((await act(bob, job_id, 'pause')).status, 404);
      const done = await act(alice, job_id, 'pause');
      t.deepEqual([done.status, done.body.code], [503, 'unavailable'], 'it cannot be shown');
      const again = await act(alice, job_id, 'pause');
      t.deepEqual([again.status, again.body.details], [409, { status: 'paused', legal: ['resume', 'cancel'] }]);
      t.is((await remove(bob, job_id)).status, 403);
      const { body: made } = await alice.ask('POST', '/users/me/api-keys', { name: 'quick' });
      const refused = await openTestClient(blind.url, made.key).ask('GET', '/api/v2/usage');
      t.deepEqual(
        [refused.status, refused.body.error.code],
        [503, 'unavailable'],
        'nobody knows yet that the key is good',
      );
    } finally {
      await blind.stop();
    }
  });
});

test('without documents there is no balance, no list of jobs and no job, and no submission passes the blocklist', async (t) => {
  const blind = await startTestService({ ROLES: 'http' });
  t.teardown(() => blind.stop());
  const alice = await blind.client('early');
  const answers = await Promise.all([
    alice.ask('GET', '/users/me/credits'),
    alice.ask('GET', '/jobs?email=early@example.com'),
    alice.upload(`${site.url}/early`),
  ]);
  for (const { status, body } of answers) t.deepEqual([status, body.code], [503, 'unavailable']);
});
