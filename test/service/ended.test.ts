// What was ended works no more, from the next request on: sessions of browsers, API keys and shares, also while no projector is there, and
// all of a user whom the identity provider deleted.
import test, { type ExecutionContext } from 'ava';
import { Webhook } from 'standardwebhooks';
import { issueLocalCode } from '../../adapters/identity/index.ts';
import { type Answer, answerOf, startTestService, type TestService } from '../support/service.ts';

const WEBHOOK_SECRET = `whsec_${Buffer.alloc(24, 'k').toString('base64')}`;
let service: TestService;
test.before(async () => {
  service = await startTestService({ IDENTITY_WEBHOOK_SECRET: WEBHOOK_SECRET });
});
test.after.always(() => service?.stop());

interface Browser {
  ask(method: string, path: string): Promise<Answer>;
}

/** A browser that a one-time link has signed in. */
async function signIn(
  t: ExecutionContext,
  user_id: string,
  { is_admin = false } = {},
  at: Pick<TestService, 'data_dir' | 'url'> = service,
): Promise<Browser> {
  const code = await issueLocalCode(at.data_dir, { user_id, email: null, is_admin, hours: 1 });
  const headers = { 'content-type': 'application/json' };
  const begun = await fetch(`${at.url}/console/session`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ code }),
  });
  t.is(begun.status, 204);
  const cookie = begun.headers.get('set-cookie')!.split(';')[0]!;
  return {
    ask: async (method, path) =>
      answerOf(await fetch(`${at.url}${path}`, { method, headers: { cookie, 'x-console': '1' } })),
  };
}

async function deleteAtProvider(t: ExecutionContext, user_id: string): Promise<void> {
  const body = JSON.stringify({ type: 'user.deleted', data: { id: user_id } });
  const now = new Date();
  const signature = new Webhook(WEBHOOK_SECRET).sign('msg_1', now, body);
  const headers = {
    ...{ 'webhook-id': 'msg_1', 'webhook-timestamp': String(Math.floor(now.getTime() / 1000)) },
    ...{ 'webhook-signature': signature },
  };
  const told = await fetch(`${service.url}/internal/identity-webhook`, { method: 'POST', headers, body });
  t.is(told.status, 204);
}

test('users see their sessions and end one, or all', async (t) => {
  const [first, second] = [await signIn(t, 'alice'), await signIn(t, 'alice')];
  const other = await signIn(t, 'bob');
  const listed = await first.ask('GET', '/users/me/sessions');
  const { items, total } = listed.body as { items: { id: string; is_current: boolean }[]; total: number };
  t.is(total, 2);
  t.deepEqual(
    items.map(({ is_current }) => is_current),
    [false, true],
  );
  t.is((await other.ask('DELETE', `/users/me/sessions/${items[0]!.id}`)).status, 404, "nobody ends another's");
  t.is((await second.ask('GET', '/users/me')).status, 200);
  t.is((await first.ask('DELETE', `/users/me/sessions/${items[0]!.id}`)).status, 204);
  t.is((await second.ask('GET', '/users/me')).status, 401);
  t.is((await first.ask('DELETE', `/users/me/sessions/${items[0]!.id}`)).status, 204, 'again');
  t.is((await first.ask('GET', '/users/me/sessions')).body.total, 1);
  t.is((await first.ask('DELETE', '/users/me/sessions')).status, 204);
  t.is((await first.ask('GET', '/users/me')).status, 401);
  t.is((await other.ask('GET', '/users/me')).status, 200);
});

test('administrators see the sessions of a user, and end them', async (t) => {
  const carol = await signIn(t, 'carol');
  const root = await service.client('root', { is_admin: true });
  const path = '/admin/users/carol/sessions';
  t.is((await carol.ask('GET', path)).status, 403);
  t.is((await root.ask('GET', path)).body.total, 1);
  t.is((await root.ask('DELETE', path)).status, 204);
  t.is((await carol.ask('GET', '/users/me')).status, 401);
  t.is((await root.ask('GET', path)).body.total, 0);
  t.is((await root.ask('DELETE', path)).status, 204, 'again, where there is nothing to end');
  const trail = (await root.ask('GET', '/admin/audit-trail?user_id=carol')).body.items as object[];
  t.is(trail.length, 1);
  t.like(trail[0], { action: 'sessions_ended', admin_id: 'root', user_id: 'carol' });
});

test('all sessions end at once, also while no projector knows of them, by their user or by an administrator', async (t) => {
  const alone = await startTestService({ ROLES: 'http' });
  t.teardown(() => alone.stop());
  const browsers = await Promise.all([1, 2, 3].map(() => signIn(t, 'gina', {}, alone)));
  const other = await signIn(t, 'hans', {}, alone);
  const root = await alone.client('root', { is_admin: true });
  // Whoever is signed in learns that no read models are there yet.
  const areIn = () =>
    Promise.all([...browsers, other].map(async (one) => (await one.ask('GET', '/users/me')).status === 503));
  t.deepEqual(await areIn(), [true, true, true, true]);
  t.is((await browsers[0]!.ask('DELETE', '/users/me/sessions')).status, 204);
  t.deepEqual(await areIn(), [false, false, false, true]);
  browsers.splice(0, 3, await signIn(t, 'gina', {}, alone));
  t.deepEqual(await areIn(), [true, true], 'a session that begins after it');
  t.is((await root.ask('DELETE', '/admin/users/gina/sessions')).status, 204);
  t.deepEqual(await areIn(), [false, true]);
});

test('a session of an administrator ends with the role', async (t) => {
  const admin = await signIn(t, 'dora', { is_admin: true });
  t.is((await admin.ask('GET', '/admin/users')).status, 200);
  const demoted = await service.client('dora');
  t.is((await demoted.ask('GET', '/users/me')).status, 200);
  t.is((await admin.ask('GET', '/admin/users')).status, 401);
  t.is((await admin.ask('GET', '/users/me')).status, 401);
});

test('a user whom the provider deleted has no session, token, key or share from then on, and makes no key', async (t) => {
  const browser = await signIn(t, 'erin');
  const [erin, key] = [await service.client('erin'), await service.keyHolder('erin')];
  const { body: job } = await erin.upload('http://127.0.0.1:9/a\n');
  await erin.ended(job.job_id);
  const { body: share } = await erin.ask('POST', `/jobs/${job.job_id}/share`);
  const { body: link } = await erin.ask('GET', `/jobs/${job.job_id}/download`);
  const looked = async () => [
    (await browser.ask('GET', '/users/me')).status,
    (await erin.ask('GET', '/users/me')).status,
    (await key.ask('GET', '/api/v2/usage')).status,
    (await fetch(share.url)).status,
    (await fetch(link.url)).status,
  ];
  t.deepEqual(await looked(), [200, 200, 200, 200, 200]);
  await deleteAtProvider(t, 'erin');
  t.deepEqual(await looked(), [401, 401, 401, 404, 404]);
  t.is((await erin.ask('POST', '/users/me/api-keys', { name: 'late' })).status, 401);
  const code = await issueLocalCode(service.data_dir, { user_id: 'erin', email: null, is_admin: false, hours: 1 });
  const headers = { 'content-type': 'application/json' };
  const begun = await fetch(`${service.url}/console/session`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ code }),
  });
  t.is(begun.status, 401);
});

test('keys and shares that are revoked while no projector runs stop working', async (t) => {
  const whole = await startTestService();
  const [frank, key] = [await whole.client('frank'), await whole.keyHolder('frank')];
  const { body: job } = await frank.upload('http://127.0.0.1:9/a\n');
  await frank.ended(job.job_id);
  const [kept, revoked, of_deleted] = await Promise.all(
    ['kept', 'revoked', 'of a deleted job'].map(
      async () => (await frank.ask('POST', `/jobs/${job.job_id}/share`)).body,
    ),
  );
  const { id } = (await frank.ask('GET', '/users/me/api-keys')).body.items[0];
  await whole.stop(async (DATA_DIR) => {
    const alone = await startTestService({ DATA_DIR, ROLES: 'http', PUBLIC_URL: whole.url });
    try {
      const ofUser = askAt(alone.url, frank.token);
      const ofKey = askAt(alone.url, key.token);
      const look = async ({ token }: { token: string }) => (await fetch(`${alone.url}/share/${token}`)).status;
      const link = new URL((await ofUser('GET', `/jobs/${job.job_id}/download`)).body.url);
      const download = async () => (await fetch(alone.url + link.pathname + link.search)).status;
      t.is((await ofKey('GET', '/api/v2/usage')).status, 200);
      t.deepEqual([await look(kept), await look(revoked), await download()], [200, 200, 200]);
      t.is((await ofUser('DELETE', `/users/me/api-keys/${id}`)).status, 204);
      t.is((await ofUser('DELETE', `/jobs/${job.job_id}/share/${revoked.token}`)).status, 204);
      t.is((await ofKey('GET', '/api/v2/usage')).status, 401);
      t.deepEqual([await look(kept), await look(revoked)], [200, 404]);
      t.is((await ofUser('DELETE', `/jobs/${job.job_id}`)).status, 200);
      t.deepEqual([await look(kept), await look(of_deleted), await download()], [404, 404, 404]);
    } finally {
      await alone.stop();
    }
  });
});

const askAt = (url: string, token: string) => async (method: string, path: string) =>
  answerOf(await fetch(`${url}${path}`, { method, headers: { authorization: `Bearer ${token}` } }));
