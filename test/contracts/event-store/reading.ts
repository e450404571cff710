// Contract of `readStream`, `readAll` and `head`.
import { BEGINNING } from '../../../events/event-store.ts';
import { appended, fill, ids, newCategory, newEvent, newEvents, type Sentence } from './fixture.ts';

export function reading(sentence: Sentence): void {
  sentence('a stream reads forwards and backwards, from a revision, up to a limit', async (t, { store, category }) => {
    const stream = `${category}-1`;
    await fill(store, stream, newEvents(10));
    const revisions = async (options: Parameters<typeof store.readStream>[1]) =>
      (await Array.fromAsync(store.readStream(stream, options))).map((event) => event.revision);
    t.deepEqual(await revisions({}), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    t.deepEqual(await revisions({ from: 7 }), [7, 8, 9]);
    t.deepEqual(await revisions({ from: 9 }), [9]);
    t.deepEqual(await revisions({ from: 10 }), []);
    t.deepEqual(await revisions({ from: 2, limit: 3 }), [2, 3, 4]);
    t.deepEqual(await revisions({ limit: 1 }), [0]);
    t.deepEqual(await revisions({ limit: 100 }), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    t.deepEqual(await revisions({ direction: 'backwards' }), [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
    t.deepEqual(await revisions({ direction: 'backwards', limit: 1 }), [9]);
    t.deepEqual(await revisions({ direction: 'backwards', from: 3 }), [3, 2, 1, 0]);
    t.deepEqual(await revisions({ direction: 'backwards', from: 3, limit: 2 }), [3, 2]);
    t.deepEqual(await revisions({ direction: 'backwards', from: 0 }), [0]);
  });

  sentence('an absent stream has no events', async (t, { store, category }) => {
    t.deepEqual(await Array.fromAsync(store.readStream(`${category}-none`)), []);
    t.deepEqual(await Array.fromAsync(store.readStream(`${category}-none`, { direction: 'backwards', limit: 1 })), []);
  });

  sentence(
    'the id of the last event of a stream, where the store has a look at it',
    async (t, { store, other, category }) => {
      const stream = `${category}-1`;
      const events = newEvents(3);
      const looks = [store, other]
        .filter(({ lastId }) => lastId !== undefined)
        .map((connection) => connection.lastId!.bind(connection));
      const seen = async () => {
        const at_once = [store, other].flatMap((one) => (one.lastIdNow ? [one.lastIdNow(stream)] : []));
        const found = await Promise.all(looks.map((look) => look(stream)));
        for (const id of at_once) t.is(id, found[0]);
        return found;
      };
      const from_all = (id: string | null) => looks.map(() => id);
      t.deepEqual(await seen(), from_all(null));
      await fill(store, stream, events);
      t.deepEqual(await seen(), from_all(events[2]!.id));
      await store.deleteStream(stream);
      t.deepEqual(await seen(), from_all(null));
    },
  );

  sentence('a long stream reads whole in both directions', async (t, { store, other, category, filter, long }) => {
    const events = newEvents(long);
    await fill(store, `${category}-1`, events);
    const forwards = await Array.fromAsync(other.readStream(`${category}-1`));
    t.deepEqual(ids(forwards), ids(events));
    t.true(forwards.every((event, n) => event.revision === n && (event.data as { n: number }).n === n));
    t.deepEqual(
      ids(await Array.fromAsync(other.readStream(`${category}-1`, { direction: 'backwards' }))),
      ids(events).reverse(),
    );
    t.deepEqual(
      ids(await Array.fromAsync(other.readStream(`${category}-1`, { from: 10, limit: long - 500 }))),
      ids(events.slice(10, long - 490)),
    );
    t.deepEqual(ids(await Array.fromAsync(other.readAll({ filter }))), ids(events));
  });

  sentence('the log reads after a position, up to a limit', async (t, { store, category, filter }) => {
    const events = newEvents(20);
    await fill(store, `${category}-1`, events.slice(0, 10));
    await fill(store, `${category}-2`, events.slice(10));
    const log = await Array.fromAsync(store.readAll({ from: BEGINNING, filter }));
    t.deepEqual(ids(log), ids(events));
    for (const [index, { position }] of log.entries()) {
      t.deepEqual(ids(await Array.fromAsync(store.readAll({ from: position, filter }))), ids(events.slice(index + 1)));
    }
    t.deepEqual(ids(await Array.fromAsync(store.readAll({ filter, limit: 3 }))), ids(events.slice(0, 3)));
    t.deepEqual(
      ids(await Array.fromAsync(store.readAll({ from: log[8]!.position, filter, limit: 4 }))),
      ids(events.slice(9, 13)),
    );
  });

  sentence('the log without a filter holds the streams of every category', async (t, { store, category }) => {
    const before = await store.head();
    const events = newEvents(6);
    await fill(store, `${category}-1`, events.slice(0, 3));
    await fill(store, `${newCategory()}-1`, events.slice(3));
    const log = await Array.fromAsync(store.readAll({ from: before }));
    const mine = new Set(ids(events));
    t.deepEqual(ids(log.filter((event) => mine.has(event.id))), ids(events));
  });

  sentence('a filter may name categories, types, or both', async (t, { store, category }) => {
    const second = newCategory();
    const letters = ['A', 'B', 'C', 'A', 'B'];
    const log = [category, second, category, second].flatMap((of, round) =>
      letters.map((type, n) => ({ of, round, event: newEvent({ round, n }, `${category}${type}`) })),
    );
    for (let round = 0; round < 4; round += 1) {
      const part = log.filter((entry) => entry.round === round);
      await fill(
        store,
        `${part[0]!.of}-${round}`,
        part.map((entry) => entry.event),
      );
    }
    const expected = (categories: string[], types: string[]) =>
      log
        .filter(({ of, event }) => categories.includes(of) && types.some((type) => event.type === `${category}${type}`))
        .map(({ event }) => event.id);
    const read = async (filter: Parameters<typeof store.readAll>[0]) =>
      ids(await Array.fromAsync(store.readAll(filter)));
    const typed = (...types: string[]) => types.map((type) => `${category}${type}`);

    t.deepEqual(await read({ filter: { categories: [second] } }), expected([second], ['A', 'B', 'C']));
    t.deepEqual(await read({ filter: { categories: [second, category] } }), ids(log.map(({ event }) => event)));
    t.deepEqual(await read({ filter: { types: typed('B') } }), expected([category, second], ['B']));
    t.deepEqual(await read({ filter: { types: typed('C', 'A') } }), expected([category, second], ['A', 'C']));
    t.deepEqual(
      await read({ filter: { categories: [category], types: typed('A', 'C') } }),
      expected([category], ['A', 'C']),
    );
    t.deepEqual(
      await read({ filter: { categories: [second], types: typed('B') }, limit: 3 }),
      expected([second], ['B']).slice(0, 3),
      'the limit counts what passes',
    );
    t.deepEqual(await read({ filter: { categories: [category], types: ['Other'] } }), []);
    t.deepEqual(await read({ filter: { categories: [category], types: [] } }), [], 'an empty list lists none');
    t.deepEqual(await read({ filter: { categories: [] } }), [], 'an empty list lists none');
  });

  sentence(
    "a category is the stream's name up to the first dash, and matches whole and literally",
    async (t, { store, category }) => {
      const streams = [
        category,
        `${category}-`,
        `${category}-a-b`,
        `${category}s-1`,
        category.replace('_', 'x') + '-1',
        `x${category}-1`,
        `${category.toUpperCase()}-1`,
      ];
      const events = newEvents(streams.length);
      for (const [n, stream] of streams.entries()) await fill(store, stream, [events[n]!]);
      const read = await Array.fromAsync(store.readAll({ filter: { categories: [category] } }));
      t.deepEqual(
        read.map((event) => event.stream),
        streams.slice(0, 3),
      );
      const upper = await Array.fromAsync(store.readAll({ filter: { categories: [category.toUpperCase()] } }));
      t.deepEqual(ids(upper), [events.at(-1)!.id]);
    },
  );

  sentence('types match whole and literally', async (t, { store, category, filter }) => {
    const types = ['URL_Checked', 'URLxChecked', 'URL_Checked2', 'url_checked', 'URL_Checked', 'XURL_Checked'];
    await fill(
      store,
      `${category}-1`,
      types.map((type) => newEvent({}, type)),
    );
    const read = await Array.fromAsync(store.readAll({ filter: { ...filter, types: ['URL_Checked'] } }));
    t.deepEqual(
      read.map((event) => event.revision),
      [0, 4],
    );
  });

  sentence('a read of the log ends where the log ended when the read began', async (t, scene) => {
    const { store, other, category, filter } = scene;
    const events = newEvents(2_500);
    await fill(store, `${category}-1`, events);
    const seen: string[] = [];
    for await (const event of store.readAll({ filter })) {
      // Two streams grow while the log is read: a reader that chased the end would never stop.
      if (seen.length % 100 === 0) {
        await appended(other.append(`${category}-1`, 2_499 + seen.length / 100, newEvents(1)));
        await appended(
          store.append(`${category}-2`, seen.length === 0 ? 'no_stream' : seen.length / 100 - 1, newEvents(1)),
        );
      }
      seen.push(event.id);
    }
    t.deepEqual(seen, ids(events));
  });

  sentence('a reader that stops early leaves nothing open', async (t, { store, category, filter }) => {
    await fill(store, `${category}-1`, newEvents(3_000));
    for await (const event of store.readStream(`${category}-1`)) if (event.revision === 5) break;
    for await (const event of store.readAll({ filter })) if (event.revision === 5) break;
    t.is((await appended(store.append(`${category}-1`, 2_999, newEvents(1)))).revision, 3_000);
  });

  sentence(
    'the size of the log grows with it, and is far from what the store can hold',
    async (t, { store, category }) => {
      const before = await store.size!();
      await fill(store, `${category}-1`, newEvents(500));
      const after = await store.size!();
      t.true(after.bytes > before.bytes);
      t.true(after.bytes < after.limit_bytes / 100);
      if (after.events !== null) t.true(after.events >= before.events! + 500);
    },
  );

  sentence('the head is the position of the last event', async (t, { store, other, category }) => {
    const first = await appended(store.append(`${category}-1`, 'no_stream', newEvents(5)));
    const between = await other.head();
    const second = await appended(store.append(`${category}-1`, 4, newEvents(1)));
    t.true(first.position <= between);
    t.true(between < second.position);
    t.true((await other.head()) >= second.position);
    t.true((await store.head()) >= second.position);
    t.true(BEGINNING < first.position);
  });
}
