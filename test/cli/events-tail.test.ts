// `npm run ops -- events tail`, and how the programs that read events end.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { watch } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import test, { type ExecutionContext } from 'ava';
import { openEventStoreDb } from '../../adapters/eventstore/eventstoredb/eventstoredb-event-store.ts';
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { startEventStoreDbServer } from '../support/eventstoredb-server/eventstoredb-server.ts';
import { type Env, filledFolder, folder, lines, named } from '../support/filled-log.ts';
import { silent } from '../support/stores.ts';

/** A program that runs on: its lines as they come. */
function follow(t: ExecutionContext, env: Env, ...args: string[]) {
  const { PATH, NODE_COMPILE_CACHE = '' } = process.env;
  const file = join(import.meta.dirname, '../../cli/ops.ts');
  const child = spawn(process.execPath, [file, 'events', ...args], { env: { PATH, NODE_COMPILE_CACHE, ...env } });
  t.teardown(() => child.kill('SIGKILL'));
  const ended = new Promise<{ code: number | null }>((resolve) => child.on('exit', (code) => resolve({ code })));
  const next = (stream: NodeJS.ReadableStream) => {
    const read = createInterface({ input: stream })[Symbol.asyncIterator]();
    return async () => (await read.next()).value as string | undefined;
  };
  return { child, ended, nextLine: next(child.stdout), nextError: next(child.stderr) };
}

test('events tail continues after a position, prints what comes, and ends with 0 at an interrupt', async (t) => {
  const DATA_DIR = await filledFolder(t);
  const log = await openSqliteEventStore({ path: join(DATA_DIR, 'events.db') });
  t.teardown(() => log.close());
  const all = await lines(t, { DATA_DIR }, 'read', '--json');
  const from = all.at(-3)!.position;
  const { child, ended, nextLine } = follow(t, { DATA_DIR }, 'tail', '--json', '--from', from);
  t.deepEqual([JSON.parse((await nextLine())!), JSON.parse((await nextLine())!)], all.slice(-2));
  await log.append('user-erin', 'no_stream', [named()]);
  t.is(JSON.parse((await nextLine())!).stream, 'user-erin');
  child.kill('SIGINT');
  t.deepEqual(await ended, { code: 0 });
  t.is(await nextLine(), undefined);
});

test('events tail follows an EventStoreDB that goes away, and says so', async (t) => {
  const [server, DATA_DIR] = [await startEventStoreDbServer(), await folder(t)];
  t.teardown(() => server.close());
  const log = await openEventStoreDb({ url: server.url, log: silent });
  t.teardown(() => log.close());
  await log.append('user-dora', 'no_stream', [named()]);
  const env = { EVENTSTORE_URL: server.url, DATA_DIR };
  const { ended, nextLine, nextError } = follow(t, env, 'tail', '--from', '2026-01-01', '--limit', '2');
  t.regex((await nextLine())!, /user-dora 0 {2}UserNamed/);
  await server.stop();
  t.regex((await nextError())!, /event store: /);
  await server.start();
  await log.append('user-dora', 0, [named()]);
  t.regex((await nextLine())!, /user-dora 1 {2}UserNamed/);
  t.deepEqual(await ended, { code: 0 });
});

test('a reader that has seen enough ends the program', async (t) => {
  const DATA_DIR = await filledFolder(t);
  const { child, ended, nextLine } = follow(t, { DATA_DIR }, 'tail', '--from', '1');
  t.truthy(await nextLine());
  child.stdout.destroy();
  const log = await openSqliteEventStore({ path: join(DATA_DIR, 'events.db') });
  await log.append('user-erin', 'no_stream', [named()]);
  t.is((await ended).code, 141);
  await log.close();
});

test('an interrupted export or query leaves no file behind', async (t) => {
  const [DATA_DIR, TMPDIR] = [await filledFolder(t), await folder(t)];
  const out = join(TMPDIR, 'log.parquet');
  for (const args of [
    ['export', '--out', out],
    ['query', 'SELECT count(*) FROM range(100000) a, range(100000) b, range(100000) c'],
  ]) {
    const { child, ended } = follow(t, { DATA_DIR, TMPDIR }, ...args);
    const looking = watch(TMPDIR);
    await once(looking, 'change');
    looking.close();
    child.kill('SIGINT');
    t.deepEqual(await ended, { code: 130 }, args[0]!);
    t.deepEqual(await readdir(TMPDIR), []);
  }
});

/** Ends once DuckDB's thread has worked on a query without end: other threads have used 50 ms of processor time since. */
const ENDING = `
  const { openDatabase } = await import(${JSON.stringify(new URL('../../analysis/duckdb.ts', import.meta.url).href)});
  const { run } = await openDatabase();
  const ofOthers = () => process.cpuUsage().user - process.threadCpuUsage().user;
  const before = ofOthers();
  void run('SELECT count(*) FROM range(1000000) a, range(1000000) b, range(1000000) c');
  const look = () => (ofOthers() - before < 50_000 ? setImmediate(look) : process.exit(3));
  look();`;

test('a program that ends waits for no query', async (t) => {
  const TMPDIR = await folder(t);
  const child = spawn(process.execPath, ['--input-type=module', '--eval', ENDING], { env: { ...process.env, TMPDIR } });
  t.teardown(() => child.kill('SIGKILL'));
  t.deepEqual(await once(child, 'exit'), [3, null]);
  t.deepEqual(await readdir(TMPDIR), []);
});
