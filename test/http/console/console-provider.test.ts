// What a browser is answered on its way to the identity provider and back, where the provider fails.
import test, { type ExecutionContext } from 'ava';
import { openSignedCookie } from '../../../http/callers/signed-cookie.ts';
import { begin, type Deps, finish } from '../../../http/console/console-provider.ts';
import { silent } from '../../support/stores.ts';
import { startSample } from '../sample-app.ts';

const cookie = openSignedCookie({
  ...{ name: 'sign-in', secret: Buffer.alloc(32), path: '/console/provider', same_site: 'Lax', https: false },
});
const CONSOLE = 'http://127.0.0.1:9/console';
const PENDING = { state: 's', nonce: 'n', verifier: 'v' };

async function startWith(t: ExecutionContext, provider: Partial<Deps['provider']> | undefined, more: object = {}) {
  const services = {
    provider,
    cookie,
    limit: { admitAddress: async () => {} },
    logger: silent,
    console_url: () => CONSOLE,
    ...more,
  };
  const sample = await startSample([begin, finish], services as unknown as Deps);
  t.teardown(() => sample.close());
  const sign_in = (await cookie.made(PENDING, 60, Date.now())).split(';')[0]!;
  return async (path: string) => {
    const answer = await sample.request(path, { headers: { cookie: sign_in } });
    return { status: answer.status, leads_to: /<a href="([^"]*)"/.exec(await answer.text())?.[1] };
  };
}

test('a provider that is away leads back to the page that says so', async (t) => {
  const away = async () => Promise.reject(Object.assign(new Error('away'), { code: 'unavailable' }));
  const look = await startWith(t, { begin: away, finish: away });
  for (const path of ['/console/provider/sign-in', '/console/provider/return?state=s&code=c']) {
    const { status, leads_to } = await look(path);
    t.is(status, 200, path);
    t.regex(leads_to!, /^http:\/\/127.0.0.1:9\/console\/sign-in\?away=[\w-]+$/, path);
  }
});

test('without a client at a provider nobody signs in there', async (t) => {
  const look = await startWith(t, undefined);
  for (const path of ['/console/provider/sign-in', '/console/provider/return?state=s&code=c'])
    t.is((await look(path)).status, 404, path);
});

test('a provider that refuses leads back, and another fault is a fault', async (t) => {
  const logged: unknown[] = [];
  const logger = { ...silent, warn: ({ reason }: { reason: string }) => logged.push(reason) };
  const provider = {
    begin: async () => Promise.reject(new Error('a defect')),
    finish: async () => ({ refused: 'access_denied: by the user' }),
  };
  const look = await startWith(t, provider, { logger });
  t.regex((await look('/console/provider/return?error=access_denied')).leads_to!, /\/console\/sign-in\?failed=/);
  t.deepEqual(logged, ['access_denied: by the user'], 'the operator reads why');
  t.is((await look('/console/provider/sign-in')).status, 500);
});

test('a session of an administrator lasts no longer than the token that says so', async (t) => {
  const begun: number[] = [];
  async function begin({ lasts_s }: { lasts_s: number }): Promise<string> {
    begun.push(lasts_s);
    return 'session=x';
  }
  const expires_s = Math.floor(Date.now() / 1000) + 600;
  for (const is_admin of [true, false]) {
    const finish = async () => ({ user: { user_id: 'a', email: null, is_admin }, expires_s });
    const look = await startWith(t, { finish }, { sessions: { begin } });
    t.is((await look('/console/provider/return?state=s&code=c')).status, 200);
  }
  t.true(begun[0]! > 0 && begun[0]! <= 600, String(begun));
  t.is(begun[1], 86_400);
});
