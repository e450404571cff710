// Starting where something is wrong: one line that says what, no stack, exit code 2; and damaged stores that can be made again.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { renameSync, rmSync, symlinkSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { openSqliteDocuments } from '../../adapters/documents/sqlite/sqlite-documents.ts';
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { apiKeys } from '../../readmodels/users/api-keys.ts';
import { markForCheck, onReplacement, prepareDataDir, StartError } from '../../service/data-dir.ts';
import { type OpeningOptions, openStores } from '../../service/stores.ts';
import type { Config } from '../../settings/config.ts';
import { freePort } from '../support/free-port.ts';
import { until } from '../support/until.ts';

const MAIN = fileURLToPath(new URL('../../main.ts', import.meta.url));

async function folderOf(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'start-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Root may write and bind anything: without its capabilities it may do no more than the modes of files say. */
const UNPRIVILEGED = process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-all', '--inh-caps=-all'] : [];

function start(env: Record<string, string>, under: readonly string[] = []) {
  const [program, ...args] = [...under, ...UNPRIVILEGED, process.execPath, MAIN];
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  return spawn(program!, args, { env: { PATH, NODE_COMPILE_CACHE, LOG_LEVEL: 'warn', PORT: '0', ...env } });
}

/** What the service says when it cannot start. */
async function refused(
  t: ExecutionContext,
  env: Record<string, string>,
  under: readonly string[] = [],
): Promise<string> {
  const child = start(env, under);
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  t.is(code, 2, said);
  t.is(said.trimEnd().split('\n').length, 1, said);
  t.notRegex(said, /^ +at /m);
  return said;
}

test.serial(
  'a port that is taken, a folder that is none, a log that is damaged: one line each, and exit code 2',
  async (t) => {
    const folder = await folderOf(t);
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    t.regex(await refused(t, { DATA_DIR: folder, PORT: String(port) }), new RegExp(`PORT ${port} .* is in use`));
    server.close();
    await writeFile(join(folder, 'file'), '');
    t.regex(
      await refused(t, { DATA_DIR: join(folder, 'file') }),
      /DATA_DIR .*file is not a folder that can be written/,
    );
    const damaged = join(folder, 'damaged');
    await mkdir(damaged);
    await writeFile(join(damaged, 'events.db'), 'garbage '.repeat(1_000));
    const said = await refused(t, { DATA_DIR: damaged });
    t.regex(said, /events\.db is damaged .*backup/);
    t.deepEqual(await readFile(join(damaged, 'events.db'), 'utf8'), 'garbage '.repeat(1_000));
  },
);

const OPEN = { eventstore_url: null, mongodb_url: null, nats_url: null, personal_data_key: null };

/** A folder with a log and documents that have something in them. */
async function filled(t: ExecutionContext): Promise<string> {
  const data_dir = await folderOf(t);
  const log = await openSqliteEventStore({ path: join(data_dir, 'events.db') });
  await log.close();
  const documents = await openSqliteDocuments({ path: join(data_dir, 'documents.db') });
  const keys = await documents.collection(apiKeys);
  const key = { user_id: 'a', email: null, name: 'x'.repeat(500), prefix: '', key_hash: '', created_at: '' };
  await keys.write(
    Array.from({ length: 500 }, (_, n) => ({ replace: { _id: `${n}`, ...key, revoked_at: null, last_used_at: null } })),
  );
  await documents.close();
  return data_dir;
}

function warnings() {
  const lines: { path?: string }[] = [];
  return { lines, logger: pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) }) };
}
const asideOf = async (data_dir: string) => (await readdir(data_dir)).filter((name) => name.includes('.damaged-'));

test('stores that are whole stay as they are', async (t) => {
  const data_dir = await filled(t);
  const before = (await readdir(data_dir)).filter((name) => name.endsWith('.db')).sort();
  const { lines, logger } = warnings();
  await markForCheck(data_dir);
  await prepareDataDir({ data_dir, ...OPEN }, logger);
  t.deepEqual((await readdir(data_dir)).filter((name) => name.endsWith('.db')).sort(), before);
  t.deepEqual([lines.length, await asideOf(data_dir)], [0, []]);
});

const DAMAGES: Readonly<Record<string, (path: string) => Promise<void>>> = {
  'a header of garbage': async (path) => {
    const bytes = await readFile(path);
    await writeFile(path, Buffer.concat([Buffer.alloc(100, 'x'), bytes.subarray(100)]));
  },
  'an end cut off': async (path) => truncate(path, (await readFile(path)).length - 3 * 4096),
  'pages of garbage': async (path) => {
    const bytes = await readFile(path);
    await writeFile(path, bytes.fill('x', 4096 * 2));
  },
};
for (const [what, damage] of Object.entries(DAMAGES)) {
  test(`concurrent starts set documents with ${what} aside once`, async (t) => {
    const data_dir = await filled(t);
    await damage(join(data_dir, 'documents.db'));
    const { lines, logger } = warnings();
    await Promise.all([1, 2, 3].map(() => prepareDataDir({ data_dir, ...OPEN }, logger)));
    t.is((await asideOf(data_dir)).length, 1);
    t.is(lines.length, 1);
    const documents = await openSqliteDocuments({ path: join(data_dir, 'documents.db') });
    t.is(await (await documents.collection(apiKeys)).count({}), 0);
    await documents.close();
    await prepareDataDir({ data_dir, ...OPEN }, logger);
    t.is((await asideOf(data_dir)).length, 1);
  });
}

test('a start refuses a truncated log, and does not change it', async (t) => {
  const data_dir = await filled(t);
  const path = join(data_dir, 'events.db');
  await truncate(path, 4096);
  await t.throwsAsync(prepareDataDir({ data_dir, ...OPEN }, warnings().logger), { instanceOf: StartError });
  t.is((await readFile(path)).length, 4096);
});

test.serial('a start names a read-only folder, and a store that is a folder, in one line each', async (t) => {
  const read_only = await folderOf(t);
  await chmod(read_only, 0o555);
  t.regex(await refused(t, { DATA_DIR: read_only }), /DATA_DIR .* is not a folder that can be written: EACCES/);
  t.deepEqual(await readdir(read_only), []);
  const data_dir = await folderOf(t);
  await (await openSqliteEventStore({ path: join(data_dir, 'events.db') })).close();
  await chmod(join(data_dir, 'events.db'), 0o444);
  t.regex(await refused(t, { DATA_DIR: data_dir }), /events\.db cannot be written/);
});

test.serial('a start with too few open files names the number that it needs', async (t) => {
  const said = await refused(t, { DATA_DIR: await folderOf(t) }, ['prlimit', '--nofile=64']);
  t.is(said, '64 files may be open at a time: the service wants 128, by `ulimit -n`\n');
});

test.serial('a start names a port that only root may take', async (t) => {
  const first = Number(await readFile('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8').catch(() => '0'));
  if (first <= 1) return t.pass('every port may be taken here');
  const data_dir = await folderOf(t);
  t.regex(
    await refused(t, { DATA_DIR: data_dir, PORT: '1' }),
    /HTTP cannot be served on 127\.0\.0\.1, PORT 1: .*EACCES/,
  );
});

test.serial(
  'a URL of a server that its client does not take is refused with a line that names the setting',
  async (t) => {
    const said = await refused(t, { DATA_DIR: await folderOf(t), NATS_URL: 'nats://127.0.0.1:99999' });
    t.regex(said, /^NATS_URL cannot be used: Invalid URL$/m);
  },
);

for (const given of [
  { eventstore_url: 'esdb://user:secret@127.0.0.1:2113?tls=maybe' },
  { eventstore_url: 'esdb://user:secret@127.0.0.1:99999?tls=false' },
  { eventstore_url: 'esdb+discover://one:2113,two:0' },
  { mongodb_url: 'mongodb://' },
  { mongodb_url: 'mongodb://a:secret@c:d@127.0.0.1/' },
  { mongodb_url: 'mongodb://127.0.0.1:99999/' },
  { mongodb_url: 'mongodb://127.0.0.1/?bogus=1' },
]) {
  test(`a start refuses ${Object.values(given)}, and does not show its secret`, async (t) => {
    const signal = new AbortController();
    const options: OpeningOptions = { of: 'others', signal: signal.signal, waiting: () => signal.abort() };
    const config = { data_dir: await folderOf(t), ...OPEN, ...given } as unknown as Config;
    const error = await t.throwsAsync(openStores(config, warnings().logger, options), { instanceOf: StartError });
    t.regex(error.message, /^(EVENTSTORE|MONGODB)_URL cannot be used: /);
    t.notRegex(error.message, /secret/);
  });
}

/** The lines of a service that runs, until the test ends. */
function running(t: ExecutionContext, env: Record<string, string>) {
  const child = start({ LOG_LEVEL: 'info', ...env });
  const lines: { level: number; msg: string; url?: string; err?: { message: string } }[] = [];
  let rest = '';
  const exited = once(child, 'exit');
  t.teardown(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const heard = new Set<() => void>();
  child.stdout.on('data', (piece) => {
    const parts = `${rest}${piece}`.split('\n');
    rest = parts.pop()!;
    for (const part of parts) lines.push(JSON.parse(part));
    for (const wake of heard) wake();
  });
  const said = text(child.stderr);
  async function line(pattern: RegExp) {
    for (;;) {
      const found = lines.find(({ msg }) => pattern.test(msg));
      if (found) return found;
      const { promise, resolve } = Promise.withResolvers<void>();
      heard.add(resolve);
      const end = await Promise.race([promise, exited]);
      if (end) throw new Error(`it ended with ${end[0]}: ${await said} ${JSON.stringify(lines)}`);
    }
  }
  return { lines, line, exited, stop: () => child.kill('SIGTERM') };
}

test.serial('a start waits for absent servers: one line each, alive and not ready', async (t) => {
  const away = await freePort();
  const service = running(t, {
    DATA_DIR: await folderOf(t),
    MONGODB_URL: `mongodb://127.0.0.1:${away}/?serverSelectionTimeoutMS=500`,
    ROLES: 'http',
    WEBHOOK_SIGNING_KEY: 'k'.repeat(32),
  });
  const { url } = await service.line(/the service runs/);
  t.is((await fetch(`${url}/healthz`)).status, 200);
  t.is((await fetch(`${url}/readyz`)).status, 503);
  t.is(service.lines.filter(({ level }) => level >= 40).length, 1);
});

test.serial('of two services that start at once over damaged stores one sets them aside, and both run', async (t) => {
  const data_dir = await filled(t);
  for (const name of ['documents.db', 'queue.db']) await writeFile(join(data_dir, name), 'garbage '.repeat(1_000));
  const services = [1, 2].map(() => running(t, { DATA_DIR: data_dir, ROLES: 'http' }));
  for (const { line } of services) await line(/the service runs/);
  t.is((await asideOf(data_dir)).filter((name) => name.startsWith('documents.db')).length, 1);
  t.is((await asideOf(data_dir)).filter((name) => name.startsWith('queue.db')).length, 1);
  for (const { lines } of services)
    t.deepEqual(
      lines.filter(({ level }) => level >= 50),
      [],
    );
});

test.serial('damage that a request meets ends the process with a line that names the file', async (t) => {
  const data_dir = await folderOf(t);
  const built = running(t, { DATA_DIR: data_dir });
  await fetch(`${(await built.line(/the service runs/)).url}/users/me/credits`);
  built.stop();
  await built.exited;
  const first = running(t, { DATA_DIR: data_dir, ROLES: 'http' });
  const { url } = await first.line(/the service runs/);
  const path = join(data_dir, 'documents.db');
  const bytes = await readFile(path);
  await writeFile(path, bytes.fill('x', 4096));
  const headers = { authorization: `Bearer uc_live_${'x'.repeat(43)}` };
  const answer = await fetch(`${url}/api/v2/usage`, { headers, signal: AbortSignal.timeout(100_000) });
  t.true(answer.status >= 500);
  const [code] = await first.exited;
  t.is(code, 1);
  t.regex((await first.line(/the service ends/)).msg, /documents\.db is damaged/);
  const second = running(t, { DATA_DIR: data_dir, ROLES: 'http' });
  await second.line(/set aside/);
  await second.line(/the service runs/);
});

test('a process learns that another one has set its store aside', async (t) => {
  const data_dir = await filled(t);
  const { promise, resolve } = Promise.withResolvers<Error>();
  t.teardown(onReplacement({ data_dir, ...OPEN }, resolve, 5));
  await writeFile(join(data_dir, 'documents.db'), 'garbage '.repeat(1_000));
  await prepareDataDir({ data_dir, ...OPEN }, warnings().logger);
  await (await openSqliteDocuments({ path: join(data_dir, 'documents.db') })).close();
  t.regex((await promise).message, /another file is in the place of .*documents\.db/);
});

test('a process learns that its folder was deleted, and ends before it takes more that nobody keeps', async (t) => {
  const data_dir = await filled(t);
  const said: string[] = [];
  t.teardown(onReplacement({ data_dir, ...OPEN }, ({ message }) => said.push(message), 5));
  const aside = `${data_dir}.aside`;
  // At once: the watch looks between two turns of the event loop.
  renameSync(data_dir, aside);
  symlinkSync(data_dir, data_dir);
  await new Promise((looked) => setTimeout(looked, 20));
  t.deepEqual(said, [], 'a disk that fails does not say that the file is gone');
  rmSync(data_dir);
  renameSync(aside, data_dir);
  await rm(data_dir, { recursive: true });
  await until(() => said.length > 0);
  t.regex(said[0]!, /in the place of .*\.db, or none/);
});

test('a start with another PERSONAL_DATA_KEY than the log was begun with is refused', async (t) => {
  const data_dir = await folderOf(t);
  const open = (letter: string) => {
    const config = { data_dir, ...OPEN, personal_data_key: letter.repeat(32) } as never;
    const opening = { of: 'others', signal: new AbortController().signal, waiting: () => {} } as const;
    return openStores(config, warnings().logger, opening);
  };
  await (await open('a')).close();
  const error = await t.throwsAsync(open('b'), { instanceOf: StartError });
  t.regex(error.message, /is sealed under another PERSONAL_DATA_KEY/);
  await (await open('a')).close();
});

test('other users of the machine cannot read a new data folder', async (t) => {
  const data_dir = join(await folderOf(t), 'data');
  await prepareDataDir({ data_dir, ...OPEN }, pino({ enabled: false }));
  t.is((await stat(data_dir)).mode & 0o777, 0o700);
});

test.serial(
  'the log of a first start says where the service is, and not how each empty read model is made',
  async (t) => {
    const child = start({ DATA_DIR: await folderOf(t), LOG_LEVEL: 'info' });
    let said = '';
    child.stdout.setEncoding('utf8').on('data', (piece: string) => (said += piece));
    await until(() => said.includes('"the service runs"'));
    const { url } = JSON.parse(said.split('\n').find((line) => line.includes('"the service runs"'))!) as {
      url: string;
    };
    await until(async () => (await fetch(`${url}/readyz`)).ok);
    child.kill();
    await once(child, 'exit');
    t.notRegex(said, /read model/);
  },
);
