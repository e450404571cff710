// Limits on what one owner may have hold however many requests ask at once, of two processes, and the lists show all there is.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { MAX_BLOCKED, openBlocklistCommands } from '../../commands/blocklist.ts';
import { MAX_SHARES, newShareToken, openShares } from '../../commands/shares.ts';
import { MAX_KEYS, openApiKeys } from '../../commands/users/api-keys.ts';
import { BLOCKLIST_STREAM, shareUsesStream } from '../../events/streams.ts';
import { openLogger } from '../../service/logger.ts';
import { startService } from '../../service/service.ts';
import { readConfig } from '../../settings/config.ts';
import { openTestClient, startTestService, type TestClient } from '../support/service.ts';
import { openSite } from '../support/sites.ts';
import { commandContext, openTestStores } from '../support/stores.ts';

const AT_ONCE = 200;

test('concurrent processes create only as many shares and keys as the limits allow', async (t) => {
  const { log } = await openTestStores(t);
  const keys = [openApiKeys(log), openApiKeys(log), openApiKeys(log)];
  const made = await Promise.all(
    Array.from({ length: AT_ONCE }, (_, n) =>
      keys[n % 3]!.create({ plaintext: `key ${n}`, user_id: 'alice', email: null, name: 'a' }, commandContext()),
    ),
  );
  t.is(made.filter(({ ok }) => ok).length, MAX_KEYS);
  const shares = [openShares(log), openShares(log), openShares(log)];
  const shared = await Promise.all(
    Array.from({ length: AT_ONCE }, (_, n) =>
      shares[n % 3]!.create(
        { token: newShareToken(), job_id: 'j', user_id: 'alice', expires_at: null },
        commandContext(),
      ),
    ),
  );
  t.is(shared.filter(({ ok }) => ok).length, MAX_SHARES);
});

test('concurrent processes block only as many domains as the list takes', async (t) => {
  const { log } = await openTestStores(t);
  const room = 50;
  const entry = { reason: 'a', block_type: 'legal', error_codes: [], added_at: new Date(0).toISOString() };
  for (let first = 0; first < MAX_BLOCKED - room; first += 1_000) {
    const events = Array.from({ length: Math.min(1_000, MAX_BLOCKED - room - first) }, (_, n) => ({
      id: randomUUID(),
      type: 'DomainBlocked',
      data: { ...entry, domain: `${first + n}.example` },
      metadata: { command_id: randomUUID(), causation_id: 'test', actor: 'process:test', at: entry.added_at },
    }));
    await log.append(BLOCKLIST_STREAM, first === 0 ? 'no_stream' : first - 1, events);
  }
  const lists = [openBlocklistCommands(log), openBlocklistCommands(log), openBlocklistCommands(log)];
  const said = { reason: 'a', block_type: 'legal', error_codes: [] };
  const made = await Promise.all(
    Array.from({ length: AT_ONCE }, (_, n) =>
      lists[n % 3]!.block({ ...said, domain: `new${n}.example` }, commandContext()),
    ),
  );
  t.is(made.filter(({ ok }) => ok).length, room);
  t.is((await Array.fromAsync(log.readStream(BLOCKLIST_STREAM, { from: MAX_BLOCKED - room }))).length, room);
});

test('a process appends uses of a share after reading one event', async (t) => {
  const { log } = await openTestStores(t);
  const used = { count: 1, last_used_at: new Date(0).toISOString() };
  for (let n = 0; n < 5; n++) await openShares(log).recordUses('s', used, commandContext());
  let read = 0;
  const counted: typeof log = {
    ...log,
    append: log.append.bind(log),
    async *readStream(...args) {
      for await (const event of log.readStream(...args)) {
        read++;
        yield event;
      }
    },
  };
  await openShares(counted).recordUses('s', used, commandContext());
  t.is(read, 1);
  t.is((await Array.fromAsync(log.readStream(shareUsesStream('s')))).length, 6);
});

test('the lists have all concurrently created keys and shares, and revoking one makes room', async (t) => {
  const [service, site] = await Promise.all([startTestService(), openSite()]);
  const { data_dir } = service;
  const config = readConfig({
    ...{ DATA_DIR: data_dir, PORT: '0', ROLES: 'http', LOG_LEVEL: 'warn', LOG_FILE: `${data_dir}/other.log` },
    ...{ RATE_LIMIT_PER_MINUTE: '1000000', RATE_LIMIT_PER_DAY: '1000000', REQUEST_WAIT_MS: '60000' },
  });
  const other = await startService(config, openLogger(config));
  try {
    const alice = await service.client('alice');
    const elsewhere = openTestClient(other.url!, alice.token);
    const { body: job } = await alice.upload(`${site.url}/a\n`);
    await alice.ended(job.job_id);
    const clients = [alice, elsewhere];
    const ask = (client: TestClient, path: string) => client.ask('POST', path, {});
    const atOnce = (path: string) => Promise.all(Array.from({ length: AT_ONCE }, (_, n) => ask(clients[n % 2]!, path)));
    const tally = (answers: { status: number; body: unknown }[]) => {
      const by = Object.groupBy(answers, ({ status, body }) =>
        status < 500 ? status : `${status} ${JSON.stringify(body)}`,
      );
      return Object.fromEntries(Object.entries(by).map(([answer, all]) => [answer, all!.length]));
    };

    const keys = await atOnce('/users/me/api-keys');
    t.deepEqual(tally(keys), { 201: MAX_KEYS, 409: AT_ONCE - MAX_KEYS });
    const made_ids = keys.filter(({ status }) => status === 201).map(({ body }) => body.id);
    const { body: listed } = await alice.ask('GET', '/users/me/api-keys');
    t.deepEqual(listed.items.map(({ id }: { id: string }) => id).sort(), made_ids.sort());
    t.is(listed.total, MAX_KEYS);
    t.is((await alice.ask('DELETE', `/users/me/api-keys/${made_ids[0]}`)).status, 204);
    t.is((await ask(elsewhere, '/users/me/api-keys')).status, 201);
    t.is((await ask(alice, '/users/me/api-keys')).status, 409);

    const shares = await atOnce(`/jobs/${job.job_id}/share`);
    t.deepEqual(tally(shares), { 201: MAX_SHARES, 409: AT_ONCE - MAX_SHARES });
    const { body: shared } = await alice.ask('GET', `/jobs/${job.job_id}/shares?limit=200`);
    const shared_ids = shares.filter(({ status }) => status === 201).map(({ body }) => body.id);
    t.deepEqual(shared.items.map(({ id }: { id: string }) => id).sort(), shared_ids.sort());
  } finally {
    await other.stop();
    await Promise.all([service.stop(), site.close()]);
  }
});
