// The guide for three machines, carried out in network namespaces: `test/support/three-machines.ts` says how. Decision 161 says why.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import { findNatsServer } from '../support/nats-server.ts';
import { listedSuites } from '../support/server-suites.ts';

const PROGRAM = fileURLToPath(new URL('../support/three-machines.ts', import.meta.url));

const listed = listedSuites(process.env.SERVER_SUITES);
if (!listed.includes('nats') || !listed.includes('mongodb')) test.todo('three machines: left out by SERVER_SUITES');
else if (process.getuid?.() !== 0) test.todo('three machines: left out, because only root makes network namespaces');
else {
  test('three machines survive the loss of one, as the guide says', async (t) => {
    t.timeout(300_000);
    const env = { ...process.env, NATS_SERVER_BIN: findNatsServer() ?? '', MONGOD_BIN: process.env.MONGOD_BIN ?? '' };
    const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM], { env });
    for (const line of stdout.trim().split('\n')) t.log(line);
    t.regex(stdout, /300 URLs cost 300 credits/);
  });
}
