// What a start loads: each thread the modules of its roles, and of the servers' clients only those that settings name.
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { startServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

const RECORD = new URL('../support/record-modules.js', import.meta.url).href;

/** The packages that no thread of an embedded, idle service has loaded. */
const NEVER = [
  'typebox',
  'csv-parse',
  'htmlparser2',
  'saxes',
  'yauzl',
  'mongodb',
  'nats',
  '@eventstore/db-client',
  'nodemailer',
  'swagger-ui-dist',
  'stripe',
  '@opentelemetry/sdk-trace',
];
const OF_HTTP = ['koa', '@koa/router', 'jose', 'prom-client'];
/** The other packages of each thread, known by a module that only this thread loads. */
const THREADS = {
  '/http/open-app.ts': { may: OF_HTTP, may_not: ['undici'] },
  '/service/roles/checker.ts': { may: ['undici', 'tough-cookie', 'entities'], may_not: OF_HTTP },
  '/service/roles/projector.ts': { may: [], may_not: [...OF_HTTP, 'undici', 'tough-cookie'] },
};
/** A thread may load fewer modules than this; a few more than it loads now. */
const MOST_MODULES = { '/http/open-app.ts': 795, '/service/roles/checker.ts': 375, '/service/roles/projector.ts': 470 };

async function listsOf(folder: string): Promise<string[][]> {
  const names = await readdir(folder);
  return Promise.all(names.map(async (name) => (await readFile(join(folder, name), 'utf8')).trim().split('\n')));
}
const packagesOf = (modules: readonly string[]) =>
  new Set(modules.map((url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1]));

test('each thread loads the modules of its roles, and no client of a server that settings do not name', async (t) => {
  t.timeout(300_000);
  const folder = await mkdtemp(join(tmpdir(), 'modules-'));
  const MODULES_FOLDER = join(folder, 'modules');
  await mkdir(MODULES_FOLDER);
  const service = await startServiceProcess({
    ...{ DATA_DIR: join(folder, 'data'), MODULES_FOLDER },
    NODE_OPTIONS: `--import ${RECORD}`,
  });
  try {
    // Each thread works, and so has loaded what it needs for that.
    await until(async () => (await fetch(`${service.url}/readyz`)).ok);
    const lists = await listsOf(MODULES_FOLDER);
    t.is(lists.length, 3, 'no thread that reads documents has started');
    for (const [known_by, { may, may_not }] of Object.entries(THREADS)) {
      const modules = lists.find((list) => list.some((url) => url.endsWith(known_by)));
      if (!modules) throw new Error(`no thread loaded ${known_by}`);
      const packages = packagesOf(modules);
      for (const name of may) t.true(packages.has(name), `${known_by} with ${name}`);
      for (const name of [...NEVER, ...may_not]) t.false(packages.has(name), `${known_by} without ${name}`);
      const most = MOST_MODULES[known_by as keyof typeof MOST_MODULES];
      t.true(modules.length < most, `${known_by}: ${modules.length} modules of ${most}`);
    }
  } finally {
    await service.kill();
    await rm(folder, { recursive: true, force: true });
  }
});

test('a process without http loads no module of http', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'modules-'));
  const MODULES_FOLDER = join(folder, 'modules');
  await mkdir(MODULES_FOLDER);
  const NODE_OPTIONS = `--import ${RECORD}`;
  const env = { DATA_DIR: join(folder, 'data'), ROLES: 'projector', MODULES_FOLDER, NODE_OPTIONS };
  const service = await startServiceProcess(env);
  try {
    let modules: string[] = [];
    await until(async () => {
      modules = (await listsOf(MODULES_FOLDER)).flat();
      return modules.some((url) => url.endsWith('/service/roles/projector.ts'));
    });
    for (const name of OF_HTTP) t.false(packagesOf(modules).has(name), name);
    t.false(modules.some((url) => url.endsWith('/service/http-role.ts')));
  } finally {
    await service.kill();
    await rm(folder, { recursive: true, force: true });
  }
});
