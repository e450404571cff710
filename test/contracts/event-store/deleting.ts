// Contract of `deleteStream`: gone for good.
import { appended, type Fixture, fill, ids, newEvents, type Sentence } from './fixture.ts';

export function deleting(sentence: Sentence, fixture: Fixture): void {
  sentence('a deleted stream reads empty and refuses every append', async (t, { store, other, category }) => {
    const stream = `${category}-1`;
    const events = newEvents(3);
    await fill(store, stream, events);
    await store.deleteStream(stream);
    for (const connection of [store, other]) {
      t.deepEqual(await Array.fromAsync(connection.readStream(stream)), []);
      t.deepEqual(await Array.fromAsync(connection.readStream(stream, { direction: 'backwards', limit: 1 })), []);
      for (const expected of ['no_stream', 0, 2] as const) {
        const result = await connection.append(stream, expected, newEvents(1));
        t.deepEqual(result, { ok: false as const, conflict: true as const, actual: 'no_stream' as const });
      }
      t.false((await connection.append(stream, 'no_stream', events)).ok, 'a retry of what was deleted neither');
    }
    t.deepEqual(await Array.fromAsync(store.readStream(stream)), []);
  });

  sentence(
    'the head does not move back when the newest stream is deleted',
    async (t, { store, other, category, scavenge }) => {
      await fill(store, `${category}-1`, newEvents(1));
      const newest = await fill(store, `${category}-2`, newEvents(3));
      await store.deleteStream(`${category}-2`);
      scavenge();
      for (const connection of [store, other]) t.true((await connection.head()) >= newest);
    },
  );

  sentence('other streams keep their events and positions', async (t, { store, category, filter }) => {
    const kept = newEvents(3);
    await fill(store, `${category}-1`, newEvents(1_200));
    await fill(store, `${category}-2`, kept);
    const last = await fill(store, `${category}-3`, newEvents(2));
    const before = await Array.fromAsync(store.readAll({ filter }));
    await store.deleteStream(`${category}-1`);
    await store.deleteStream(`${category}-3`);
    t.deepEqual(ids(await Array.fromAsync(store.readStream(`${category}-2`))), ids(kept));
    const expected =
      fixture.deletedEvents === 'gone' ? before.filter((event) => event.stream === `${category}-2`) : before;
    t.deepEqual(
      (await Array.fromAsync(store.readAll({ filter }))).map((event) => event.position),
      expected.map((event) => event.position),
    );
    const next = await appended(store.append(`${category}-2`, 2, newEvents(1)));
    t.true(next.position > last, 'a position is never given twice');
  });

  sentence(
    'deleting a stream twice, or one that never existed, causes no error',
    async (t, { store, other, category }) => {
      await fill(store, `${category}-1`, newEvents(1));
      await store.deleteStream(`${category}-1`);
      await t.notThrowsAsync(store.deleteStream(`${category}-1`));
      await t.notThrowsAsync(other.deleteStream(`${category}-1`));
      await t.notThrowsAsync(store.deleteStream(`${category}-never`));
      t.deepEqual(await Array.fromAsync(store.readStream(`${category}-never`)), []);
    },
  );

  sentence(
    'the names of deleted streams are known, also to other connections',
    async (t, { store, other, category }) => {
      const names = Array.from({ length: 40 }, (_, n) => `${category}-${n}`);
      for (const name of names) await fill(store, name, newEvents(1));
      for (const name of names.slice(10)) await store.deleteStream(name);
      await store.deleteStream(`${category}-never`);
      for (const connection of [store, other]) {
        const deleted = (await Array.fromAsync(connection.deletedStreams())).filter((name) =>
          name.startsWith(category),
        );
        t.deepEqual([...new Set(deleted)].sort(), [...names.slice(10), `${category}-never`].sort());
      }
      const reached = await store.head();
      await store.deleteStream(names[0]!);
      t.true((await Array.fromAsync(other.deletedStreams(reached))).includes(names[0]!));
    },
  );
}
