// The SQLite event log between threads and processes, and after some of them were killed.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import test, { type ExecutionContext } from 'ava';
import { openSqliteEventStore } from '../../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { ids, listen, soon } from '../../contracts/event-store/fixture.ts';
import { APPEND } from './sqlite-writer.ts';

const WRITER = new URL('./sqlite-writer.ts', import.meta.url);
const STORE = new URL('../../../adapters/eventstore/sqlite/sqlite-event-store.ts', import.meta.url);

async function newPath(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'event-log-'));
  t.teardown(() => rm(folder, { recursive: true }));
  return join(folder, 'events.db');
}

function spawnNode(t: ExecutionContext, args: string[]): ChildProcess {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => child.kill('SIGKILL'));
  return child;
}

const exited = async (running: ChildProcess | Worker): Promise<unknown> => (await once(running, 'exit'))[0];

test('a reader gets every event once and in order while two threads and a process append', async (t) => {
  const path = await newPath(t);
  const appends = 150;
  // All of them open an absent file at once.
  const writers = [
    new Worker(WRITER, { argv: [path, 'thread-1', appends] }),
    new Worker(WRITER, { argv: [path, 'thread-2', appends] }),
    spawnNode(t, [fileURLToPath(WRITER), path, 'process-1', String(appends)]),
  ];
  const exits = Promise.all(writers.map(exited));
  const store = await openSqliteEventStore({ path });
  t.teardown(() => store.close());
  const total = 3 * appends * APPEND;
  const { events } = await listen(store, {}, (heard) => heard.events.length >= total);
  t.deepEqual(await soon(exits, 'the writers end'), [0, 0, 0]);
  const log = await Array.fromAsync(store.readAll());
  t.is(log.length, total);
  t.deepEqual(ids(events), ids(log));
  t.deepEqual(
    log.map((event) => Number(event.position)),
    Array.from({ length: total }, (_, n) => n + 1),
  );
  for (const stream of ['thread-1', 'thread-2', 'process-1']) {
    const revisions = events.filter((event) => event.stream === stream).map((event) => event.revision);
    t.deepEqual(
      revisions,
      Array.from({ length: appends * APPEND }, (_, n) => n),
    );
  }
});

test('a waiting subscription gets the appends of another process', async (t) => {
  const path = await newPath(t);
  const store = await openSqliteEventStore({ path });
  t.teardown(() => store.close());
  const appends = 20;
  const listening = listen(store, {}, (heard) => heard.events.length >= appends * APPEND);
  const writer = spawnNode(t, [fileURLToPath(WRITER), path, 'process-1', String(appends)]);
  t.is(await soon(exited(writer), 'the writer ends'), 0);
  t.deepEqual(ids((await listening).events), ids(await Array.fromAsync(store.readAll())));
});

test('after kill -9 of a writer the log has every acknowledged append, and no part of another', async (t) => {
  const path = await newPath(t);
  let acknowledged = -1;
  for (let round = 0; round < 5; round += 1) {
    const writer = spawnNode(t, [fileURLToPath(WRITER), path, 'killed-1', 'forever']);
    const exit = exited(writer);
    let lines = 0;
    for await (const line of createInterface({ input: writer.stdout! })) {
      acknowledged = Number(line);
      lines += 1;
      // The lines still in the pipe are read after it.
      if (lines === 20 + 7 * round) writer.kill('SIGKILL');
    }
    await exit;
    t.is(writer.signalCode, 'SIGKILL');
    const store = await openSqliteEventStore({ path });
    const events = await Array.fromAsync(store.readStream('killed-1'));
    await store.close();
    t.true(events.length > acknowledged, `${events.length} events, acknowledged up to revision ${acknowledged}`);
    t.is(events.length % APPEND, 0);
    events.forEach((event, n) => {
      t.is(event.revision, n);
      t.is((event.data as { revision: number }).revision, n);
      t.is(event.metadata.command_id, events[n - (n % APPEND)]!.metadata.command_id);
    });
  }
});

const PROGRAM = `
  import { openSqliteEventStore } from ${JSON.stringify(STORE.href)};
  const store = await openSqliteEventStore({ path: process.argv[1] });
  const metadata = { command_id: 'c', causation_id: 'c', actor: 'process:test', at: '2026-01-01T00:00:00.000Z' };
  await store.append('exit-1', 'no_stream', [{ id: 'a', type: 'Happened', data: {}, metadata }]);
`;
const CLOSING = `
  const signal = new AbortController().signal;
  for await (const { events } of store.subscribe({ signal })) if (events.length > 0) setImmediate(() => store.close());
`;

for (const [title, program] of [
  ['an open log with nothing to wait for does not keep a process alive', PROGRAM],
  ['a closed log with a subscription does not keep a process alive', PROGRAM + CLOSING],
] as const) {
  test(title, async (t) => {
    const child = spawnNode(t, ['--input-type=module-typescript', '--eval', program, await newPath(t)]);
    t.is(await soon(exited(child), 'the process ends'), 0);
  });
}
