// A job as a whole, from outside: its statistics, what its results can be filtered by, and the list of its URLs.
import test from 'ava';
import * as routes from '../../http/results/job-stats.ts';
import { jobsBy, startSample, until } from '../http/sample-app.ts';
import { type Answer, answerOf, startTestService, type TestService } from '../support/service.ts';
import { openSite, page, type Site } from '../support/sites.ts';

let service: TestService;
let site: Site;

test.before(async () => {
  [service, site] = await Promise.all([
    startTestService({ SIGNUP_CREDITS: '10000' }),
    openSite((request, response) => {
      if (!request.url?.startsWith('/redirect')) return page(request, response);
      response.writeHead(302, { location: '/target' }).end();
    }),
  ]);
});
test.after.always(async () => {
  await service?.stop();
  await site?.close();
});

/** Without credentials; sees what was answered with `after`. */
async function ask(path: string, after?: Answer): Promise<Answer> {
  const position = after?.headers.get('x-log-position');
  return answerOf(await fetch(service.url + path, { headers: position ? { 'x-log-position': position } : {} }));
}

async function checkedJob(user_id: string, urls: readonly string[]): Promise<string> {
  const client = await service.client(user_id);
  const { body } = await client.upload(urls.join('\n'));
  const job = await client.ended(body.job_id);
  if (job.completed_urls !== urls.length) throw new Error(JSON.stringify(job));
  return job.job_id;
}

const paths = ['/a', '/b', '/redirect', '/status/404', '/status/404?again', '/status/503'];
/** Nobody listens there. */
const dead = ['http://127.0.0.2:9/x', 'http://127.0.0.2:9/y'];

test('statistics and filter options count every result of a job', async (t) => {
  const job_id = await checkedJob('counter', [...paths.map((path) => site.url + path), ...dead]);
  const { status, body } = await ask(`/jobs/${job_id}/stats`);
  t.is(status, 200);
  const {
    error_codes,
    response_times_ms: { histogram, ...response_times_ms },
    ...counts
  } = body;
  t.deepEqual(counts, {
    job_id,
    total_urls: 8,
    completed_urls: 8,
    status_codes: { 200: 3, 404: 2, 503: 1, none: 2 },
    status_groups: { '2xx': 3, '3xx': 0, '4xx': 2, '5xx': 1, broken: 5, unreachable: 2 },
    verdicts: { ok: 2, redirected: 1, broken: 3, soft_404: 0, blocked: 0, unreachable: 2 },
    redirected_urls: 1,
    soft_404_urls: 0,
    domains: [
      { domain: '127.0.0.1', count: 6, broken: 3 },
      { domain: '127.0.0.2', count: 2, broken: 2 },
    ],
    domains_total: 2,
  });
  t.is(error_codes.connection_refused, 2);
  t.is(error_codes.dns_failed, 0);

  const { items } = (await ask(`/jobs/${job_id}/results`)).body;
  const times: number[] = items.flatMap((result: { response_time_ms: number | null }) => result.response_time_ms ?? []);
  times.sort((a, b) => a - b);
  const mean = Math.round((times.reduce((sum, ms) => sum + ms) / 6) * 10) / 10;
  const [min, , p50, , , max] = times;
  t.deepEqual(response_times_ms, { measured: 6, min, max, mean, p50, p90: max, p95: max, p99: max });
  const counted = histogram.map(({ below_ms, count }: { below_ms: number; count: number }, n: number) => {
    const from = n === 0 ? 0 : below_ms / 2;
    return count === times.filter((ms) => ms >= from && ms < below_ms).length;
  });
  t.true(counted.length > 0 && counted.every(Boolean));

  const options = await ask(`/jobs/${job_id}/filter-options`);
  t.deepEqual(options.body, {
    status_codes: [
      { status_code: 200, count: 3 },
      { status_code: 404, count: 2 },
      { status_code: 503, count: 1 },
      { status_code: null, count: 2 },
    ],
    status_groups: [
      { status_group: '2xx', count: 3 },
      { status_group: '4xx', count: 2 },
      { status_group: '5xx', count: 1 },
      { status_group: 'broken', count: 5 },
      { status_group: 'unreachable', count: 2 },
    ],
    domains: body.domains,
    domains_total: 2,
  });
});

test('each filter option finds as many results as its count', async (t) => {
  const job_id = await checkedJob('filterer', [...paths.map((path) => site.url + path), ...dead]);
  const { body: options } = await ask(`/jobs/${job_id}/filter-options`);
  const total = async (query: string) => (await ask(`/jobs/${job_id}/results?${query}`)).body.total;
  for (const { status_code, count } of options.status_codes) {
    t.is(await total(status_code === null ? 'status_group=unreachable' : `status_codes=${status_code}`), count);
  }
  for (const { status_group, count } of options.status_groups) t.is(await total(`status_group=${status_group}`), count);
  for (const { domain, count } of options.domains) t.is(await total(`url_contains=//${domain}`), count);
});

test('the counts of an unchecked job are zero', async (t) => {
  const client = await service.client('waiting');
  const held = await openSite(() => {});
  t.teardown(() => held.close());
  const created = await client.upload(`${held.url}/never\n`);
  const { job_id } = created.body;
  const { body } = await ask(`/jobs/${job_id}/stats`, created);
  t.like(body, { total_urls: 1, completed_urls: 0, status_codes: {}, domains: [], domains_total: 0 });
  t.like(body.response_times_ms, { measured: 0, min: null, mean: null, p50: null, p99: null });
  const options = await ask(`/jobs/${job_id}/filter-options`);
  t.deepEqual(options.body, { status_codes: [], status_groups: [], domains: [], domains_total: 0 });
  await client.ask('POST', `/jobs/${job_id}/cancel`);
});

test('the list has the submitted URLs, one a line, in order', async (t) => {
  const urls = Array.from({ length: 2500 }, (_, n) => `${site.url}/list/${n}#part-${n}`);
  const client = await service.client('lister');
  const created = await client.upload(urls.join('\n'));
  const { job_id } = created.body;
  const { status, headers, body } = await ask(`/jobs/${job_id}/url-list`, created);
  t.is(status, 200);
  t.is(headers.get('content-type'), 'text/plain; charset=utf-8');
  t.deepEqual((body as string).split('\n'), urls);
  await client.ask('POST', `/jobs/${job_id}/cancel`);
});

test('a missing job is 404', async (t) => {
  for (const what of ['stats', 'filter-options', 'url-list']) {
    for (const id of ['00000000-0000-4000-8000-000000000000', 'nothing', '..%2f']) {
      const { status, body } = await ask(`/jobs/${id}/${what}`);
      t.deepEqual([status, body.code], [404, 'job_not_found'], `${id}/${what}`);
    }
  }
});

/** The route over a listing without an end. */
async function endlessList() {
  const seen = { chunks: 0, closed: false };
  const services = {
    async *urls() {
      try {
        for (;;) {
          seen.chunks++;
          yield Array.from({ length: 1000 }, (_, n) => `https://example.com/${seen.chunks}/${n}`);
        }
      } finally {
        seen.closed = true;
      }
    },
  } as unknown as routes.Deps;
  return { seen, sample: await startSample([routes.urlList], services, { jobs: jobsBy(() => ({})) }) };
}

test('the service reads the list of URLs at the pace of its client, and stops when it leaves', async (t) => {
  const { seen, sample } = await endlessList();
  t.teardown(() => sample.close());
  const leaving = new AbortController();
  const response = await sample.request('/jobs/any/url-list', { signal: leaving.signal });
  const reader = response.body!.getReader();
  await reader.read();
  // What the sockets hold fills up; then the service has time for others, and reads nothing more for this one.
  await until(async () => {
    const before = seen.chunks;
    for (let n = 0; n < 20; n++) await (await sample.request('/healthz')).text();
    return seen.chunks === before;
  });
  t.true(seen.chunks < 2000, `${seen.chunks} chunks were read for a client that takes none`);
  t.false(seen.closed);
  leaving.abort();
  await until(() => seen.closed);
  await t.throwsAsync(reader.read());
});

test('a list of URLs that is removed while it is read breaks off', async (t) => {
  const services = {
    async *urls() {
      yield ['https://a.example/', 'https://b.example/'];
    },
  } as unknown as routes.Deps;
  const jobs = jobsBy((total) => ({ total_urls: Number(total) }));
  const sample = await startSample([routes.urlList], services, { jobs });
  t.teardown(() => sample.close());
  t.is(await (await sample.request('/jobs/2/url-list')).text(), 'https://a.example/\nhttps://b.example/');
  await t.throwsAsync(async () => (await sample.request('/jobs/3/url-list')).text());
});
