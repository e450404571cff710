// What becomes of a submission that fails at any of its steps: the credits are back at once, and no listing is left.
import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { openJobs } from '../../../commands/jobs/job.ts';
import { openSubmitJob, type Submission } from '../../../commands/jobs/submit-job.ts';
import { openCredits } from '../../../commands/ledger/credits.ts';
import type { EventStore, NewEvent } from '../../../events/event-store.ts';
import { creditsStream, jobStream, urlsStream } from '../../../events/streams.ts';
import { commandContext, openTestStores } from '../../support/stores.ts';

const GRANTED = 10;
const FAULT = 'the log does not take it';

/** A log that fails the append of one type of event, once: before it is stored, or after, so that nobody hears of it. */
function failingAt(log: EventStore, type: string, when: 'before' | 'after'): EventStore {
  let has_failed = false;
  return {
    ...log,
    readStream: (...given) => log.readStream(...given),
    deleteStream: (stream) => log.deleteStream(stream),
    async append(stream, expected, events: readonly NewEvent[]) {
      const fails = !has_failed && events.some((event) => event.type === type);
      if (!fails) return await log.append(stream, expected, events);
      has_failed = true;
      if (when === 'after') await log.append(stream, expected, events);
      throw new Error(FAULT);
    },
  };
}

const submissionOf = (job_id: string, pages: () => Submission['pages']): Submission => ({
  ...{ job_id, owner_id: 'alice', owner_email: null, source: 'upload', filename: 'a.csv', blob_key: null },
  needs_credits: false,
  counts: () => ({ duplicates_removed: 0, invalid_urls_rejected: 0, blocked_urls_skipped: 0 }),
  pages: pages(),
});

async function submitting(t: ExecutionContext, type: string, when: 'before' | 'after', more: Partial<Submission> = {}) {
  const { log } = await openTestStores(t);
  const failing = failingAt(log, type, when);
  const credits = openCredits(failing);
  const lot = { type: 'grant', transaction_type: 'purchase', reference_id: randomUUID() } as const;
  await openCredits(log).run('alice', { ...lot, amount: GRANTED, expires_at: null }, commandContext());
  const job_id = randomUUID();
  const submit = openSubmitJob(failing, openJobs(failing), credits);
  const pages = async function* () {
    yield { urls: ['https://a.example/1', 'https://a.example/2'] };
  };
  const submitted = submit({ ...submissionOf(job_id, pages), ...more }, commandContext());
  const balance = async () => (await openCredits(log).aggregate.read(creditsStream('alice'))).state.balance;
  const count = async (stream: string) => (await Array.fromAsync(log.readStream(stream))).length;
  return { submitted, balance, listed: () => count(urlsStream(job_id)), jobEvents: () => count(jobStream(job_id)) };
}

for (const type of ['UrlsListed', 'CreditsReserved', 'JobCreated']) {
  test(`a failed append of ${type} leaves no reservation and no URLs`, async (t) => {
    const { submitted, balance, listed } = await submitting(t, type, 'before');
    await t.throwsAsync(submitted, { message: FAULT });
    t.deepEqual([await balance(), await listed()], [GRANTED, 0]);
  });
}

for (const type of ['UrlsListed', 'CreditsReserved']) {
  test(`a stored ${type} without an acknowledgement leaves no reservation and no URLs`, async (t) => {
    const { submitted, balance, listed } = await submitting(t, type, 'after');
    await t.throwsAsync(submitted, { message: FAULT });
    t.deepEqual([await balance(), await listed()], [GRANTED, 0]);
  });
}

test('a submission finds its job that was stored without an acknowledgement', async (t) => {
  const { submitted, balance, listed } = await submitting(t, 'JobCreated', 'after');
  t.like(await submitted, { ok: true, job: { total_urls: 2, credits_allocated: 2, filename: 'a.csv' } });
  t.deepEqual([await balance(), await listed()], [GRANTED - 2, 1]);
});

test('a job that the log cannot hold gives back its credits', async (t) => {
  const { submitted, balance, listed } = await submitting(t, 'none', 'before', {
    counts: () => {
      throw new Error(FAULT);
    },
  });
  await t.throwsAsync(submitted, { message: FAULT });
  t.deepEqual([await balance(), await listed()], [GRANTED, 0]);
});

test('a client that leaves in the middle of its URLs pays nothing', async (t) => {
  const { submitted, balance, listed } = await submitting(t, 'none', 'before', {
    pages: (async function* () {
      yield { urls: Array.from({ length: 1500 }, (_, n) => `https://a.example/${n}`) };
      throw new Error(FAULT);
    })(),
  });
  await t.throwsAsync(submitted, { message: FAULT });
  t.deepEqual([await balance(), await listed()], [GRANTED, 0]);
});

/** A page of a listing's chunk. */
const page = (n: number) => ({
  urls: Array.from({ length: 1000 }, (_, at) => `https://a.example/${'folder/'.repeat(8)}${n}-${at}`),
});

test('URLs are read while an append is on its way, but no more than the next append takes', async (t) => {
  const { log } = await openTestStores(t);
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const appended: number[] = [];
  let read_pages = 0;
  const slow: EventStore = {
    ...log,
    readStream: (...given) => log.readStream(...given),
    async append(stream, expected, events: readonly NewEvent[]) {
      if (stream.startsWith('urls-')) {
        appended.push(events.length);
        await released;
      }
      return await log.append(stream, expected, events);
    },
  };
  const submit = openSubmitJob(slow, openJobs(slow), openCredits(slow));
  const submitted = submit(
    submissionOf(randomUUID(), async function* () {
      for (; read_pages < 30; read_pages++) yield page(read_pages);
    }),
    commandContext(),
  );
  // The submission does nothing but wait for the append.
  for (let turns = 0; turns < 10; turns++) await nextTurn();
  t.deepEqual(appended, [1]);
  t.true(read_pages > 6 && read_pages < 15, `${read_pages} pages are read`);
  release();
  t.like(await submitted, { ok: true, job: { total_urls: 30_000 } });
  t.is(
    appended.reduce((sum, events) => sum + events),
    30,
  );
  t.true(appended.length < 10, `${appended.length} appends`);
});

test('a client that leaves while an append is on its way leaves no listing behind', async (t) => {
  const { log } = await openTestStores(t);
  const { promise: left, resolve: leave } = Promise.withResolvers<void>();
  const job_id = randomUUID();
  const slow: EventStore = {
    ...log,
    readStream: (...given) => log.readStream(...given),
    deleteStream: (stream) => log.deleteStream(stream),
    async append(stream, expected, events: readonly NewEvent[]) {
      if (stream === urlsStream(job_id)) {
        await left;
        await nextTurn();
      }
      return await log.append(stream, expected, events);
    },
  };
  const submit = openSubmitJob(slow, openJobs(slow), openCredits(slow));
  const submitted = submit(
    submissionOf(job_id, async function* () {
      yield page(0);
      yield page(1);
      leave();
      throw new Error(FAULT);
    }),
    commandContext(),
  );
  await t.throwsAsync(submitted, { message: FAULT });
  for (let turns = 0; turns < 10; turns++) await nextTurn();
  t.is((await Array.fromAsync(log.readStream(urlsStream(job_id)))).length, 0);
  t.deepEqual(
    (await Array.fromAsync(log.readStream(jobStream(job_id)))).map(({ type }) => type),
    ['ReservationVoided', 'ListingDiscarded'],
  );
});

for (const char of ['a', '"', '\\', '€']) {
  test(`the longest URLs fit the appends of a listing, of ${char}`, async (t) => {
    const { log } = await openTestStores(t);
    const job_id = randomUUID();
    const longest = (n: number) => `https://a.example/${n}-${char.repeat(2000)}`;
    const submit = openSubmitJob(log, openJobs(log), openCredits(log));
    const submitted = await submit(
      submissionOf(job_id, async function* () {
        // Each URL is two rows behind the one before, which takes the most room.
        const at = Array.from({ length: 1000 }, (_, n) => n);
        yield { urls: at.map(longest), rows: at.map((n) => 900_000_000 + 2 * n) };
      }),
      commandContext(),
    );
    t.like(submitted, { ok: true, job: { total_urls: 1000 } });
    const urls = (await Array.fromAsync(log.readStream(urlsStream(job_id)))).flatMap(
      ({ data }) => (data as { urls: string[] }).urls,
    );
    t.deepEqual([urls.length, urls.at(-1)], [1000, longest(999)]);
  });
}

test('a submission that fails before its first URL leaves no event', async (t) => {
  const { submitted, jobEvents } = await submitting(t, 'none', 'before', {
    // biome-ignore lint/correctness/useYield: it fails before there is one
    pages: (async function* () {
      throw new Error(FAULT);
    })(),
  });
  await t.throwsAsync(submitted, { message: FAULT });
  t.is(await jobEvents(), 0);
});
