// Events in DuckDB that take more memory than it gets.
import { randomBytes } from 'node:crypto';
import test from 'ava';
import { openDatabase } from '../../analysis/duckdb.ts';
import { eventsTable, load } from '../../analysis/loading.ts';
import type { RecordedEvent } from '../../events/event-store.ts';

async function* heavyEvents(count: number): AsyncGenerator<RecordedEvent> {
  const metadata = { command_id: 'c', causation_id: 'c', actor: 'a', at: '2026-01-01T00:00:00.000Z' };
  for (let n = 0; n < count; n++) {
    const text = randomBytes(500_000).toString('hex');
    yield { position: `${n}`, stream: 's-1', revision: n, id: `${n}`, type: 'T', data: { text }, metadata } as never;
  }
}

test('events that do not fit the memory are refused with advice, while they are loaded', async (t) => {
  const database = await openDatabase();
  await database.run(eventsTable('events'));
  await database.run("SET memory_limit = '20MB'");
  await t.throwsAsync(load(database, heavyEvents(60), 'events'), {
    code: 'sql_error',
    message: /^this takes more memory than it gets: choose fewer events, .* as JSON lines /,
  });
  await database.close();
});

test('an error of what gives the events is passed on', async (t) => {
  const database = await openDatabase();
  await database.run(eventsTable('events'));
  const failing = async function* () {
    yield* heavyEvents(1);
    throw new Error('the log is away');
  };
  await t.throwsAsync(load(database, failing(), 'events'), { message: 'the log is away' });
  await database.close();
});
