// Streams of idempotency keys go when the service has long forgotten the keys, and no request gets a second job by it.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test, { type ExecutionContext } from 'ava';
import { openEventStoreDb } from '../../adapters/eventstore/eventstoredb/eventstoredb-event-store.ts';
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { openIdempotencyKeys } from '../../commands/idempotency.ts';
import { BEGINNING, type EventStore } from '../../events/event-store.ts';
import { retireOldKeys } from '../../processes/key-retirement.ts';
import { openRemovals } from '../../processes/removals.ts';
import { startEventStoreDbServer } from '../support/eventstoredb-server/eventstoredb-server.ts';
import { commandContext, openTestStores, silent } from '../support/stores.ts';
import { DAY_MS, grant, NOW, openProcess } from '../support/submitting-process.ts';

const never = new AbortController().signal;
const urls = ['https://a.example/'];

async function openEventStoreDbLog(t: ExecutionContext): Promise<EventStore> {
  const server = await startEventStoreDbServer();
  const log = await openEventStoreDb({ url: server.url, log: silent });
  t.teardown(async () => {
    await log.close();
    await server.close();
  });
  return log;
}

const pass = (log: EventStore, days: number, from = BEGINNING, removals = openRemovals()) =>
  retireOldKeys(
    {
      ...{ log, keys: openIdempotencyKeys(log), removals, logger: silent, now: () => NOW + days * DAY_MS },
      context: () => commandContext(NOW + days * DAY_MS),
    },
    from,
    never,
  );

/** Of streams that are not deleted. */
async function streamsOf(log: EventStore, category: string): Promise<string[]> {
  const events = await Array.fromAsync(log.readAll({ filter: { categories: [category] } }));
  const there: string[] = [];
  for (const stream of new Set(events.map(({ stream }) => stream))) {
    // Until it is scavenged, EventStoreDB lists the events of deleted streams.
    for await (const _ of log.readStream(stream, { limit: 1 })) there.push(stream);
  }
  return there;
}

const STORES = {
  SQLite: async (t: ExecutionContext) => (await openTestStores(t)).log,
  EventStoreDB: openEventStoreDbLog,
};
for (const [name, open] of Object.entries(STORES)) {
  test(`a key that is forgotten leaves nothing in ${name}, and is as good as new, again and again`, async (t) => {
    const log = await open(t);
    await grant(openProcess(log), 100);
    for (const [round, days] of [0, 31, 62].entries()) {
      const [first, second] = [openProcess(log), openProcess(log)];
      const now = NOW + days * DAY_MS;
      const made = await first.submit({ now, urls });
      t.like(made, { ok: true, replayed: false }, JSON.stringify(made));
      for (const process of [first, second]) {
        const again = await process.submit({ now: now + DAY_MS / 2, urls });
        t.like(again, { ok: true, replayed: true, answer: made.ok && made.answer });
      }
      t.is((await streamsOf(log, 'job')).length, round + 1);
      t.is((await streamsOf(log, 'idempotency')).length, 1);
      await pass(log, days + 29);
      t.is((await streamsOf(log, 'idempotency')).length, 1, 'not yet');
      await pass(log, days + 30.5);
      t.deepEqual(await streamsOf(log, 'idempotency'), []);
    }
  });
}

test('requests that come as their key is retired make one job between them', async (t) => {
  const { log } = await openTestStores(t);
  await grant(openProcess(log), 1_000);
  const keys = Array.from({ length: 20 }, (_, n) => `k${n}`);
  for (const key of keys) await openProcess(log).submit({ scope: { key }, urls });
  const now = NOW + 30.5 * DAY_MS;
  const [one, other] = [openProcess(log), openProcess(log)];
  const [, ...answers] = await Promise.all([
    pass(log, 30.5),
    ...keys.flatMap((key) => [one, other].map((process) => process.submit({ now, scope: { key }, urls }))),
  ]);
  for (const answer of answers) {
    if (!answer.ok) t.is((answer.refused as { code: string }).code, 'idempotency_in_progress');
  }
  t.is((await streamsOf(log, 'job')).length, 2 * keys.length);
});

test('a request that sleeps until its key is forgotten gets its own job, and the key is that of a later request', async (t) => {
  for (const retired of [false, true]) {
    const { log } = await openTestStores(t);
    await grant(openProcess(log), 100);
    const now = NOW + (retired ? 30.5 : 2) * DAY_MS;
    const later = () => openProcess(log).submit({ now, urls });
    const slept = await openProcess(log).submit({
      urls,
      async during() {
        if (retired) await pass(log, 30.5);
        t.like(await later(), { ok: true, replayed: false });
      },
    });
    const again = await later();
    t.like(
      [slept, again],
      [
        { ok: true, replayed: false },
        { ok: true, replayed: true },
      ],
    );
    t.not(slept.ok && slept.answer.job_id, again.ok && again.answer.job_id);
    t.is((await streamsOf(log, 'job')).length, 2);
  }
});

test('a stream whose process was killed before its deletion goes in the next pass, and none goes during a backup', async (t) => {
  const { log } = await openTestStores(t);
  await grant(openProcess(log), 100);
  await openProcess(log).submit({ urls });
  const [stream] = await streamsOf(log, 'idempotency');
  t.true(await openIdempotencyKeys(log).retire(stream!, commandContext(NOW + 31 * DAY_MS)));
  const removals = openRemovals();
  await removals.holdWhile(() => pass(log, 31, BEGINNING, removals));
  t.deepEqual(await streamsOf(log, 'idempotency'), [stream]);
  await pass(log, 31);
  t.deepEqual(await streamsOf(log, 'idempotency'), []);
});

test('a stream with a changed byte stays, and those after it go', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-keys-'));
  const path = join(folder, 'events.db');
  const log = await openSqliteEventStore({ path });
  t.teardown(async () => {
    await log.close();
    await rm(folder, { recursive: true });
  });
  await grant(openProcess(log), 100);
  for (const key of ['damaged', 'sound']) await openProcess(log).submit({ scope: { key }, urls });
  const [damaged] = await streamsOf(log, 'idempotency');
  const db = new DatabaseSync(path);
  db.prepare("UPDATE events SET data = '{' WHERE stream_id = (SELECT id FROM streams WHERE name = ?)").run(damaged!);
  db.close();
  await pass(log, 31);
  t.deepEqual(await streamsOf(log, 'idempotency'), [damaged]);
});
