// Ranges of a job's URLs are read from its listing, however long its chunks are.
import test from 'ava';
import { openJobs } from '../../commands/jobs/job.ts';
import { openSubmitJob } from '../../commands/jobs/submit-job.ts';
import { openCredits } from '../../commands/ledger/credits.ts';
import type { EventStore } from '../../events/event-store.ts';
import { urlsStream } from '../../events/streams.ts';
import { openUrlListing } from '../../events/url-listing.ts';
import { commandContext, openTestStores } from '../support/stores.ts';

async function list(log: EventStore, job_id: string, urls: readonly string[]): Promise<void> {
  const submit = openSubmitJob(log, openJobs(log), openCredits(log));
  const submission = {
    ...{ job_id, owner_id: 'alice', owner_email: null, source: 'api' as const, filename: null, blob_key: null },
    needs_credits: false,
    counts: () => ({ duplicates_removed: 0, invalid_urls_rejected: 0, blocked_urls_skipped: 0 }),
    pages: (async function* () {
      yield { urls };
    })(),
  };
  const { ok } = await submit(submission, commandContext());
  if (!ok) throw new Error('not submitted');
}

const lists: Record<string, string[]> = {
  'ordinary URLs': Array.from({ length: 3210 }, (_, n) => `https://example.com/${n}`),
  'very long URLs': Array.from({ length: 310 }, (_, n) => `https://example.com/${n}/${'x'.repeat(n % 7 ? 8000 : 1)}`),
  'long URLs after short ones': Array.from(
    { length: 2100 },
    (_, n) => `https://e.com/${n}/${'x'.repeat(n > 2000 ? 8000 : 1)}`,
  ),
};

for (const [which, urls] of Object.entries(lists)) {
  test(`any range of ${which} is found, in any order`, async (t) => {
    const { log } = await openTestStores(t);
    await list(log, 'j', urls);
    const listing = openUrlListing(log);
    for (let n = 0; n < 200; n++) {
      const from = (n * 7919) % urls.length;
      const to = Math.min(from + 100, urls.length);
      t.deepEqual(await listing.range('j', from, to), urls.slice(from, to));
    }
    t.deepEqual(await listing.range('j', urls.length - 1, urls.length + 5), urls.slice(-1));
    t.deepEqual(await listing.range('j', urls.length + 5000, urls.length + 5001), []);
  });
}

test('a listing that was deleted has no URLs', async (t) => {
  const { log } = await openTestStores(t);
  await list(log, 'j', ['https://example.com/']);
  await log.deleteStream(urlsStream('j'));
  let looks = 0;
  const counting = new Proxy(log, {
    get: (_, name) => {
      if (name === 'readStream') looks++;
      return log[name as keyof EventStore]!.bind(log);
    },
  });
  t.deepEqual(await openUrlListing(counting).range('j', 999_900, 1_000_000), []);
  t.is(looks, 1);
});

test('the first chunk of a listing that was noted is not read again', async (t) => {
  const { log } = await openTestStores(t);
  const urls = Array.from({ length: 1500 }, (_, n) => `https://example.com/${n}`);
  await list(log, 'j', urls);
  const reads: number[] = [];
  const counting = new Proxy(log, {
    get: (_, name) => {
      if (name !== 'readStream') return log[name as keyof EventStore]!.bind(log);
      return (stream: string, options: { from: number }) => {
        reads.push(options.from);
        return log.readStream(stream, options);
      };
    },
  });
  const listing = openUrlListing(counting);
  listing.note(await Array.fromAsync(log.readStream(urlsStream('j'))));
  t.deepEqual(await listing.range('j', 900, 1000), urls.slice(900, 1000));
  t.deepEqual(reads, []);
  t.deepEqual(await listing.range('j', 950, 1050), urls.slice(950, 1050));
  t.deepEqual(reads, [1]);
});
