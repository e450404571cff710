// Long answers are written a piece at a time, to the same bytes, while others are answered.
import test from 'ava';
import fc from 'fast-check';
import { Type } from 'typebox';
import { GATEWAY } from '../../../../http/apis/gateway.ts';
import { hasLongList, jsonPieces } from '../../../../http/frame/answers/json-pieces.ts';
import { routeOf } from '../../../../http/frame/route.ts';
import { startSample } from '../../sample-app.ts';

const written = async (body: object) => Buffer.concat(await Array.fromAsync(jsonPieces(body))).toString();

test('jsonPieces writes the text of JSON.stringify', async (t) => {
  for (const body of [
    {},
    { a: undefined },
    { a: [] },
    { a: undefined, b: [undefined, null, { c: undefined }], d: 1 },
  ]) {
    t.is(await written(body), JSON.stringify(body));
  }
  const values = fc.dictionary(fc.string(), fc.anything({ withNullPrototype: false, withBigInt: false }));
  await fc.assert(
    fc.asyncProperty(values, async (body) => t.is(await written(body), JSON.stringify(body) as string)),
    { numRuns: 500 },
  );
});

test('hasLongList finds lists of more than a hundred items', (t) => {
  t.false(hasLongList({ a: Array(100).fill(1), b: 'x'.repeat(1000) }));
  t.true(hasLongList({ total: 1, items: Array(101).fill(1) }));
});

test('jsonPieces writes async iterables as lists, and reads later properties after them', async (t) => {
  let written_items = 0;
  const list = {
    async *[Symbol.asyncIterator]() {
      for (written_items = 0; written_items < 3; ) yield { n: ++written_items };
    },
  };
  const body = {
    list,
    get count() {
      return written_items;
    },
    again: list,
    none: { async *[Symbol.asyncIterator]() {} },
  };
  t.true(hasLongList(body));
  t.is(await written(body), '{"list":[{"n":1},{"n":2},{"n":3}],"count":3,"again":[{"n":1},{"n":2},{"n":3}],"none":[]}');
});

test('jsonPieces reads a list at the pace of its client', async (t) => {
  const item = 'x'.repeat(200_000);
  let read_bytes = 0;
  const items = {
    async *[Symbol.asyncIterator]() {
      for (let n = 0; n < 500; n++) {
        read_bytes += item.length;
        yield item;
      }
    },
  };
  const route = routeOf<unknown>(GATEWAY, 'sample');
  const page = route({
    ...{ method: 'GET', path: '/page', access: 'none', summary: 'A page' },
    responses: { 200: { description: 'It.', schema: Type.Object({ items: Type.Array(Type.String()) }) } },
    handler: () => ({ body: { items } }),
  });
  const sample = await startSample([page], {});
  t.teardown(sample.close);
  const response = await sample.request('/page', { headers: { 'accept-encoding': 'identity' } });
  let taken_bytes = 0;
  let most_held_bytes = 0;
  for await (const chunk of response.body!) {
    most_held_bytes = Math.max(most_held_bytes, read_bytes - taken_bytes);
    taken_bytes += chunk.length;
  }
  t.is(taken_bytes, '{"items":[]}'.length + 500 * (item.length + 2) + 499);
  // The buffers of both ends of the connection are counted too.
  t.true(most_held_bytes < 24 * 1024 * 1024, `${most_held_bytes} bytes were held`);
});

test('the service answers a page of long items whole, and other requests meanwhile', async (t) => {
  const items = Array.from({ length: 1000 }, (_, n) => ({ n, text: 'ü'.repeat(20_000) }));
  let turns = 0;
  const looking = setInterval(() => turns++, 0);
  const route = routeOf<unknown>(GATEWAY, 'sample');
  const page = route({
    ...{ method: 'GET', path: '/page', access: 'none', summary: 'A page' },
    responses: { 200: { description: 'It.', schema: Type.Object({}, { additionalProperties: true }) } },
    handler() {
      turns = 0;
      return { body: { items, total: 1000 } };
    },
  });
  const sample = await startSample([page], {}, { check_replies: false });
  t.teardown(async () => {
    clearInterval(looking);
    await sample.close();
  });
  const response = await sample.request('/page');
  const text = await response.text();
  t.true(turns > 2);
  t.is(response.headers.get('etag'), null);
  t.is(text, JSON.stringify({ items, total: 1000 }));
  const head = await sample.request('/page', { method: 'HEAD' });
  t.deepEqual([head.status, await head.text()], [200, '']);
});
