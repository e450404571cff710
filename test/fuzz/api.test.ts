// Thousands of requests made from the OpenAPI documents: good ones, edges, wrong ones, and such as belong together, by every
// kind of caller. No answer is a 5xx, each is as its document says, and whatever is wrong by the document is refused.
// FUZZ_SEED draws the same requests again; FUZZ_REQUESTS draws more or fewer of each operation.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import test from 'ava';
import fc from 'fast-check';
import { issueLocalToken } from '../../adapters/identity/index.ts';
import { openJobs } from '../../commands/jobs/job.ts';
import { allCredentials } from '../support/access.ts';
import { openBehind } from '../support/behind.ts';
import { startTestService } from '../support/service.ts';
import { openSite, page } from '../support/sites.ts';
import { commandContext } from '../support/stores.ts';
import { startTestProxy } from '../support/test-proxy.ts';
import { CHAINS, type Users } from './chains.ts';
import { goodRequest, type Operation, openOperations, type Planned, wrongRequest } from './operations.ts';
import type { Hints } from './schemas.ts';
import { openSession } from './session.ts';

const SEED = Number(process.env.FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31));
/** Of each operation, good and wrong ones each. */
const EACH = Number(process.env.FUZZ_REQUESTS ?? 20);
const CHAIN_ROUNDS = 8;
const AT_ONCE = 16;
const LEAST = 5000;
const AGENCY_SECRET = 'the-secret-of-the-agencies';

test('the service answers every request as its documents say', async (t) => {
  t.timeout(600_000);
  const proxies = await Promise.all([startTestProxy(), startTestProxy({ kind: 'socks5' })]);
  const folder = await mkdtemp(join(tmpdir(), 'fuzz-'));
  const list = join(folder, 'proxies.txt');
  await writeFile(list, proxies.map(({ url }) => url).join('\n'));
  const service = await startTestService({
    PROXY_LIST_URL: pathToFileURL(list).href,
    ...{ SIGNUP_CREDITS: '1000000', WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8', AGENCY_SECRET },
  });
  const behind = await openBehind(service.data_dir);
  const site = await openSite((request, response) => {
    if (!request.url?.startsWith('/asleep/')) page(request, response);
  });
  try {
    const session = openSession(service.url);
    const [alice, bob, root] = [
      await service.client('alice'),
      await service.client('bob'),
      await service.client('root', { is_admin: true }),
    ];
    await (await service.client('erin')).ask('GET', '/users/me');
    const [alices_key, bobs_key] = [await service.keyHolder('alice'), await service.keyHolder('bob')];
    const of_alice = { user_id: 'alice', email: 'alice@example.com', is_admin: true };
    const credentials = await allCredentials({
      user: alice.token,
      other_user: bob.token,
      admin: root.token,
      api_key: alices_key.token,
      expired: await issueLocalToken(service.data_dir, { ...of_alice, hours: -1 }),
    });
    const bearer = ({ token }: { token: string }) => `Bearer ${token}`;
    const good_callers = (operation: Operation): (string | null)[] => {
      if (operation.for_admins) return [bearer(root)];
      if (operation.security === 'api_key') return [bearer(alices_key), bearer(alices_key), bearer(bobs_key)];
      return operation.security === 'bearer' ? [bearer(alice), bearer(alice), bearer(bob), bearer(root)] : [null];
    };

    const hints = hintsFor(site.url);
    const draw = fc.tuple(fc.nat(), fc.nat({ max: 6 }));
    const plans = openOperations().flatMap((operation, n) => {
      const drawn = (arbitrary: fc.Arbitrary<Planned>, salt: number) =>
        fc.sample(fc.tuple(arbitrary, draw), { seed: SEED + n * 2 + salt, numRuns: EACH });
      const good = drawn(goodRequest(operation, hints), 0).filter(([planned]) => !togglesMaintenance(planned));
      return [...good, ...drawn(wrongRequest(operation, hints), 1)];
    });
    // Nobody else touches what is theirs.
    const [carol, dave] = await Promise.all(
      ['carol', 'dave'].map(async (name) => ({
        token: bearer(await service.client(name)),
        key: bearer(await service.keyHolder(name)),
        admin: bearer(root),
        fail: async (job_id: string) => {
          const command = { type: 'fail', reason: 'no_progress' } as const;
          await openJobs(behind.log).run(job_id, command, commandContext());
        },
        urls: urlsOf(`${site.url}/chain`),
        asleep: urlsOf(`${site.url}/asleep`),
      })),
    );
    const users: Users[] = [
      { ...carol!, other_key: dave!.key },
      { ...dave!, other_key: carol!.key },
    ];
    const work = [
      ...plans.map(([planned, [which, turn]]) => async () => {
        const anyone = Object.values(credentials);
        const callers = turn === 0 && planned.wrong === null ? anyone : good_callers(planned.operation);
        const secret: Record<string, string> =
          planned.operation.security === 'shared_secret' ? { 'x-agency-secret': AGENCY_SECRET } : {};
        const sent = { ...planned, headers: { ...planned.headers, ...secret } };
        await session.send(sent, callers[which % callers.length]!);
      }),
      ...Array.from({ length: CHAIN_ROUNDS }).flatMap((_, n) =>
        CHAINS.map((chain) => async () => {
          // What went wrong before that is among the faults.
          await chain(session, users[n % users.length]!).catch((error) =>
            session.faults.push(`${chain.name}: ${error}`),
          );
        }),
      ),
    ];
    // Mixed, so that there is something to look at, and so that chains meet the rest.
    const [mixed] = fc.sample(fc.shuffledSubarray(work, { minLength: work.length }), { seed: SEED, numRuns: 1 });
    const queue = mixed!.values();
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (const one of queue) await one();
      }),
    );

    t.log(`seed ${SEED}: ${session.count} requests, ${session.statuses.size} operations`);
    for (const [name, by_status] of [...session.statuses].sort())
      t.log(
        `${name}: ${[...by_status]
          .sort()
          .map(([status, count]) => `${status} x ${count}`)
          .join(', ')}`,
      );
    if (EACH >= 50) t.true(session.count >= LEAST, `${session.count} requests`);
    const kinds = Object.values(Object.groupBy(session.faults, (fault) => fault.slice(0, 60)));
    t.deepEqual(kinds.map((faults) => faults![0]).slice(0, 20), [], `seed ${SEED}: ${session.faults.length} faults`);
    const never = openOperations().filter(
      ({ name, is_signed }) =>
        !is_signed &&
        !BY_SECRETS.has(name) &&
        ![...(session.statuses.get(name)?.keys() ?? [])].some((status) => status < 400),
    );
    t.deepEqual(
      never.map(({ name }) => name),
      [],
      'operations of which no request succeeded',
    );
  } finally {
    await behind.close();
    await service.stop();
    await Promise.all([site, ...proxies].map((one) => one.close()));
    await rm(folder, { recursive: true });
  }
});

/** Without `enabled` it turns the mode on, and from then on all commands of users are refused. */
function togglesMaintenance({ operation, body }: Planned): boolean {
  if (operation.name !== 'POST /admin/maintenance') return false;
  return body === null || ('text' in body && !('enabled' in JSON.parse(String(body.text))));
}

/** They succeed with a one-time code, a session of a browser, a name that has a hash in it, or a provider, its subscriptions and its faults, which this service lacks. */
const BY_SECRETS = new Set([
  'GET /console/assets/{file}',
  'POST /console/session',
  'DELETE /users/me/sessions/{id}',
  'GET /console/provider/sign-in',
  'GET /console/provider/return',
  'GET /.well-known/oauth-protected-resource',
  'GET /.well-known/oauth-protected-resource/mcp',
  'POST /subscriptions/{subscription_id}/end',
  'POST /admin/users/{user_id}/subscriptions/{subscription_id}/end',
  'POST /admin/payment-issues/{issue_id}/resolve',
  // No job of the fuzz lacks credits.
  'POST /api/v2/jobs/{id}/resume',
  'GET /users/me/payments/{payment_id}/document',
]);

const urlsOf = (site: string) => {
  let n = 0;
  return (count: number) => Array.from({ length: count }, () => `${site}/${n++}`);
};

const HEADER = fc.constantFrom('msg_1', '1769850300', 'v1,AAAA', '');

/** Values that get further than those that only the schema is good for. */
function hintsFor(site: string): Hints {
  const url = fc.nat({ max: 500 }).map((n) => `${site}/${n % 7 === 0 ? 'status/404' : 'page'}?${n}`);
  const domain = fc.constantFrom('example.com', 'Shop.Example.org:8080', 'https://bücher.example/x', 'com');
  return {
    urls: fc.oneof(
      { weight: 5, arbitrary: url },
      { weight: 1, arbitrary: fc.constantFrom('see below', 'ftp://x', '', 'http://') },
    ),
    url: fc.constantFrom(
      'https://example.com/hook',
      'http://127.0.0.1:9/hook',
      'http://example.com/',
      'https://localhost/',
      'x',
    ),
    ...{ domain, domains: domain },
    email: fc.constantFrom('alice@example.com', 'bob@example.com', 'x'),
    job_ids: fc.constantFrom('unknown', '2f1c9f2e-5d0c-4b7b-9a43-0c5c5f4b7d11'),
    // A good request may ask to be kept waiting for minutes.
    wait_seconds: fc.constantFrom(0, 1),
    // Maintenance mode would refuse all other commands.
    enabled: fc.constant(false),
    cursor: fc.constantFrom('', '', 'AAAA'),
    ...{ notes: fc.constantFrom(null, 'Asked for an invoice.'), replaces: fc.constantFrom(null, null, 'Read before.') },
    'If-None-Match': fc.constantFrom('*', 'W/"x"', '"', ','),
    'X-Log-Position': fc.constantFrom('', '0', '00000000'),
    ...{ 'webhook-id': HEADER, 'webhook-timestamp': HEADER, 'webhook-signature': HEADER },
    ...{ 'svix-id': HEADER, 'svix-timestamp': HEADER, 'svix-signature': HEADER },
    'Last-Event-ID': fc.constantFrom('0-0-0', '0-1-0', '3-1-0'),
    'Idempotency-Key': fc.nat({ max: 30 }).map((n) => `key-${n}`),
  };
}
