// API keys over two processes of the same service: what one is told, the other knows.
import test from 'ava';
import { apiKeyUsesStream } from '../../events/streams.ts';
import { openLogger } from '../../service/logger.ts';
import { startService } from '../../service/service.ts';
import { readConfig } from '../../settings/config.ts';
import { eventsOf, openBehind, until } from '../support/behind.ts';
import { openTestClient, startTestService } from '../support/service.ts';

test('a process refuses a key that another has revoked, and shows its last use', async (t) => {
  const service = await startTestService();
  const { data_dir } = service;
  const config = readConfig({
    ...{ DATA_DIR: data_dir, PORT: '0', ROLES: 'http', LOG_LEVEL: 'warn', LOG_FILE: `${data_dir}/other.log` },
    ...{ RATE_LIMIT_PER_MINUTE: '1000000', RATE_LIMIT_PER_DAY: '1000000' },
  });
  const other = await startService(config, openLogger(config));
  const behind = await openBehind(data_dir);
  try {
    const alice = await service.client('alice');
    const { body: key } = await alice.ask('POST', '/users/me/api-keys', { name: 'nightly' });
    t.is(key.last_used_at, null);
    const listed = async () => (await alice.ask('GET', '/users/me/api-keys')).body.items[0];
    t.is((await listed()).last_used_at, null);
    const holders = [openTestClient(service.url, key.key), openTestClient(other.url!, key.key)];
    const before = Date.now();
    for (let n = 0; n < 20; n++) t.is((await holders[n % 2]!.ask('GET', '/api/v2/usage')).status, 200);
    await until(async () => (await listed()).last_used_at !== null);
    t.true(Date.parse((await listed()).last_used_at) >= before);
    const told = (await eventsOf(behind.log, apiKeyUsesStream(key.id))).map(({ type }) => type);
    t.deepEqual(told, ['ApiKeyUsed']);

    t.is((await alice.ask('DELETE', `/users/me/api-keys/${key.id}`)).status, 204);
    const statuses = await Promise.all(
      holders.map(async (holder) => (await holder.ask('GET', '/api/v2/usage')).status),
    );
    t.deepEqual(statuses, [401, 401]);
  } finally {
    await behind.close();
    await other.stop();
    await service.stop();
  }
});
