// Shares from outside: made and revoked by the owner, looked at by anybody who has the link.
import test from 'ava';
import { startTestService, type TestClient, type TestService } from '../support/service.ts';
import { openSite, type Site } from '../support/sites.ts';

let service: TestService;
let site: Site;

test.before(async () => {
  [service, site] = await Promise.all([startTestService(), openSite()]);
});
test.after.always(async () => {
  await service?.stop();
  await site?.close();
});

async function checked(client: TestClient, paths: readonly string[]): Promise<string> {
  const { body } = await client.upload(paths.map((path) => `${site.url}${path}\n`).join(''));
  await client.ended(body.job_id);
  return body.job_id;
}

/** As somebody without credentials. */
async function look(token: string, query = '') {
  const response = await fetch(`${service.url}/share/${token}${query}`);
  return { status: response.status, body: JSON.parse(await response.text()) };
}

test('a link shows the job, its statistics and its results, and nothing of its owner', async (t) => {
  const alice = await service.client('sharer');
  const job_id = await checked(alice, ['/a', '/b', '/status/404', '/status/503']);
  const made = await alice.ask('POST', `/jobs/${job_id}/share`);
  t.is(made.status, 201);
  t.regex(made.body.token, /^[\w-]{43}$/);
  t.is(made.body.expires_at, null);
  t.is(made.body.url, `${service.url}/share/${made.body.token}`);

  const { status, body } = await look(made.body.token);
  t.is(status, 200);
  t.deepEqual(Object.keys(body.job).sort(), [
    'completed_at',
    'completed_urls',
    'created_at',
    'started_at',
    'status',
    'total_urls',
  ]);
  t.like(body.job, { status: 'completed', total_urls: 4, completed_urls: 4 });
  t.like(body.stats, { checked_urls: 4, broken_urls: 2 });
  t.like(body.stats.status_groups, { '2xx': 2, '4xx': 1, '5xx': 1, unreachable: 0 });
  t.deepEqual([body.total, body.limit, body.offset, body.items.length], [4, 50, 0, 4]);
  const told = JSON.stringify(body);
  for (const secret of ['sharer', '@', job_id, 'uploads/', 'credits', 'urls.csv'])
    t.false(told.includes(secret), secret);
});

test('the results of a link are paged and filtered', async (t) => {
  const alice = await service.client('pager');
  const job_id = await checked(alice, ['/a', '/b', '/c', '/status/404', '/status/503']);
  const { token } = (await alice.ask('POST', `/jobs/${job_id}/share`, {})).body;
  const found = async (query: string) => {
    const { body } = await look(token, query);
    return [body.total, ...body.items.map(({ url }: { url: string }) => url.slice(site.url.length))];
  };
  t.deepEqual(await found('?limit=2&offset=1'), [5, '/b', '/c']);
  t.deepEqual(await found('?non_2xx=true'), [2, '/status/404', '/status/503']);
  t.deepEqual(await found('?status_codes=503'), [1, '/status/503']);
  t.deepEqual(await found('?url_contains=STATUS&limit=1'), [2, '/status/404']);
  t.deepEqual(await found('?utm_source=mail&fbclid=x&non_2xx=true&limit=1'), [2, '/status/404'], 'as networks link');
});

test('the list of shares has their uses, and no tokens', async (t) => {
  const alice = await service.client('lister');
  const job_id = await checked(alice, ['/a']);
  const first = (await alice.ask('POST', `/jobs/${job_id}/share`)).body;
  const second = (await alice.ask('POST', `/jobs/${job_id}/share`, { expires_in_hours: 1 })).body;
  t.is(Date.parse(second.expires_at) - Date.parse(second.created_at), 3_600_000);
  for (let n = 0; n < 3; n++) await look(first.token);
  await look(first.token, '?limit=0');
  const { status, body } = await alice.ask('GET', `/jobs/${job_id}/shares`);
  t.is(status, 200);
  t.is(body.total, 2);
  t.deepEqual(
    body.items.map((share: { id: string; use_count: number; status: string }) => [
      share.id,
      share.use_count,
      share.status,
    ]),
    [
      [second.id, 0, 'active'],
      [first.id, 3, 'active'],
    ],
  );
  t.truthy(body.items[1].last_used_at);
  t.false(JSON.stringify(body).includes(first.token));
});

test('a link is a 404 at once after its revocation, by token or by id', async (t) => {
  const alice = await service.client('revoker');
  const job_id = await checked(alice, ['/a']);
  const made = async () => (await alice.ask('POST', `/jobs/${job_id}/share`)).body;
  const [by_token, by_id, kept] = [await made(), await made(), await made()];
  const revoked = await alice.ask('DELETE', `/jobs/${job_id}/share/${by_token.token}`);
  t.deepEqual([revoked.status, revoked.body], [204, '']);
  t.is((await look(by_token.token)).status, 404);
  t.is((await alice.ask('DELETE', `/jobs/${job_id}/share/${by_id.id}`)).status, 204);
  t.is((await look(by_id.token)).status, 404);
  t.is((await alice.ask('DELETE', `/jobs/${job_id}/share/${by_token.token}`)).status, 204);
  t.is((await look(kept.token)).status, 200);
  const { body } = await alice.ask('GET', `/jobs/${job_id}/shares`);
  t.deepEqual(
    body.items.map((share: { status: string }) => share.status),
    ['active', 'revoked', 'revoked'],
  );
});

test('unknown, malformed and revoked tokens get the same answer, and an id is no token', async (t) => {
  const alice = await service.client('guesser');
  const job_id = await checked(alice, ['/a']);
  const share = (await alice.ask('POST', `/jobs/${job_id}/share`)).body;
  const revoked = (await alice.ask('POST', `/jobs/${job_id}/share`)).body;
  await alice.ask('DELETE', `/jobs/${job_id}/share/${revoked.id}`);
  const answers = await Promise.all(
    ['A'.repeat(43), 'x', '%00', share.id, job_id, revoked.token].map((one) => look(one)),
  );
  const [nul] = answers.splice(2, 1);
  t.is(nul!.status, 422);
  for (const answer of answers) {
    t.deepEqual(answer, {
      status: 404,
      body: { detail: 'There is no such shared job.', code: 'share_not_found' },
    });
  }
});

test('shares belong to the owner of their job', async (t) => {
  const [alice, bob, admin] = await Promise.all([
    service.client('mine'),
    service.client('theirs'),
    service.client('root', { is_admin: true }),
  ]);
  const [mine, other] = [await checked(alice, ['/a']), await checked(alice, ['/b'])];
  const theirs = await checked(bob, ['/c']);
  const share = (await alice.ask('POST', `/jobs/${mine}/share`)).body;
  for (const stranger of [bob, admin]) {
    t.is((await stranger.ask('POST', `/jobs/${mine}/share`)).status, 404);
    t.is((await stranger.ask('GET', `/jobs/${mine}/shares`)).status, 404);
    t.is((await stranger.ask('DELETE', `/jobs/${mine}/share/${share.token}`)).status, 404);
  }
  // Nor is it a way round that the job in the path is one's own.
  t.is((await bob.ask('DELETE', `/jobs/${theirs}/share/${share.token}`)).status, 404);
  t.is((await alice.ask('DELETE', `/jobs/${other}/share/${share.id}`)).body.code, 'share_not_found');
  t.is((await look(share.token)).status, 200);
});

test('deleting a job deletes its shares', async (t) => {
  const alice = await service.client('deleter');
  const job_id = await checked(alice, ['/a']);
  const { token } = (await alice.ask('POST', `/jobs/${job_id}/share`)).body;
  t.is((await look(token)).status, 200);
  t.true((await alice.ask('DELETE', `/jobs/${job_id}`)).status < 300);
  t.is((await look(token)).status, 404);
});

test('the service refuses wrong requests, which create no share', async (t) => {
  const alice = await service.client('wrong');
  const job_id = await checked(alice, ['/a']);
  const bodies = [
    { expires_in_hours: 0 },
    { expires_in_hours: 8761 },
    { expires_in_hours: 1.5 },
    { expires_in_hours: '1' },
    { expires_in_hours: null },
    { expires_in: 1 },
    [],
  ];
  for (const body of bodies) {
    t.is((await alice.ask('POST', `/jobs/${job_id}/share`, body)).status, 422, JSON.stringify(body));
  }
  t.is((await alice.ask('GET', `/jobs/${job_id}/shares`)).body.total, 0);
  const { token } = (await alice.ask('POST', `/jobs/${job_id}/share`)).body;
  for (const query of ['limit=100000', 'limit=0', 'offset=-1', 'status_codes=abc', 'non_2xx=x']) {
    t.is((await look(token, `?${query}`)).status, 422, query);
  }
  // The form of the page sends fields that are left empty.
  t.is((await look(token, '?url_contains=&status_codes=')).status, 200);
});

test('a job has at most a hundred shares, and a revocation makes room', async (t) => {
  const alice = await service.client('generous');
  const job_id = await checked(alice, ['/a']);
  const make = () => alice.ask('POST', `/jobs/${job_id}/share`);
  let last = await make();
  for (let n = 1; n < 100; n++) last = await make();
  const refused = await make();
  t.deepEqual([refused.status, refused.body.code], [409, 'too_many_shares']);
  await alice.ask('DELETE', `/jobs/${job_id}/share/${last.body.id}`);
  t.is((await make()).status, 201);
});
