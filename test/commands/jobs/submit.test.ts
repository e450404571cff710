// One command makes a job, whoever gives it URLs and in whatever form: http, or a process without any request.
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { StoreUnavailable } from '../../../adapters/documents/unavailable.ts';
import type { Given } from '../../../commands/jobs/intake.ts';
import { openJobs } from '../../../commands/jobs/job.ts';
import { type JobRequest, openSubmissions } from '../../../commands/jobs/submit.ts';
import { openCredits } from '../../../commands/ledger/credits.ts';
import type { EventStore } from '../../../events/event-store.ts';
import { creditsStream, jobStream, urlsStream } from '../../../events/streams.ts';
import { blockedDomains } from '../../../intake/blocked-domains.ts';
import { openIntake } from '../../../intake/intake.ts';
import { fileBlobs } from '../../support/file-blobs.ts';
import { commandContext, openTestStores } from '../../support/stores.ts';

const COUNTS = { duplicates_removed: 1, invalid_urls_rejected: 1, blocked_urls_skipped: 1 };
const GIVEN = ['https://a.example/1', 'https://a.example/1', 'see below', 'https://b.example/', 'a.example/2'];
const CHECKED = ['https://a.example/1', 'https://a.example/2'];

/** `append` runs before each append to the log. */
async function start(t: ExecutionContext, append = async () => {}) {
  const { log: stored } = await openTestStores(t);
  const log: EventStore = {
    ...stored,
    readStream: (...given) => stored.readStream(...given),
    readAll: (...given) => stored.readAll(...given),
    deleteStream: (...given) => stored.deleteStream(...given),
    head: () => stored.head(),
    append: async (...given) => {
      await append();
      return await stored.append(...given);
    },
  };
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-submit-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const [jobs, credits, files] = [openJobs(log), openCredits(log), await fileBlobs(folder)];
  const lot = { type: 'grant', transaction_type: 'purchase', reference_id: randomUUID(), expires_at: null } as const;
  await credits.run('alice', { ...lot, amount: 10 }, commandContext());
  const blocked_domain_of = blockedDomains(new Map([['b.example', {}]]));
  const intake = openIntake({ current: async () => ({ blocked_domain_of, entryOf: () => null }) }, { max_urls: 3 });
  const submissions = openSubmissions({ log, jobs, credits, intake, blobs: files });
  const request = { owner_id: 'alice', owner_email: null, source: 'upload' as const, needs_credits: true };
  return {
    log,
    files,
    submit: (given: Given, more: Pick<JobRequest, 'listRead'> = {}) =>
      submissions.submit({ ...request, given, ...more }, commandContext()),
    submitOnce: (given: Given) => {
      const scope = { user_id: 'alice', method: 'none', route: 'nightly', key: '2026-01-31' };
      const keyed = { scope, fingerprint: 'f', size_bytes: 100, answerOf: () => ({ status: 201, body: {} }) };
      return submissions.submitOnce({ ...request, given }, keyed, commandContext());
    },
    async file(rows: readonly string[]): Promise<Given> {
      const path = join(folder, 'given.csv');
      await writeFile(path, ['url', ...rows].join('\n'));
      return { kind: 'file', path, filename: 'given.csv' };
    },
    listed: async (job_id: string) =>
      (await Array.fromAsync(log.readStream(urlsStream(job_id)))).flatMap(
        ({ data }) => (data as { urls: string[] }).urls,
      ),
    balance: async () => (await credits.aggregate.read(creditsStream('alice'))).state.balance,
  };
}

async function* pagesOf(urls: readonly string[]) {
  for (const url of urls) yield [url];
}
const listOf = (urls: readonly string[]): Given => ({ kind: 'list', pages: pagesOf(urls) });

test('a file becomes a job, and the service keeps it', async (t) => {
  const { submit, file, listed, files } = await start(t);
  const submitted = await submit(await file(GIVEN));
  if (!submitted.ok) return t.fail(submitted.refused.message);
  const { job } = submitted;
  t.like(job, { ...COUNTS, total_urls: 2, filename: 'given.csv', blob_key: `uploads/${job.job_id}` });
  t.deepEqual(await listed(job.job_id), CHECKED);
  t.not(await files.get(job.blob_key!), null);
});

test('a list becomes the same job, without a file', async (t) => {
  const { submit, listed } = await start(t);
  const submitted = await submit(listOf(GIVEN));
  if (!submitted.ok) return t.fail(submitted.refused.message);
  t.like(submitted.job, { ...COUNTS, total_urls: 2, filename: null, blob_key: null });
  t.deepEqual(await listed(submitted.job.job_id), CHECKED);
});

test('a submission signals that it has read its list before it waits for the log', async (t) => {
  let log_answers = Promise.resolve();
  const { submit } = await start(t, () => log_answers);
  const [read, answers] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  log_answers = answers.promise;
  const submitted = submit(listOf(GIVEN), { listRead: read.resolve });
  await read.promise;
  answers.resolve();
  t.true((await submitted).ok);
});

test('the URLs of a job can be submitted again', async (t) => {
  const { submit, listed, log } = await start(t);
  const first = await submit(listOf(GIVEN));
  if (!first.ok) return t.fail(first.refused.message);
  async function* again() {
    for await (const { data } of log.readStream(urlsStream(first.ok ? first.job.job_id : ''))) {
      yield (data as { urls: string[] }).urls;
    }
  }
  const second = await submit({ kind: 'list', pages: again() });
  if (!second.ok) return t.fail(second.refused.message);
  t.deepEqual(await listed(second.job.job_id), CHECKED);
});

test('an unusable file gets a refusal with a reason, costs nothing, and is not kept', async (t) => {
  const { submit, file, balance, files, log } = await start(t);
  const put: string[] = [];
  const { put: putFile } = files;
  files.put = (key, content) => {
    put.push(key);
    return putFile(key, content);
  };
  const long = GIVEN.concat('a.example/3', 'a.example/4');
  t.like(await submit(await file(long)), { ok: false, refused: { code: 'too_many_urls' } });
  t.like(await submit(listOf(['see below'])), { refused: { code: 'no_urls', rows: [{ reason: 'several_words' }] } });
  t.is(await balance(), 10);
  t.is(put.length, 1);
  t.is(await files.get(put[0]!), null);
  t.is((await Array.fromAsync(log.readAll({ filter: { categories: ['urls'] } }))).length, 0);
});

test('a job keeps its file whose submission got no answer from the log', async (t) => {
  const { submit, file, files, log } = await start(t);
  const { append, readStream } = log;
  let is_away = false;
  log.readStream = (...of) => {
    if (is_away) throw new StoreUnavailable('away');
    return readStream.apply(log, of);
  };
  log.append = async (stream, ...rest) => {
    if (is_away) throw new StoreUnavailable('away');
    const appended = await append.call(log, stream, ...rest);
    is_away = stream.startsWith('job-');
    if (is_away) throw new StoreUnavailable('away');
    return appended;
  };
  await t.throwsAsync(async () => submit(await file(GIVEN)), { code: 'unavailable' });
  const [created] = await Array.fromAsync(log.readAll({ filter: { categories: ['job'] } }));
  t.is(created?.type, 'JobCreated');
  t.not(await files.get((created!.data as { blob_key: string }).blob_key), null);
});

test('under a key the same list makes one job, also after one that was refused', async (t) => {
  const { submitOnce, balance, log } = await start(t);
  t.like(await submitOnce(listOf(['see below'])), { ok: false, refused: { code: 'no_urls' } });
  const [first, second] = [await submitOnce(listOf(GIVEN)), await submitOnce(listOf(GIVEN))];
  t.like(first, { ok: true, replayed: false });
  t.deepEqual(second, { ...first, replayed: true } as typeof second);
  t.is(await balance(), 8);
  const job_id = first.ok ? first.answer.job_id : '';
  t.is((await Array.fromAsync(log.readStream(jobStream(job_id)))).length, 1);
});
