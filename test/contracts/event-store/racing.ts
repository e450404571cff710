// Contract of writers that race: two connections, one stream, one winner a revision.
import type { EventStore } from '../../../events/event-store.ts';
import { appended, newEvent, newEvents, type Sentence } from './fixture.ts';

export function racing(sentence: Sentence): void {
  sentence('exactly one of two writers to a stream gets each revision', async (t, { store, other, category }) => {
    const stream = `${category}-1`;
    const wins_each = 80;
    await appended(store.append(stream, 'no_stream', [newEvent({ writer: 'none' })]));
    const won = new Map<number, string>();
    let conflicts = 0;
    const race = async (writer: string, connection: EventStore) => {
      let revision = 0;
      for (let wins = 0; wins < wins_each; ) {
        const result = await connection.append(stream, revision, [newEvent({ writer, wins })]);
        if (result.ok) {
          if (won.has(result.revision)) t.fail(`two winners of revision ${result.revision}`);
          won.set(result.revision, writer);
          revision = result.revision;
          wins += 1;
        } else {
          conflicts += 1;
          // The writer's revision is never ahead, because a stream only grows.
          t.true(typeof result.actual === 'number' && result.actual > revision);
          revision = result.actual as number;
        }
      }
    };
    await Promise.all([race('a', store), race('b', other)]);
    const events = await Array.fromAsync(store.readStream(stream, { from: 1 }));
    t.is(events.length, 2 * wins_each);
    for (const event of events) t.is((event.data as { writer: string }).writer, won.get(event.revision)!);
    t.true(conflicts > 0, 'they did race');
  });

  sentence('exactly one of many concurrent writers creates a stream', async (t, { store, other, category }) => {
    for (let round = 0; round < 20; round += 1) {
      const results = await Promise.all(
        [store, other, store, other, other].map((connection) =>
          connection.append(`${category}-${round}`, 'no_stream', newEvents(3)),
        ),
      );
      t.is(results.filter((result) => result.ok).length, 1);
      t.is((await Array.fromAsync(other.readStream(`${category}-${round}`))).length, 3);
    }
  });

  sentence('two writers with the same append both succeed, and the log has it once', async (t, scene) => {
    const { store, other, category } = scene;
    for (let round = 0; round < 50; round += 1) {
      const events = newEvents(3);
      const [one, two] = await Promise.all([
        store.append(`${category}-${round}`, 'no_stream', events),
        other.append(`${category}-${round}`, 'no_stream', events),
      ]);
      t.true(one.ok);
      t.deepEqual(one, two);
      t.is((await Array.fromAsync(store.readStream(`${category}-${round}`))).length, 3);
    }
  });

  sentence('writers of different streams never conflict', async (t, { store, other, category, filter }) => {
    const write = async (connection: EventStore, stream: string) => {
      for (let n = 0; n < 50; n += 1) {
        await appended(connection.append(stream, n === 0 ? 'no_stream' : n - 1, [newEvent({ n })]));
      }
    };
    await Promise.all([1, 2, 3, 4].map((number) => write(number % 2 === 0 ? store : other, `${category}-${number}`)));
    const log = await Array.fromAsync(store.readAll({ filter }));
    t.is(log.length, 200);
    for (const number of [1, 2, 3, 4]) {
      const revisions = log.filter((event) => event.stream === `${category}-${number}`).map((event) => event.revision);
      t.deepEqual(
        revisions,
        Array.from({ length: 50 }, (_, n) => n),
      );
    }
  });
}
