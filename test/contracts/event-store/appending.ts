// Contract of `append` and `head`: expected revisions, all or nothing, order, positions, retries, sizes.
import { randomUUID } from 'node:crypto';
import { AppendTooLarge, eventBytes, MAX_APPEND_BYTES } from '../../../events/event-store.ts';
import { appendRuns } from '../../support/append-runs.ts';
import { appended, fill, ids, newEvent, newEvents, plain, type Sentence } from './fixture.ts';

export function appending(sentence: Sentence): void {
  sentence('an event reads back as it was appended', async (t, { store, other, category }) => {
    const event = newEvent(
      { url: 'https://example.com/', ok: true, none: null, list: [1, { deep: 'yes' }] },
      'Checked',
    );
    const result = await appended(store.append(`${category}-1`, 'no_stream', [event]));
    const expected = { ...event, stream: `${category}-1`, revision: 0, position: result.position };
    t.is(result.revision, 0);
    t.deepEqual((await Array.fromAsync(store.readStream(`${category}-1`))).map(plain), [expected]);
    t.deepEqual((await Array.fromAsync(other.readStream(`${category}-1`))).map(plain), [expected]);
    t.deepEqual((await Array.fromAsync(other.readAll({ filter: { categories: [category] } }))).map(plain), [expected]);
  });

  sentence('a read event can be spread and serialised like any object', async (t, { store, category }) => {
    const event = newEvent({ n: 1 });
    const { position } = await appended(store.append(`${category}-1`, 'no_stream', [event]));
    const [read] = await Array.fromAsync(store.readStream(`${category}-1`));
    const expected = { ...event, stream: `${category}-1`, revision: 0, position };
    t.deepEqual({ ...read! }, expected);
    t.deepEqual(JSON.parse(JSON.stringify(read)), expected);
  });

  sentence('an append at the last revision continues the stream', async (t, { store, other, category }) => {
    const stream = `${category}-1`;
    t.is((await appended(store.append(stream, 'no_stream', newEvents(3)))).revision, 2);
    t.is((await appended(other.append(stream, 2, newEvents(2)))).revision, 4);
    t.is((await appended(store.append(stream, 4, newEvents(1)))).revision, 5);
    t.deepEqual(
      (await Array.fromAsync(store.readStream(stream))).map((event) => event.revision),
      [0, 1, 2, 3, 4, 5],
    );
  });

  sentence(
    'any other expected revision is a conflict, which names the actual revision',
    async (t, { store, category }) => {
      const stream = `${category}-1`;
      const conflict = (actual: number | 'no_stream') => ({ ok: false as const, conflict: true as const, actual });
      t.deepEqual(await store.append(stream, 0, newEvents(1)), conflict('no_stream'));
      t.deepEqual(await store.append(stream, 7, newEvents(1)), conflict('no_stream'));
      t.deepEqual(await Array.fromAsync(store.readStream(stream)), []);
      await appended(store.append(stream, 'no_stream', newEvents(3)));
      for (const expected of ['no_stream', 0, 1, 3, 1_000] as const) {
        t.deepEqual(await store.append(stream, expected, newEvents(1)), conflict(2), `expected ${expected}`);
      }
      t.is((await Array.fromAsync(store.readStream(stream))).length, 3);
    },
  );

  sentence('a conflict appends none of the events', async (t, { store, category, filter }) => {
    const first = newEvents(2);
    await appended(store.append(`${category}-1`, 'no_stream', first));
    t.false((await store.append(`${category}-1`, 'no_stream', newEvents(50))).ok);
    t.deepEqual(ids(await Array.fromAsync(store.readAll({ filter }))), ids(first));
  });

  sentence('an event that the store cannot hold refuses its whole append', async (t, { store, category, filter }) => {
    const circular: { self?: unknown } = {};
    circular.self = circular;
    await t.throwsAsync(store.append(`${category}-1`, 'no_stream', [newEvent(), newEvent(circular), newEvent()]));
    t.deepEqual(await Array.fromAsync(store.readAll({ filter })), []);
    t.is((await appended(store.append(`${category}-1`, 'no_stream', newEvents(1)))).revision, 0);
  });

  sentence('positions rise over all streams, and every way to read gives the same ones', async (t, scene) => {
    const { store, other, category, filter } = scene;
    const last: string[] = [];
    for (let round = 0; round < 30; round += 1) {
      const writer = round % 2 === 0 ? store : other;
      const expected = round < 3 ? 'no_stream' : 2 * Math.floor(round / 3) - 1;
      const result = await appended(writer.append(`${category}-${round % 3}`, expected, newEvents(2, 2 * round)));
      last.push(result.position);
      t.true((await store.head()) >= result.position);
    }
    const log = await Array.fromAsync(store.readAll({ filter }));
    t.deepEqual(
      log.map((event) => event.data),
      Array.from({ length: 60 }, (_, n) => ({ n })),
    );
    const positions = log.map((event) => event.position);
    t.deepEqual(positions, [...new Set(positions)].sort());
    t.is(new Set(positions.map((position) => position.length)).size, 1, 'of one width');
    t.deepEqual(
      positions.filter((_, index) => index % 2 === 1),
      last,
    );
    for (const number of [0, 1, 2]) {
      const stream = (await Array.fromAsync(other.readStream(`${category}-${number}`))).map(plain);
      t.deepEqual(stream, log.filter((event) => event.stream === `${category}-${number}`).map(plain));
    }
  });

  sentence('concurrent appends are decided one by one', async (t, { store, category }) => {
    const results = await Promise.all([
      store.append(`${category}-1`, 'no_stream', newEvents(2)),
      store.append(`${category}-1`, 'no_stream', newEvents(2)),
      store.append(`${category}-2`, 5, newEvents(1)),
      store.append(`${category}-2`, 'no_stream', newEvents(1)),
      store.append(`${category}-3`, 'no_stream', []).catch((error: unknown) => error),
    ]);
    t.deepEqual([results[0], results[1]].map((result) => (result as { ok: boolean }).ok).sort(), [false, true]);
    t.true(results[4] instanceof Error);
    t.is((await Array.fromAsync(store.readStream(`${category}-1`))).length, 2);
    t.is((await Array.fromAsync(store.readStream(`${category}-2`))).length, 1);
  });

  sentence('a repeated append succeeds with the first positions', async (t, { store, other, category }) => {
    const stream = `${category}-1`;
    const created = newEvents(3);
    const continued = newEvents(4);
    const first = await store.append(stream, 'no_stream', created);
    t.deepEqual(await store.append(stream, 'no_stream', created), first);
    t.deepEqual(await other.append(stream, 'no_stream', created), first);
    const second = await store.append(stream, 2, continued);
    t.deepEqual(await other.append(stream, 2, continued), second);
    t.deepEqual(await other.append(stream, 'no_stream', created), first, 'also when the stream has moved on');
    t.deepEqual(ids(await Array.fromAsync(store.readStream(stream))), ids([...created, ...continued]));
  });

  sentence('some of the same ids, another order or another stream is a conflict', async (t, { store, category }) => {
    const stream = `${category}-1`;
    const events = newEvents(3);
    const [a, b, c] = events as [(typeof events)[0], (typeof events)[0], (typeof events)[0]];
    await appended(store.append(stream, 'no_stream', events));
    const conflict = { ok: false as const, conflict: true as const, actual: 2 };
    t.deepEqual(await store.append(stream, 'no_stream', [a, b, newEvent()]), conflict, 'the last one is new');
    t.deepEqual(await store.append(stream, 'no_stream', [newEvent(), b, c]), conflict, 'the first one is new');
    t.deepEqual(await store.append(stream, 'no_stream', [a, b, c, newEvent()]), conflict, 'one more');
    t.deepEqual(await store.append(stream, 'no_stream', [a, c, b]), conflict, 'another order');
    t.deepEqual(await store.append(stream, 0, events), conflict, 'another revision');
    t.deepEqual(ids(await Array.fromAsync(store.readStream(stream))), ids(events));
    t.true((await store.append(`${category}-2`, 'no_stream', events)).ok, 'another stream is another append');
  });

  sentence('a retry after a lost acknowledgement makes no second copy', async (t, scene) => {
    const { store, other, reopen, category } = scene;
    const before = newEvents(1);
    await appended(other.append(`${category}-1`, 'no_stream', before));
    const events = newEvents(5);
    const unheard = store.append(`${category}-1`, 0, events).catch(() => undefined);
    await store.close();
    await unheard;
    const again = await reopen();
    const result = await appended(again.append(`${category}-1`, 0, events));
    t.deepEqual(await other.append(`${category}-1`, 0, events), {
      ok: true as const,
      revision: 5,
      position: result.position,
    });
    t.deepEqual(ids(await Array.fromAsync(again.readStream(`${category}-1`))), ids([...before, ...events]));
  });

  sentence('any text comes back unchanged', async (t, { store, category }) => {
    // JSON escapes NUL and lone surrogates, so they survive UTF-8; keys are data like values.
    const data = {
      umlaut: 'Größe',
      astral: '𝒳😀',
      rtl: 'שלום',
      nul: 'a\0b',
      controls: '\u0001\u001f\u007f\u2028\u2029\ufeff',
      lone_surrogates: ['\ud800', 'x\udc00y'],
      '': { 'a"b\\c\n': '\u00e9 is not e\u0301' },
      __proto: 1e21,
      numbers: [0.1, -1, 2 ** 53 - 1, 1e-7],
    };
    const event = newEvent(data, 'Größe😀');
    event.metadata = { ...event.metadata, actor: 'user:Zoë\0😀\ud800' };
    await appended(store.append(`${category}-Größe-😀/?%_*`, 'no_stream', [event]));
    const [read] = await Array.fromAsync(store.readStream(`${category}-Größe-😀/?%_*`));
    t.deepEqual(read!.data, data);
    t.deepEqual(read!.metadata, event.metadata);
    t.is(read!.type, event.type);
    t.is(read!.stream, `${category}-Größe-😀/?%_*`);
  });

  sentence('data may be any JSON value', async (t, { store, category }) => {
    const values = [null, true, 0, '', 'text', [], {}, [[1]]];
    await appended(
      store.append(
        `${category}-1`,
        'no_stream',
        values.map((value) => newEvent(value)),
      ),
    );
    t.deepEqual(
      (await Array.fromAsync(store.readStream(`${category}-1`))).map((event) => event.data),
      values,
    );
  });

  sentence('each event keeps its own metadata', async (t, { store, category }) => {
    const events = newEvents(4).map((event, n) => ({ ...event, metadata: { ...event.metadata, actor: `user:${n}` } }));
    events[1]!.metadata = events[0]!.metadata;
    await appended(store.append(`${category}-1`, 'no_stream', events));
    t.deepEqual(
      (await Array.fromAsync(store.readStream(`${category}-1`))).map((event) => event.metadata),
      events.map((event) => event.metadata),
    );
  });

  sentence('the store keeps an event of 200 kB whole', async (t, { store, category }) => {
    const urls = Array.from({ length: 4_000 }, (_, n) => `https://example.com/${n}/${randomUUID()}`);
    t.true(JSON.stringify(urls).length > 200_000);
    await appended(store.append(`${category}-1`, 'no_stream', [newEvent({ urls }), newEvent({ urls })]));
    const read = await Array.fromAsync(store.readStream(`${category}-1`));
    t.deepEqual(
      read.map((event) => event.data),
      [{ urls }, { urls }],
    );
  });

  sentence(
    'an append has at most MAX_APPEND_BYTES, as eventBytes counts them',
    async (t, { store, category, filter }) => {
      const sized = (size_bytes: number, letter: string) => {
        const empty = newEvent({ text: '' }, 'Größe');
        const letters = (size_bytes - eventBytes(empty)) / Buffer.byteLength(letter);
        return { ...empty, data: { text: letter.repeat(letters) } };
      };
      const half = MAX_APPEND_BYTES / 2;
      const fits = [sized(half, 'x'), sized(half - 1, 'x')];
      t.is(
        fits.reduce((sum, event) => sum + eventBytes(event), 0),
        MAX_APPEND_BYTES - 1,
      );
      const too_large = { instanceOf: AppendTooLarge, code: 'append_too_large' };
      for (const events of [
        [sized(half, 'x'), sized(half + 1, 'x')],
        // Its length in characters is half of that.
        [sized(MAX_APPEND_BYTES + 2, 'ü')],
        newEvents(300).map((event) => ({ ...event, metadata: { ...event.metadata, actor: 'a'.repeat(4_000) } })),
      ]) {
        await t.throwsAsync(store.append(`${category}-1`, 'no_stream', events), too_large);
        for (const run of appendRuns(events.length === 1 ? [] : events)) {
          t.true(run.reduce((sum, event) => sum + eventBytes(event), 0) <= MAX_APPEND_BYTES);
        }
      }
      t.deepEqual(await Array.fromAsync(store.readAll({ filter })), []);
      await appended(store.append(`${category}-1`, 'no_stream', fits));
      await appended(store.append(`${category}-2`, 'no_stream', [sized(half, 'x'), sized(half, 'x')]));
      t.deepEqual(
        (await Array.fromAsync(store.readStream(`${category}-1`))).map((event) => event.data),
        fits.map((event) => event.data),
      );
    },
  );

  sentence('an append holds 1 to 1,000 events', async (t, { store, category, filter }) => {
    await t.throwsAsync(store.append(`${category}-1`, 'no_stream', []));
    await t.throwsAsync(store.append(`${category}-1`, 'no_stream', newEvents(1_001)));
    t.deepEqual(await Array.fromAsync(store.readAll({ filter })), []);
    const events = newEvents(1_000);
    t.is((await appended(store.append(`${category}-1`, 'no_stream', events))).revision, 999);
    t.deepEqual(ids(await Array.fromAsync(store.readStream(`${category}-1`))), ids(events));
  });

  sentence('appended events survive closing and opening', async (t, scene) => {
    const { store, other, reopen, category } = scene;
    const events = newEvents(1_500);
    const position = await fill(store, `${category}-1`, events);
    await store.close();
    await other.close();
    const again = await reopen();
    t.deepEqual(ids(await Array.fromAsync(again.readStream(`${category}-1`))), ids(events));
    t.true((await again.head()) >= position);
    t.is((await appended(again.append(`${category}-1`, 1_499, newEvents(1)))).revision, 1_500);
  });

  sentence('a closed store refuses to append, and closes again without an error', async (t, { store, category }) => {
    await store.close();
    await store.close();
    await t.throwsAsync(store.append(`${category}-1`, 'no_stream', newEvents(1)));
  });

  sentence('ordered appends enter the log in their order, and may be made again', async (t, scene) => {
    const { store, other, category, filter } = scene;
    const appends = Array.from({ length: 60 }, (_, n) => ({
      stream: `${category}-${n % 7}`,
      expected: n < 7 ? ('no_stream' as const) : 2 * Math.floor(n / 7) - 1,
      events: newEvents(2, n),
    }));
    const results = await store.appendInOrder(appends);
    t.true(results.every(({ ok }) => ok));
    t.deepEqual(await other.appendInOrder(appends), results);
    t.deepEqual(ids(await Array.fromAsync(store.readAll({ filter }))), ids(appends.flatMap(({ events }) => events)));
    const late = { stream: `${category}-0`, expected: 0, events: newEvents(1) };
    const [conflict] = await store.appendInOrder([late]);
    t.false(conflict!.ok);
    t.deepEqual(await store.appendInOrder([]), []);
  });
}
