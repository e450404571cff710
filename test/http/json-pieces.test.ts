// Long answers are written a piece at a time, to the same bytes, while others are answered.
import test from 'ava';
import fc from 'fast-check';
import { Type } from 'typebox';
import { GATEWAY } from '../../http/apis/gateway.ts';
import { hasLongList, jsonPieces } from '../../http/json-pieces.ts';
import { routeOf } from '../../http/route.ts';
import { startSample } from './sample-app.ts';

const written = async (body: object) => Buffer.concat(await jsonPieces(body)).toString();

test('an object in pieces is the JSON that it is whole', async (t) => {
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

test('only lists of many items are worth it', (t) => {
  t.false(hasLongList({ a: Array(100).fill(1), b: 'x'.repeat(1000) }));
  t.true(hasLongList({ total: 1, items: Array(101).fill(1) }));
});

test('a page of long items is answered whole, with its length, and others have turns while it is written', async (t) => {
  const items = Array.from({ length: 1000 }, (_, n) => ({ n, text: 'ü'.repeat(20_000) }));
  let turns = 0;
  const looking = setInterval(() => turns++, 0);
  const route = routeOf<unknown>(GATEWAY);
  const page = route({
    ...{ method: 'GET', path: '/page', access: 'none', summary: 'A page', tags: ['sample'] },
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
  t.true(turns > 2);
  const text = await response.text();
  t.is(response.headers.get('content-length'), String(Buffer.byteLength(text)));
  t.is(response.headers.get('etag'), null);
  t.is(text, JSON.stringify({ items, total: 1000 }));
  const head = await sample.request('/page', { method: 'HEAD' });
  t.deepEqual([head.status, await head.text()], [200, '']);
});
