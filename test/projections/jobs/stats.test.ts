// The statistics of a job are what a plain recount of its results finds, however the log is cut into transactions.
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import type { CheckedUrl } from '../../../events/checked-range.ts';
import { ERROR_CODES, VERDICTS } from '../../../events/checks.ts';
import type { RecordedEvent } from '../../../events/event-store.ts';
import type { JobCreated } from '../../../events/job.ts';
import { checksStream, jobStream } from '../../../events/streams.ts';
import { jobsProjection } from '../../../projections/jobs/jobs.ts';
import type { CollectionSpec, Document, Documents } from '../../../readmodels/documents.ts';
import { results, toResult } from '../../../readmodels/results/results.ts';
import {
  domainOf,
  FIRST_DOMAINS,
  histogram,
  jobDomains,
  jobResponseTimes,
  jobStats,
  noStats,
  percentiles,
  statusGroups,
  summaryOf,
  topDomains,
} from '../../../readmodels/results/stats.ts';
import { listedUrls, rangeOf } from '../../support/checked.ts';
import { openTestStores } from '../../support/stores.ts';

const JOB = '2f1c9f2e-5d0c-4b7b-9a43-0c5c5f4b7d11';
const OTHER = '7b6f3c52-8a44-4c0e-9d0b-5d1f0e6a2c33';
const PERCENTS = [1, 50, 90, 95, 99, 100];
const BATCH = 10;

type Checked = Omit<CheckedUrl, 'job_id' | 'index'>;

const plain: Checked = {
  url: 'https://example.com/',
  status_code: 200,
  final_url: 'https://example.com/',
  is_broken: false,
  is_soft_404: false,
  redirect_chain: [],
  response_time_ms: 10,
  content_type: 'text/html',
  error_code: null,
  verdict: 'ok',
  protection: null,
  attempts: 1,
};

const metadata = { command_id: 'test', causation_id: 'test', actor: 'test', at: '2026-01-31T09:00:00.000Z' };

function recorded(stream: string, type: string, revision: number, data: object): RecordedEvent {
  return { id: `${stream}/${revision}`, stream, type, revision, position: '0', data, metadata };
}

function created(job_id: string, total_urls: number): RecordedEvent {
  return recorded(jobStream(job_id), 'JobCreated', 0, {
    job_id,
    owner_id: 'alice',
    owner_email: null,
    source: 'api',
    total_urls,
    batch_size: BATCH,
    credits_allocated: total_urls,
    reservation_id: 'r',
    duplicates_removed: 0,
    invalid_urls_rejected: 0,
    blocked_urls_skipped: 0,
    filename: null,
    blob_key: null,
  });
}

/** The events of a job's results, in ranges of at most `size` URLs. */
function checked(job_id: string, found: readonly Checked[], size: number): RecordedEvent[] {
  const rows = found.map((result, index) => ({ job_id, index, ...result }));
  const events: RecordedEvent[] = [];
  for (let from = 0; from < rows.length; ) {
    const batch = Math.floor(from / BATCH);
    const to = Math.min(from + size, (batch + 1) * BATCH);
    const revision = events.filter(({ stream }) => stream === checksStream(job_id, batch)).length;
    events.push(recorded(checksStream(job_id, batch), 'URLChecked', revision, rangeOf(rows.slice(from, to))));
    from = to;
  }
  return events;
}

/** Applies the events in transactions of the given sizes, repeatedly. Each attempt has its own `generation`. */
async function apply(documents: Documents, events: readonly RecordedEvent[], sizes: readonly number[], generation = 0) {
  const inGeneration = <T extends Document>(spec: CollectionSpec<T>) => ({
    ...spec,
    name: `${spec.name}_${generation}`,
  });
  for (const spec of jobsProjection.collections) await documents.collection(inGeneration(spec));
  for (let from = 0, n = 0; from < events.length; n++) {
    const to = from + sizes[n % sizes.length]!;
    await documents.transaction((inside) =>
      jobsProjection.apply(events.slice(from, to), (spec) => inside.collection(inGeneration(spec)), listedUrls),
    );
    from = to;
  }
  return <T extends Document>(spec: CollectionSpec<T>) => documents.collection(inGeneration(spec));
}

type Open = Awaited<ReturnType<typeof apply>>;

async function all<T extends Document>(open: Open, spec: CollectionSpec<T>): Promise<T[]> {
  return Array.fromAsync((await open(spec)).stream({}));
}

/** The statistics of a job as readers get them. */
async function counted(open: Open, job_id: string, limit: number) {
  const document = await (await open(jobStats)).get(job_id);
  if (!document) return null;
  const { _id, first_domains: _first, response_times, ...counts } = document;
  const { slots: _slots, by_ms: _by_ms, ...times } = response_times;
  return {
    ...counts,
    ...times,
    groups: statusGroups(document),
    percentiles: await percentiles(await open(jobResponseTimes), document, PERCENTS),
    histogram: await histogram(await open(jobResponseTimes), document),
    domains: await topDomains(await open(jobDomains), document, limit),
  };
}

/** The same statistics, counted from the results. */
function recount(of: readonly CheckedUrl[], limit: number) {
  if (of.length === 0) return null;
  const tally = (values: readonly (string | number | null)[]) => {
    const present = values.filter((value) => value !== null).map(String);
    return Object.fromEntries(
      Object.entries(Object.groupBy(present, (value) => value)).map(([k, v]) => [k, v!.length]),
    );
  };
  const times = of.flatMap((result) => result.response_time_ms ?? []).sort((a, b) => a - b);
  const codes = of.map((result) => result.status_code);
  const inHundred = (hundred: number) => codes.filter((code) => code !== null && Math.floor(code / 100) === hundred);
  const domains = Map.groupBy(of, (result) => new URL(result.url).hostname);
  const broken = (some: readonly CheckedUrl[]) => some.filter((result) => result.is_broken).length;
  return {
    checked_urls: of.length,
    broken_urls: broken(of),
    soft_404_urls: of.filter((result) => result.is_soft_404).length,
    redirected_urls: of.filter((result) => result.redirect_chain.length > 0).length,
    status_codes: tally(codes.map((code) => code ?? 'none')),
    verdicts: tally(of.map((result) => result.verdict)),
    error_codes: tally(of.map((result) => result.error_code)),
    domains_total: domains.size,
    count: times.length,
    sum_ms: times.reduce((sum, ms) => sum + ms, 0),
    min_ms: times[0] ?? null,
    max_ms: times.at(-1) ?? null,
    groups: {
      '2xx': inHundred(2).length,
      '3xx': inHundred(3).length,
      '4xx': inHundred(4).length,
      '5xx': inHundred(5).length,
      broken: broken(of),
      unreachable: codes.filter((code) => code === null).length,
    },
    percentiles: PERCENTS.map((percent) => {
      const not_above = (ms: number) => times.filter((other) => other <= ms).length * 100 >= percent * times.length;
      return times.find(not_above) ?? null;
    }),
    histogram: bucketsOf(times),
    domains: [...domains]
      .map(([domain, some]) => ({ domain, count: some.length, broken: broken(some) }))
      .sort((a, b) => b.count - a.count || (a.domain < b.domain ? -1 : 1))
      .slice(0, limit),
  };
}

/** `times` in ascending order. */
function bucketsOf(times: readonly number[]) {
  const buckets: { below_ms: number; count: number }[] = [];
  for (let [from, below_ms] = [0, 16]; from <= (times.at(-1) ?? -1); [from, below_ms] = [below_ms, below_ms * 2]) {
    buckets.push({ below_ms, count: times.filter((ms) => ms >= from && ms < below_ms).length });
  }
  return buckets;
}

const host = fc.constantFrom('a.example', 'A.example:8080', 'www.a.example', '[::1]', '127.0.0.1', 'bücher.example');
const aResult = fc.record({
  url: fc.tuple(host, fc.nat(3)).map(([name, n]) => `http://${name}/${n}`),
  status_code: fc.option(fc.constantFrom(100, 200, 204, 301, 404, 410, 503, 999)),
  final_url: fc.constant(null),
  is_broken: fc.boolean(),
  is_soft_404: fc.boolean(),
  redirect_chain: fc.array(fc.constant('http://a.example/next'), { maxLength: 2 }),
  response_time_ms: fc.option(fc.oneof(fc.nat(20), fc.nat(3000), fc.nat(300_000))),
  content_type: fc.constant(null),
  error_code: fc.option(fc.constantFrom(...ERROR_CODES)),
  verdict: fc.constantFrom(...VERDICTS),
  protection: fc.constant(null),
  attempts: fc.constant(1),
});
const aLog = fc
  .record({
    of_job: fc.array(aResult, { maxLength: 150, size: 'max' }),
    of_other: fc.array(aResult, { maxLength: 30 }),
    cancelled_after: fc.nat(60),
    size: fc.integer({ min: 1, max: BATCH }),
  })
  .map(({ of_job, of_other, cancelled_after, size }) => {
    const checks = checked(JOB, of_job, size);
    checks.splice(cancelled_after, 0, recorded(jobStream(JOB), 'JobCancelled', 1, {}));
    const others = checked(OTHER, of_other, size);
    const events = [created(JOB, of_job.length + 1), created(OTHER, of_other.length + 1)];
    for (let n = 0; n < Math.max(checks.length, others.length); n++) {
      events.push(...checks.slice(n, n + 1), ...others.slice(n, n + 1));
    }
    return events;
  });
const cuts = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 });

async function assertRecounted(t: ExecutionContext, open: Open, limit: number): Promise<void> {
  const documents = (await all(open, results)).map(toResult);
  for (const job_id of [JOB, OTHER]) {
    const of = documents.filter((result) => result.job_id === job_id);
    t.deepEqual(await counted(open, job_id, limit), recount(of, limit));
  }
}

test('statistics equal a recount of the results, for any results up to the end of their job', async (t) => {
  const { documents } = await openTestStores(t);
  let generation = 0;
  await fc.assert(
    fc.asyncProperty(aLog, cuts, async (events, sizes) => {
      await assertRecounted(t, await apply(documents, events, sizes, generation++), 3);
    }),
    { numRuns: 40 },
  );
});

test('the same events give the same documents, however transactions divide them', async (t) => {
  const { documents } = await openTestStores(t);
  let generation = 0;
  await fc.assert(
    fc.asyncProperty(aLog, cuts, async (events, sizes) => {
      const whole = await apply(documents, events, [events.length], generation++);
      const cut = await apply(documents, events, sizes, generation++);
      for (const spec of [jobStats, jobResponseTimes, jobDomains]) {
        t.deepEqual(await all<Document>(cut, spec), await all<Document>(whole, spec));
      }
    }),
    { numRuns: 20 },
  );
});

/** So many domains with one to five URLs each, in a mixed order. */
function ofManyDomains(count: number): RecordedEvent[] {
  const urls = Array.from({ length: count * 5 }, (_, n) => {
    const domain = (n * 7919) % count;
    return {
      url: `https://d${domain}.example/${n}`,
      is_broken: n % 3 === 0,
      kept: Math.floor(n / count) <= domain % 5,
    };
  }).filter(({ kept }) => kept);
  const found = urls.map(({ url, is_broken }) => ({ ...plain, url, is_broken }));
  return [created(JOB, urls.length), ...checked(JOB, found, BATCH)];
}

test('domains beyond the first few hundred are counted and sorted with the others', async (t) => {
  const { documents } = await openTestStores(t);
  const count = FIRST_DOMAINS + 700;
  const open = await apply(documents, ofManyDomains(count), [100, 9]);
  t.is((await all(open, jobDomains)).length, 700);
  for (const limit of [1, 100, 1000, 2 * count]) await assertRecounted(t, open, limit);
});

test('one transaction holds more results and domains than one write of the store', async (t) => {
  const { documents } = await openTestStores(t);
  const others = 10_001;
  const found = Array.from({ length: FIRST_DOMAINS + others }, (_, n) => ({ ...plain, url: `https://d${n}.example/` }));
  const events = [created(JOB, found.length), ...checked(JOB, found, BATCH)];
  const open = await apply(documents, events, [events.length]);
  t.is(await (await open(results)).count({}), found.length);
  t.is(await (await open(jobDomains)).count({}), others);
});

test('a deleted job leaves no statistics, also not within one transaction', async (t) => {
  const { documents } = await openTestStores(t);
  // More results than a page holds at once.
  const events = ofManyDomains(FIRST_DOMAINS + 1600);
  const urls = (events[0]!.data as JobCreated).total_urls;
  const ending = [
    recorded(jobStream(JOB), 'JobCancelled', 1, {}),
    recorded(jobStream(JOB), 'JobDeleted', 2, {}),
    recorded(jobStream(JOB), 'ResultsPurged', 3, { from_index: 0, to_index: urls }),
    recorded(jobStream(JOB), 'JobPurged', 4, {}),
  ];
  for (const [generation, sizes] of [[urls + 1], [90, 1]].entries()) {
    const open = await apply(documents, [...events, ...ending], sizes, generation);
    for (const spec of [results, jobStats, jobResponseTimes, jobDomains]) {
      t.deepEqual(await all<Document>(open, spec), [], spec.name);
    }
  }
});

test('a job that expired without a result leaves no statistics when it is deleted', async (t) => {
  const { documents } = await openTestStores(t);
  const none = { domains: { find: async () => [] }, times: { getMany: async () => [] } };
  const expired = { completed_urls: 0, started_at: null, summary: await summaryOf(none, noStats(JOB)) };
  const events = [
    created(JOB, 5),
    recorded(jobStream(JOB), 'JobCancelled', 1, {}),
    recorded(jobStream(JOB), 'ResultsExpired', 2, expired),
    recorded(jobStream(JOB), 'JobDeleted', 3, {}),
  ];
  const open = await apply(documents, events, [3, 1]);
  t.deepEqual(await all(open, jobStats), []);
});

test('the domain of a URL is its host without the port, in lower case, in ASCII', (t) => {
  t.deepEqual(
    ['https://WWW.Example.COM:8443/A', 'http://user@bücher.example', 'http://[2001:DB8::1]:80/', 'no URL'].map(
      domainOf,
    ),
    ['www.example.com', 'xn--bcher-kva.example', '[2001:db8::1]', ''],
  );
});

test('the domain of any URL is the host that the URL parser finds', (t) => {
  const labels = ['', 'co\tm', ...'a www 1 0x1f 1a xn--bcher-kva xn-- xn--a - a-b A ü %61 com'.split(' ')];
  const host = fc.array(fc.constantFrom(...labels), { minLength: 1, maxLength: 5 }).map((parts) => parts.join('.'));
  const urls = fc.tuple(
    fc.constantFrom('http://', 'https://', 'HTTP://', 'http:/', 'ftp://', ' http://'),
    fc.constantFrom('', 'user@', 'a.com:b@'),
    fc.oneof(host, fc.string({ unit: fc.constantFrom(...'ax1.-') }), fc.string({ unit: 'binary' })),
    fc.constantFrom('', '/', '/a.b/', '?a.com/', '#', ':80/', ':x/', '\\a.com/', '@a.com/'),
  );
  fc.assert(
    fc.property(urls, (parts) => {
      const url = parts.join('');
      t.is(domainOf(url), URL.parse(url)?.hostname ?? '', url);
    }),
    { numRuns: 3000 },
  );
});
