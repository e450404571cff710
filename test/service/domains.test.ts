// The administrators' blocklist from outside, what it does to uploads, and how the checked domains are doing.
import test, { type ExecutionContext } from 'ava';
import { until } from '../support/behind.ts';
import { type Descriptions, readDescriptions } from '../support/described.ts';
import { type Answer, startTestService, type TestClient, type TestService } from '../support/service.ts';
import { openSite, type Site } from '../support/sites.ts';

const WHY = { reason: 'The owner asked for it.', block_type: 'legal', error_codes: ['403', '999'] };

let service: TestService;
let described: Descriptions;
let admin: TestClient;
let site: Site;

test.before(async () => {
  [service, site] = await Promise.all([startTestService(), openSite()]);
  described = await readDescriptions(service.url);
  admin = await service.client('admin', { is_admin: true });
});
test.after.always(async () => {
  await service?.stop();
  await site?.close();
});

const block = (body: unknown) => admin.ask('POST', '/domains/blocked', body);
const unblock = (domain: string) => admin.ask('DELETE', `/domains/blocked/${encodeURIComponent(domain)}`);
const list = (query = '') => admin.ask('GET', `/domains/blocked?limit=1000&${query}`);
const listed = async (domain: string) =>
  (await list()).body.items.filter((item: { domain: string }) => item.domain === domain);

function assertDescribed(t: ExecutionContext, method: string, path: string, answer: Answer): void {
  t.is(described.problemOf(method, path, answer), null);
}

test('an administrator puts a domain on the list and takes it off', async (t) => {
  const domain = 'on-and-off.example';
  const blocked = await block({ domain, ...WHY });
  t.is(blocked.status, 201);
  t.like(blocked.body, { domain, ...WHY });
  t.true(Date.now() - Date.parse(blocked.body.added_at) < 60_000);
  assertDescribed(t, 'POST', '/domains/blocked', blocked);
  t.deepEqual(await listed(domain), [blocked.body]);

  const removed = await unblock(domain);
  t.deepEqual([removed.status, removed.body], [200, { removed: true, domain }]);
  assertDescribed(t, 'DELETE', '/domains/blocked/x', removed);
  t.deepEqual(await listed(domain), []);
  const again = await unblock(domain);
  t.deepEqual([again.status, again.body.code], [404, 'domain_not_blocked']);
  assertDescribed(t, 'DELETE', '/domains/blocked/x', again);
});

test('omitted fields of a blocklisted domain have their defaults', async (t) => {
  const { status, body } = await block({ domain: 'plain.example' });
  t.is(status, 201);
  t.like(body, { block_type: 'other', error_codes: [], reason: 'The domain refuses automated checks.' });
});

test('blocking a domain again updates its entry and keeps its time', async (t) => {
  const domain = 'twice.example';
  const first = await block({ domain, ...WHY });
  const same = await block({ domain, ...WHY });
  t.deepEqual([same.status, same.body], [200, first.body]);
  const changed = await block({ domain: 'TWICE.example', ...WHY, reason: 'For another reason.' });
  t.deepEqual([changed.status, changed.body], [200, { ...first.body, reason: 'For another reason.' }]);
  assertDescribed(t, 'POST', '/domains/blocked', changed);
  t.deepEqual(await listed(domain), [changed.body]);
});

test('when many administrators block a domain at once, one of them adds it', async (t) => {
  const answers = await Promise.all(Array.from({ length: 10 }, () => block({ domain: 'race.example', ...WHY })));
  t.deepEqual(answers.map(({ status }) => status).sort(), [...Array(9).fill(200), 201]);
  t.is(new Set(answers.map(({ body }) => body.added_at)).size, 1);
  t.is((await listed('race.example')).length, 1);
});

test('a domain can come back to the list', async (t) => {
  const first = await block({ domain: 'back.example', ...WHY });
  await unblock('back.example');
  const second = await block({ domain: 'back.example' });
  t.is(second.status, 201);
  t.like(second.body, { block_type: 'other', error_codes: [] });
  t.true(second.body.added_at >= first.body.added_at);
});

for (const [written, domain] of [
  ['CASE.Example', 'case.example'],
  [' space.example ', 'space.example'],
  ['dot.example.', 'dot.example'],
  ['*.star.example', 'star.example'],
  ['https://user@url.example:8443/path?x#y', 'url.example'],
  ['port.example:8080', 'port.example'],
  ['grüße.example', 'xn--gre-6ka8l.example'],
  ['127.0.200.1', '127.0.200.1'],
  ['http://[2001:DB8::1]/', '[2001:db8::1]'],
] as const) {
  test(`the list has ${written} as ${domain}, and removes it by either name`, async (t) => {
    t.is((await block({ domain: written })).body.domain, domain);
    t.is((await unblock(written)).status, 200);
    await block({ domain: written });
    t.deepEqual((await unblock(domain)).body, { removed: true, domain });
  });
}

const WRONG: [what: string, body: unknown, loc: unknown[], type: string][] = [
  ['nothing', {}, ['body', 'domain'], 'missing'],
  ['a list', [], ['body'], 'object_type'],
  ['an empty domain', { domain: '' }, ['body', 'domain'], 'minLength'],
  ['a blank domain', { domain: '  ' }, ['body', 'domain'], 'empty'],
  ['a number', { domain: 7 }, ['body', 'domain'], 'string_type'],
  ['two words', { domain: 'two words' }, ['body', 'domain'], 'several_words'],
  ['an address', { domain: 'alice@example.com' }, ['body', 'domain'], 'email_address'],
  ['another scheme', { domain: 'ftp://example.com' }, ['body', 'domain'], 'unsupported_scheme'],
  ['a top-level domain', { domain: 'com' }, ['body', 'domain'], 'no_domain'],
  ['a top-level domain as a wildcard', { domain: '*.com' }, ['body', 'domain'], 'no_domain'],
  ['a top-level domain as a URL', { domain: 'https://com/' }, ['body', 'domain'], 'too_broad'],
  ['everything', { domain: '*' }, ['body', 'domain'], 'no_domain'],
  ['a domain that is too long', { domain: `${'a'.repeat(2100)}.com` }, ['body', 'domain'], 'maxLength'],
  ['a reason that is too long', { domain: 'w.example', reason: 'x'.repeat(501) }, ['body', 'reason'], 'maxLength'],
  ['an empty reason', { domain: 'w.example', reason: '' }, ['body', 'reason'], 'minLength'],
  ['no reason', { domain: 'w.example', reason: null }, ['body', 'reason'], 'string_type'],
  ['a type of several words', { domain: 'w.example', block_type: 'a b' }, ['body', 'block_type'], 'pattern'],
  ['codes that are numbers', { domain: 'w.example', error_codes: [403] }, ['body', 'error_codes', 0], 'string_type'],
  ['codes that are no list', { domain: 'w.example', error_codes: '403' }, ['body', 'error_codes'], 'array_type'],
  ['too many codes', { domain: 'w.example', error_codes: Array(51).fill('x') }, ['body', 'error_codes'], 'maxItems'],
  ['a field that is not known', { domain: 'w.example', added_at: 'now' }, ['body', 'added_at'], 'unexpected'],
];
for (const [what, body, loc, type] of WRONG) {
  test(`the service refuses to block ${what}: ${type}`, async (t) => {
    const answer = await block(body);
    t.is(answer.status, 422, JSON.stringify(answer.body));
    t.deepEqual([answer.body.detail[0].loc, answer.body.detail[0].type], [loc, type]);
    assertDescribed(t, 'POST', '/domains/blocked', answer);
    t.deepEqual(await listed('w.example'), []);
  });
}

for (const domain of ['never.example', 'com', 'two words', 'a/b', '..', 'x'.repeat(300), '%00'.slice(0, 2)]) {
  test(`removing ${JSON.stringify(domain.slice(0, 20))}, which is not on the list, is a 404`, async (t) => {
    const answer = await unblock(domain);
    t.is(answer.status, 404);
    assertDescribed(t, 'DELETE', '/domains/blocked/x', answer);
  });
}

test('a subdomain of a blocklisted domain is not on the list itself', async (t) => {
  await block({ domain: 'above.example' });
  t.is((await unblock('www.above.example')).status, 404);
  t.is((await listed('above.example')).length, 1);
});

test('the list sorts as asked, and has pages', async (t) => {
  const lists = await startTestService();
  try {
    const root = await lists.client('root', { is_admin: true });
    const entries = [
      { domain: 'b.example', reason: 'z', block_type: 'm' },
      { domain: 'c.example', reason: 'x', block_type: 'm' },
      { domain: 'a.example', reason: 'y', block_type: 'l' },
    ];
    for (const entry of entries) await root.ask('POST', '/domains/blocked', entry);
    const order = async (query: string) => {
      const { body } = await root.ask('GET', `/domains/blocked?${query}`);
      return body.items.map((item: { domain: string }) => item.domain[0]).join('');
    };
    t.is(await order(''), 'acb', 'the newest first');
    t.is(await order('sort_order=asc'), 'bca');
    t.is(await order('sort_by=domain&sort_order=asc'), 'abc');
    t.is(await order('sort_by=domain'), 'cba');
    t.is(await order('sort_by=reason&sort_order=asc'), 'cab');
    t.is(await order('sort_by=block_type&sort_order=asc'), 'abc');
    const { body } = await root.ask('GET', '/domains/blocked?limit=1&offset=1');
    t.like(body, { total: 3, limit: 1, offset: 1 });
    t.deepEqual(
      body.items.map((item: { domain: string }) => item.domain),
      ['c.example'],
    );
    const beyond = await root.ask('GET', '/domains/blocked?offset=3');
    t.deepEqual(beyond.body, { items: [], total: 3, limit: 50, offset: 3 });
    assertDescribed(t, 'GET', '/domains/blocked', beyond);
  } finally {
    await lists.stop();
  }
});

const WRONG_QUERIES: [path: string, name: string, type: string][] = [
  ['/domains/blocked?sort_by=added', 'sort_by', 'enum'],
  ['/domains/blocked?sort_by=error_codes', 'sort_by', 'enum'],
  ['/domains/blocked?sort_order=up', 'sort_order', 'enum'],
  ['/domains/blocked?limit=0', 'limit', 'minimum'],
  ['/domains/blocked?limit=1001', 'limit', 'maximum'],
  ['/domains/blocked?offset=-1', 'offset', 'minimum'],
  ['/domains/blocked?page=1', 'page', 'unexpected'],
  ['/domains/health?sort_by=verdicts', 'sort_by', 'enum'],
  ['/domains/health?sort_order=DESC', 'sort_order', 'enum'],
  ['/domains/health?min_checks=-1', 'min_checks', 'minimum'],
  ['/domains/health?min_checks=few', 'min_checks', 'integer_type'],
  ['/domains/health?limit=all', 'limit', 'integer_type'],
  ['/domains/health?domain=example.com', 'domain', 'unexpected'],
  ['/domains/breakdown', 'domain', 'missing'],
  ['/domains/breakdown?domain=', 'domain', 'missing'],
  ['/domains/breakdown?domain=a&domain=b', 'domain', 'repeated'],
  [`/domains/breakdown?domain=${'a'.repeat(2049)}`, 'domain', 'maxLength'],
  ['/domains/breakdown?domain=a%00', 'domain', 'nul'],
];
for (const [path, name, type] of WRONG_QUERIES) {
  test(`the service refuses ${path.slice(0, 60)}: ${type}`, async (t) => {
    const answer = await admin.ask('GET', path);
    t.is(answer.status, 422);
    t.deepEqual([answer.body.detail[0].loc, answer.body.detail[0].type], [['query', name], type]);
    assertDescribed(t, 'GET', path, answer);
  });
}

test('an upload leaves out a domain from its blocking on, until its removal', async (t) => {
  const alice = await service.client('alice');
  const file = `${site.url}/a\nhttp://WWW.Upload.example:81/b\nhttp://upload.example/c\nhttp://upload.example.com/\n`;
  const skipped = async () => {
    const { body } = await alice.ask('POST', '/check-domains', { domains: ['upload.example'] });
    const job = (await alice.upload(file)).body;
    return [job.blocked_urls_skipped, job.total_urls, body.blocked.length];
  };
  for (let round = 0; round < 5; round++) {
    await block({ domain: 'upload.example' });
    t.deepEqual(await skipped(), [2, 2, 1]);
    await unblock('upload.example');
    t.deepEqual(await skipped(), [0, 4, 0]);
  }
});

test('with skip_blocked=false the service checks blocklisted domains', async (t) => {
  const alice = await service.client('insister');
  await block({ domain: '127.0.200.2' });
  const { body: created } = await alice.upload(`http://127.0.200.2:9/a\n${site.url}/insisted\n`, '?skip_blocked=false');
  t.like(created, { total_urls: 2, blocked_urls_skipped: 0 });
  const job = await alice.ended(created.job_id);
  t.like(job, { status: 'completed', completed_urls: 2, credits_allocated: 2 });
  const { body } = await alice.ask('GET', `/jobs/${created.job_id}/results`);
  t.deepEqual(
    body.items.map((item: { verdict: string }) => item.verdict),
    ['unreachable', 'ok'],
  );
});

test('a file of blocklisted domains makes no job', async (t) => {
  const alice = await service.client('none-left');
  await block({ domain: 'all.example' });
  const { status, body } = await alice.upload('https://all.example/a\nhttps://www.all.example/b\n');
  t.is(status, 422);
  t.like(body.detail[0], { type: 'no_urls', msg: 'There is no URL to check: 0 invalid, 2 of blocklisted domains.' });
  t.is((await alice.ask('GET', '/users/me/credits')).body.credit_balance, 300);
});

test('intake adds no prefix when told so, and refuses invalid URLs when told so', async (t) => {
  const alice = await service.client('chooser');
  const file = 'http://127.0.0.1:9/a\n127.0.0.1:9/b\nno url\n';
  t.like((await alice.upload(file)).body, { total_urls: 2, invalid_urls_rejected: 1 });
  t.like((await alice.upload(file, '?auto_add_prefix=false')).body, { total_urls: 1, invalid_urls_rejected: 2 });
  const refused = await alice.upload(file, '?skip_invalid=false');
  t.is(refused.status, 422);
  t.deepEqual(
    refused.body.detail.map((problem: { loc: unknown[]; type: string }) => [problem.loc.at(-1), problem.type]),
    [
      ['file', 'invalid_rows'],
      [3, 'several_words'],
    ],
  );
  const both = await alice.upload(file, '?skip_invalid=false&auto_add_prefix=false');
  t.deepEqual(
    both.body.detail.slice(1).map((problem: { loc: unknown[]; type: string }) => [problem.loc.at(-1), problem.type]),
    [
      [2, 'prefix_missing'],
      [3, 'several_words'],
    ],
  );
});

test('the public API leaves out URLs of blocklisted domains, and counts them', async (t) => {
  const key = await service.keyHolder('lister');
  await block({ domain: 'list.example' });
  const urls = [`${site.url}/v2`, 'https://list.example/', 'https://a.list.example/', 'https://list.example/'];
  const created = await key.ask('POST', '/api/v2/jobs', { urls });
  t.is(created.status, 201);
  t.like(created.body, { total_urls: 1, credits_allocated: 1, blocked_urls_skipped: 3 });
});

test('the health of a domain covers all jobs, with a breakdown', async (t) => {
  const health = await startTestService();
  const two = await openSite();
  try {
    const [alice, bob, root] = await Promise.all([
      health.client('alice'),
      health.client('bob'),
      health.client('root', { is_admin: true }),
    ]);
    const check = async (client: TestClient, urls: string[]) => {
      const { body } = await client.upload(urls.join('\n'));
      t.is((await client.ended(body.job_id)).status, 'completed');
    };
    const good = ['/a', '/b', '/c', '/d', '/e', '/f'].map((path) => `${two.url}${path}`);
    await check(alice, [...good, `${two.url}/status/404`, `${two.url}/status/404?again`]);
    await check(bob, [`${two.url}/status/500`, `${two.url}/g`, 'http://127.0.200.3:9/x', 'http://127.0.200.3:9/y']);
    await root.ask('POST', '/domains/blocked', { domain: '127.0.200.3' });

    const ask = async (query: string) => {
      const answer = await root.ask('GET', `/domains/health?${query}`);
      assertDescribed(t, 'GET', '/domains/health', answer);
      return answer.body;
    };
    // Counted when the job has ended.
    await until(async () => (await ask('min_checks=10')).total === 1 && (await ask('min_checks=0')).total === 2);
    const all = await ask('min_checks=0');
    t.like(all, { total: 2, limit: 50, offset: 0 });
    const [worst, best] = all.items;
    t.like(worst, {
      ...{ domain: '127.0.200.3', checks: 2, failures: 2, failure_rate: 1, blocked_count: 0 },
      ...{ avg_response_time_ms: null, status: 'failing', is_blocked: true },
    });
    t.like(best, {
      ...{ domain: '127.0.0.1', checks: 10, failures: 3, failure_rate: 0.3, blocked_count: 0 },
      ...{ status: 'degraded', is_blocked: false },
    });
    t.true(best.avg_response_time_ms >= 0 && Date.now() - Date.parse(best.last_checked_at) < 60_000);

    const domains = async (query: string) => (await ask(query)).items.map((item: { domain: string }) => item.domain);
    t.deepEqual(await domains(''), ['127.0.0.1'], 'at least ten checks unless told');
    t.deepEqual(await domains('min_checks=11'), []);
    for (const [sort_by, first] of Object.entries({
      ...{ failure_rate: '127.0.200.3', checks: '127.0.0.1', failures: '127.0.0.1', domain: '127.0.200.3' },
      ...{ avg_response_time_ms: '127.0.0.1', last_checked_at: null, blocked_count: null },
    })) {
      const down = await domains(`min_checks=1&sort_by=${sort_by}`);
      const up = await domains(`min_checks=1&sort_by=${sort_by}&sort_order=asc`);
      t.deepEqual(up, sort_by === 'avg_response_time_ms' ? down : down.toReversed(), sort_by);
      if (first !== null) t.is(down[0], first, sort_by);
    }
    t.deepEqual(await domains('min_checks=1&limit=1&offset=1'), ['127.0.0.1']);

    const of_good = await root.ask('GET', `/domains/breakdown?domain=${encodeURIComponent(two.url)}`);
    assertDescribed(t, 'GET', '/domains/breakdown', of_good);
    const { status_codes, error_codes, verdicts, ...rest } = of_good.body;
    t.deepEqual(rest, best);
    t.deepEqual(status_codes, [
      { status_code: 200, count: 7 },
      { status_code: 404, count: 2 },
      { status_code: 500, count: 1 },
    ]);
    t.deepEqual(error_codes, []);
    t.deepEqual(verdicts, [
      { verdict: 'ok', count: 7 },
      { verdict: 'broken', count: 3 },
    ]);
    t.like((await root.ask('GET', '/domains/breakdown?domain=127.0.200.3')).body, {
      status_codes: [{ status_code: null, count: 2 }],
      error_codes: [{ error_code: 'connection_refused', count: 2 }],
      verdicts: [{ verdict: 'unreachable', count: 2 }],
    });
  } finally {
    await health.stop();
    await two.close();
  }
});

for (const domain of ['never-checked.example', 'localhost', 'no domain at all', '%', 'a@b']) {
  test(`there is no breakdown of ${domain}: 404`, async (t) => {
    const answer = await admin.ask('GET', `/domains/breakdown?domain=${encodeURIComponent(domain)}`);
    t.deepEqual([answer.status, answer.body.code], [404, 'domain_not_found']);
    assertDescribed(t, 'GET', '/domains/breakdown', answer);
  });
}
