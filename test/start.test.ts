// Starting where something is wrong: one line that says what, no stack, exit code 2; and damaged stores that can be made again.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import { pino } from 'pino';
import { openSqliteDocuments } from '../adapters/documents/sqlite/sqlite-documents.ts';
import { openSqliteEventStore } from '../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { markForCheck, prepareDataDir, StartError } from '../data-dir.ts';
import { apiKeys } from '../readmodels/api-keys.ts';

const MAIN = new URL('../main.ts', import.meta.url).pathname;

async function folderOf(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'start-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** What the service says when it cannot start. */
async function refused(t: ExecutionContext, env: Record<string, string>): Promise<string> {
  const child = spawn(process.execPath, [MAIN], {
    env: { PATH: process.env.PATH, LOG_LEVEL: 'warn', PORT: '0', ...env },
  });
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  t.is(code, 2, said);
  t.is(said.trimEnd().split('\n').length, 1, said);
  t.notRegex(said, /^ +at /m);
  return said;
}

test('a port that is taken, a folder that is none, a log that is damaged: one line each, and exit code 2', async (t) => {
  const folder = await folderOf(t);
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  t.regex(await refused(t, { DATA_DIR: folder, PORT: String(port) }), new RegExp(`PORT ${port} .* is taken`));
  server.close();
  await writeFile(join(folder, 'file'), '');
  t.regex(await refused(t, { DATA_DIR: join(folder, 'file') }), /DATA_DIR .*file is not a folder that can be written/);
  const damaged = join(folder, 'damaged');
  await mkdir(damaged);
  await writeFile(join(damaged, 'events.db'), 'garbage '.repeat(1_000));
  const said = await refused(t, { DATA_DIR: damaged });
  t.regex(said, /events\.db is damaged .*backup/);
  t.deepEqual(await readFile(join(damaged, 'events.db'), 'utf8'), 'garbage '.repeat(1_000));
});

const OPEN = { eventstore_url: null, mongodb_url: null, nats_url: null };

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
  test(`documents with ${what} are set aside once, whoever starts at once`, async (t) => {
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

test('a log that is cut off is refused, and left as it is', async (t) => {
  const data_dir = await filled(t);
  const path = join(data_dir, 'events.db');
  await truncate(path, 4096);
  await t.throwsAsync(prepareDataDir({ data_dir, ...OPEN }, warnings().logger), { instanceOf: StartError });
  t.is((await readFile(path)).length, 4096);
});
