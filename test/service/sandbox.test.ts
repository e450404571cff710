// A sandbox, such as a unit of systemd with a filter of system calls, may refuse what the service can do without.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { startServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

/** Refuses a thread another priority, as `SystemCallFilter=~@resources` does. */
const REFUSING = `data:text/javascript,import os from 'node:os';import { syncBuiltinESMExports } from 'node:module';
os.getPriority = () => 0; os.setPriority = () => { throw Object.assign(new Error('not permitted'), { code: 'ERR_SYSTEM_ERROR' }) };
syncBuiltinESMExports();`.replaceAll(/\s/g, '%20');

test('the service runs where its threads may not have another priority', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'sandbox-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const service = await startServiceProcess({ DATA_DIR: folder, NODE_OPTIONS: `--import=${REFUSING}` });
  await until(async () => (await fetch(`${service.url}/readyz`)).status === 200);
  t.is(await service.stop(), 0);
});
