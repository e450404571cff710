// The options of a job reach its checks, and nobody else's.
import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import test from 'ava';
import { startTestService, type TestService } from '../support/service.ts';
import { openSite, page, type Site } from '../support/sites.ts';

let service: TestService;
let site: Site;
const seen: { path: string; headers: IncomingHttpHeaders; at: number }[] = [];
test.before(async () => {
  service = await startTestService({ CHECKER_RETRIES: '1' });
  site = await openSite((request, response) => {
    const path = request.url ?? '';
    seen.push({ path, headers: request.headers, at: performance.now() });
    const away = /^\/to\/(.*)/.exec(path)?.[1];
    if (away === undefined) return page(request, response);
    response.writeHead(302, { location: decodeURIComponent(away) }).end();
  });
});
test.after.always(async () => {
  await service?.stop();
  await site?.close();
});

async function checked(urls: string[], options?: object) {
  const client = await service.keyHolder(`user-${randomUUID()}`);
  const made = await client.ask('POST', '/api/v2/jobs', { urls, ...(options && { options }) });
  if (made.status !== 201) throw new Error(JSON.stringify(made.body));
  const job = await client.ended(made.body.job_id);
  const { body } = await client.ask('GET', `/api/v2/jobs/${job.job_id}/results`);
  return { job, results: body.results, asked: (part: string) => seen.filter(({ path }) => path.includes(part)) };
}

test('an accepted status code is not broken, for that job alone', async (t) => {
  const urls = [`${site.url}/status/403?a`, `${site.url}/status/404?a`, `${site.url}/status/503?a`];
  const accepting = await checked(urls, { accept_status_codes: [403, 503] });
  t.deepEqual(
    accepting.results.map(({ verdict, is_broken, status_code }: Record<string, unknown>) => [
      verdict,
      is_broken,
      status_code,
    ]),
    [
      ['ok', false, 403],
      ['broken', true, 404],
      ['ok', false, 503],
    ],
  );
  const usual = await checked([`${site.url}/status/403?b`]);
  t.like(usual.results[0], { verdict: 'broken', is_broken: true });
});

test('headers go to the hosts that are named, not where these redirect, and answers show their names alone', async (t) => {
  const mark = randomUUID();
  const other = site.url.replace('127.0.0.1', '127.0.0.2');
  const secret = `Bearer ${randomUUID()}`;
  const options = {
    headers: [{ host: '127.0.0.1', headers: { authorization: secret, 'accept-language': 'de' } }],
    user_agent_suffix: 'acme/2',
  };
  const { job, asked } = await checked(
    [`${site.url}/${mark}`, `${site.url}/to/${encodeURIComponent(`${other}/${mark}/there`)}`],
    options,
  );
  const [mine] = asked(`/${mark}`).filter(({ path }) => path === `/${mark}`);
  t.is(mine?.headers.authorization, secret);
  t.is(mine?.headers['accept-language'], 'de');
  t.regex(mine?.headers['user-agent'] ?? '', / acme\/2$/);
  for (const { headers } of asked('there').filter(({ headers }) => headers.host?.startsWith('127.0.0.2'))) {
    t.is(headers.authorization, undefined);
    t.regex(headers['user-agent'] ?? '', / acme\/2$/);
  }
  t.deepEqual(job.options, {
    headers: [{ host: '127.0.0.1', names: ['authorization', 'accept-language'] }],
    user_agent_suffix: 'acme/2',
  });
  for (const name of await readdir(service.data_dir)) {
    if (!name.includes('.db')) continue;
    t.false((await readFile(join(service.data_dir, name))).includes(secret), `${name} has the secret in clear`);
  }
  const [others] = (await checked([`${site.url}/${mark}/other`])).asked(`${mark}/other`);
  t.is(others?.headers.authorization, undefined);
});

test('headers that say how a request is sent are refused', async (t) => {
  const client = await service.keyHolder(`user-${randomUUID()}`);
  for (const name of [
    'host',
    'connection',
    'content-length',
    'transfer-encoding',
    'Authorization',
    'x y',
    'user-agent',
  ]) {
    const options = { headers: [{ host: 'a.example', headers: { [name]: 'x' } }] };
    t.is((await client.ask('POST', '/api/v2/jobs', { urls: [site.url], options })).status, 422, name);
  }
  const options = { headers: [{ host: 'a.example', headers: { 'x-a': 'b\r\nx-c: d' } }] };
  t.is((await client.ask('POST', '/api/v2/jobs', { urls: [site.url], options })).status, 422);
});

test('a URL is asked for once where the job wants no second look, and twice where it does', async (t) => {
  const path = `/status/503?${randomUUID()}`;
  const once = await checked([`${site.url}${path}`], { look_twice: false });
  t.is(once.asked(path).length, 1);
  t.is(once.results[0].attempts, 1);
  const twice = await checked([`${site.url}${path}2`]);
  t.is(twice.results[0].attempts, 2);
});

test('a job keeps its own pace to a host, while others continue there', async (t) => {
  const mark = randomUUID();
  const paced = checked(
    Array.from({ length: 4 }, (_, n) => `${site.url}/${mark}/${n}`),
    { host_gap_ms: 300 },
  );
  const free = await checked(Array.from({ length: 20 }, (_, n) => `${site.url}/free-${mark}/${n}`));
  t.is(free.results.length, 20);
  const { asked } = await paced;
  const times = asked(`/${mark}/`)
    .map(({ at }) => at)
    .sort((a, b) => a - b);
  t.is(times.length, 4);
  // Three gaps; the first request may have been late.
  t.true(times.at(-1)! - times[0]! >= 800, `${times.at(-1)! - times[0]!} ms`);
});
