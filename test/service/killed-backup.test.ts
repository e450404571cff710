// A service that is killed while it writes a backup writes it when it is started again, and leaves one file.
import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { issueLocalToken } from '../../adapters/identity/index.ts';
import { verifyBackup } from '../../backups/read-backup.ts';
import { until } from '../support/behind.ts';
import { openTestClient, type TestClient } from '../support/service.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';

/** Of a type that no projection takes; a backup of them takes seconds. */
const EVENTS = 200_000;

test('a backup whose service was killed is complete after the next start', async (t) => {
  t.timeout(300_000);
  const data_dir = await mkdtemp(join(tmpdir(), 'url-checker-killed-'));
  let service: ServiceProcess | null = null;
  t.teardown(async () => {
    await service?.kill();
    await rm(data_dir, { recursive: true, force: true });
  });
  const log = await openSqliteEventStore({ path: join(data_dir, 'events.db') });
  const metadata = { command_id: 'c', causation_id: 'c', actor: 'process:test', at: '2026-01-31T09:00:00.000Z' };
  const event = () => ({ id: randomUUID(), type: 'Happened', data: { text: randomUUID() }, metadata });
  for (let n = 0; n < EVENTS; n += 1_000) {
    await log.append(`other-${n}`, 'no_stream', Array.from({ length: 1_000 }, event));
  }
  await log.close();

  const start = async (): Promise<TestClient> => {
    service = await startServiceProcess({ DATA_DIR: data_dir, ROLES: 'http,projector,processes' });
    const root = { user_id: 'root', email: null, is_admin: true, hours: 1 };
    return openTestClient(service.url, await issueLocalToken(data_dir, root));
  };
  const first = await start();
  const { status, body } = await first.ask('POST', '/admin/backups');
  t.is(status, 202);
  const { backup_id } = body;
  const found = async (client: TestClient) => (await client.ask('GET', '/admin/backups')).body.items?.[0];
  await until(async () => (await found(first))?.progress?.events > 0, 5);
  const repeated = await first.ask('POST', '/admin/backups');
  t.like(repeated, { status: 409, body: { code: 'backup_running', details: { backup_id } } });
  await service!.kill();

  const again = await start();
  await until(async () => ((await found(again))?.status ?? 'running') !== 'running');
  const backup = await found(again);
  t.like(backup, { backup_id, status: 'completed', progress: null, failure: null });
  t.true(backup.events >= EVENTS);
  const folder = join(data_dir, 'blobs/backups', backup_id);
  const files = await readdir(folder);
  t.deepEqual(files, [backup.key.split('/').at(-1)]);
  const verified = await verifyBackup(async () => createReadStream(join(folder, files[0]!)));
  t.is(verified.sha256, backup.sha256);
});
