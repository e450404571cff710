import { readdir } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import test from 'ava';
import fc from 'fast-check';
import { Type } from 'typebox';
import { textOf } from '../../../../commands/jobs/intake.ts';
import { PUBLIC } from '../../../../http/apis/public.ts';
import { HttpError } from '../../../../http/frame/errors.ts';
import { StringListReader } from '../../../../http/frame/input/string-list.ts';
import { listBody } from '../../../../http/frame/request-bodies.ts';
import { type Route, routeOf } from '../../../../http/frame/route.ts';
import { type Sample, startSample, until } from '../../sample-app.ts';

const LIMIT_BYTES = 8 * 1024 * 1024;
const publicRoute = routeOf<unknown>(PUBLIC, 'sample');
let on_disk: string[] = [];
let reading: (() => Promise<void>) | null = null;

const ROUTES: Route<unknown>[] = [
  publicRoute({
    method: 'POST',
    path: '/list',
    access: 'none',
    summary: 'A list',
    body: listBody('urls', { limit_bytes: LIMIT_BYTES }),
    responses: { 200: { description: 'Fine.', schema: Type.Object({}, { additionalProperties: true }) } },
    async handler({ body: { length, fingerprint, pages, release }, ctx }) {
      on_disk = await readdir(sample.uploads).catch(() => []);
      await reading?.();
      const values = (await Array.fromAsync(pages())).flat();
      if (ctx.get('x-release') !== '') {
        await release();
        on_disk = await readdir(sample.uploads);
        return { body: { values: (await Array.fromAsync(pages())).length } };
      }
      return { body: { length, fingerprint, values: values.length, first: values[0], last: values.at(-1) } };
    },
  }),
];

let sample: Sample;
test.before(async () => void (sample = await startSample(ROUTES, undefined)));
test.after.always(() => sample?.close());

const JSON_TYPE = { 'content-type': 'application/json' };
async function send(body: string | Uint8Array) {
  const response = await sample.request('/api/v2/list', { method: 'POST', headers: JSON_TYPE, body: body as string });
  // biome-ignore lint/suspicious/noExplicitAny: what a test looks at it knows
  return { status: response.status, body: (await response.json()) as any };
}

const MANY = Array.from({ length: 50_000 }, (_, i) => `https://a.example/${i}/é`);
/** More than is parsed whole. */
const PADDING = ' '.repeat(70_000);

test.serial('the service keeps a long list on disk while the handler runs, and removes it afterwards', async (t) => {
  const { status, body } = await send(JSON.stringify({ urls: MANY }));
  t.is(status, 200);
  t.like(body, { length: 50_000, values: 50_000, first: MANY[0], last: MANY.at(-1) });
  t.is(on_disk.length, 1);
  t.deepEqual(await readdir(sample.uploads), []);
});

test.serial('a short list never goes to disk', async (t) => {
  const { body } = await send('{"urls":["https://a.example/"]}');
  t.like(body, { length: 1, values: 1, first: 'https://a.example/' });
  t.deepEqual(on_disk, []);
});

test.serial('a handler can release its list early', async (t) => {
  const headers = { ...JSON_TYPE, 'x-release': '1' };
  const init = { method: 'POST', headers, body: JSON.stringify({ urls: MANY }) };
  t.deepEqual(await (await sample.request('/api/v2/list', init)).json(), { values: 0 });
  t.deepEqual(on_disk, []);
});

test.serial('a failing handler leaves nothing on disk', async (t) => {
  reading = async () => {
    throw new HttpError(409, 'conflict', 'No.');
  };
  t.is((await send(JSON.stringify({ urls: MANY }))).status, 409);
  reading = null;
  t.deepEqual(await readdir(sample.uploads), []);
});

test.serial('a client that leaves during its list leaves nothing on disk', async (t) => {
  const request = httpRequest(`${sample.url}/api/v2/list`, { method: 'POST', headers: JSON_TYPE });
  request.on('error', () => {});
  request.write(JSON.stringify({ urls: MANY }).slice(0, -100));
  await until(async () => (await readdir(sample.uploads).catch(() => [])).length > 0);
  request.destroy();
  await until(async () => (await readdir(sample.uploads)).length === 0);
  t.pass();
});

test.serial('equal strings give equal fingerprints, however their JSON is written', async (t) => {
  const fingerprint = async (text: string) => (await send(text)).body.fingerprint;
  const plain = await fingerprint('{"urls":["https://a.example/","é"]}');
  t.is(await fingerprint('{ "urls" :\n["https:\\/\\/a.example\\/", "\\u00e9"] }'), plain);
  t.is(await fingerprint(`{"urls":["https://a.example/",${PADDING}"é"]}`), plain);
  t.not(await fingerprint('{"urls":["é","https://a.example/"]}'), plain);
  t.not(await fingerprint('{"urls":["https://a.example/é"]}'), plain);
});

const list = (...entries: string[]) => `{"urls":[${PADDING}${entries.join()}]}`;
const REFUSED: [what: string, body: string | Uint8Array, status: number, loc: unknown, type: string][] = [
  ['text that is cut off', list('"a"').slice(0, -2), 400, undefined, 'invalid_json'],
  ['text that is cut off in a string', list('"a"').slice(0, -4), 400, undefined, 'invalid_json'],
  ['something after the end', `${list('"a"')}{}`, 400, undefined, 'invalid_json'],
  ['a comma too many', list('"a",'), 400, undefined, 'invalid_json'],
  ['a colon for a comma', list('"a":"b"'), 400, undefined, 'invalid_json'],
  ['a control character', list('"a\u0001"'), 400, undefined, 'invalid_json'],
  ['bytes that are not UTF-8', Buffer.from(list('"\xe9tat"'), 'latin1'), 400, undefined, 'invalid_encoding'],
  ['a list', `[${PADDING}]`, 422, ['body'], 'object_type'],
  ['a number', `${PADDING}7 `, 422, ['body'], 'object_type'],
  ['no list', `{${PADDING}}`, 422, ['body', 'urls'], 'missing'],
  ['an empty list', list(), 422, ['body', 'urls'], 'minItems'],
  ['text for the list', `{"urls":${PADDING}"a"}`, 422, ['body', 'urls'], 'array_type'],
  ['a field that is not known', `{${PADDING}"url":["a"]}`, 422, ['body', 'url'], 'unexpected'],
  ['a field after the list', `{"urls":[${PADDING}"a"],"b":1}`, 422, ['body', 'b'], 'unexpected'],
  ['the list twice', '{"urls":["a"],"urls":["b"]}', 422, ['body', 'urls'], 'repeated'],
  ['an object in the list', list('"a"', '{}'), 422, ['body', 'urls', 1], 'string_type'],
  ['endless nesting', list('['.repeat(100_000)), 422, ['body', 'urls', 0], 'string_type'],
  ['a NUL character', list('"a\\u0000"'), 422, ['body', 'urls', 0], 'nul'],
  ['half of a surrogate pair', list('"a\\ud800"'), 422, ['body', 'urls', 0], 'surrogate'],
];
for (const [what, body, status, loc, type] of REFUSED) {
  test.serial(`${what}: ${status} ${type}`, async (t) => {
    const answer = await send(body);
    t.is(answer.status, status, JSON.stringify(answer.body));
    const { error } = answer.body;
    t.is(error.code, 'validation_error');
    const [problem] = error.details.problems ?? [];
    t.deepEqual([problem?.type ?? error.details.reason, problem?.loc], [type, loc]);
  });
}

test.serial('the answer names up to fifty entries that are not strings', async (t) => {
  const { body } = await send(list('"a"', '7', 'null', ...Array.from({ length: 100 }, () => 'true')));
  const { problems } = body.error.details;
  t.is(problems.length, 50);
  t.deepEqual(problems[0], { loc: ['body', 'urls', 1], msg: 'must be string', type: 'string_type', value: 7 });
  t.like(problems[1], { loc: ['body', 'urls', 2], value: null });
});

test.serial('the service refuses a body over the limit, announced or not', async (t) => {
  const text = JSON.stringify({ urls: Array.from({ length: 20 }, () => 'x'.repeat(500_000)) });
  t.is((await send(text)).body.error.code, 'payload_too_large');
  async function* chunks() {
    for (let at = 0; at < text.length; at += 100_000) yield Buffer.from(text.slice(at, at + 100_000));
  }
  const init = { method: 'POST', headers: JSON_TYPE, body: chunks(), duplex: 'half' };
  t.is((await sample.request('/api/v2/list', init as unknown as RequestInit)).status, 413);
  t.deepEqual(await readdir(sample.uploads), []);
});

test('the reader reads any strings in any chunks as JSON.parse does', (t) => {
  const strings = fc.array(
    fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('\0')),
    { minLength: 1 },
  );
  fc.assert(
    fc.property(strings, fc.array(fc.nat(30), { minLength: 1, maxLength: 20 }), (values, sizes) => {
      const bytes = Buffer.from(JSON.stringify({ urls: values }, null, 1));
      const read: string[] = [];
      const reader = new StringListReader({ field: 'urls' }, (value) => read.push(textOf(value)));
      for (let at = 0, n = 0; at < bytes.length; n++) {
        const size = sizes[n % sizes.length]! + 1;
        reader.write(bytes.subarray(at, at + size));
        at += size;
      }
      reader.end();
      t.deepEqual(read, values);
    }),
  );
});

function readWhole(text: string): string[] | null {
  const read: string[] = [];
  const reader = new StringListReader({ field: 'urls' }, (value) => read.push(textOf(value)));
  try {
    reader.write(Buffer.from(text));
    reader.end();
    return read;
  } catch (error) {
    if (error instanceof HttpError) return null;
    throw error;
  }
}

function parseWhole(text: string): string[] | null {
  try {
    const value = JSON.parse(text);
    const is_list = Array.isArray(value.urls) && value.urls.length > 0 && Object.keys(value).length === 1;
    return is_list && value.urls.every((one: unknown) => typeof one === 'string') ? value.urls : null;
  } catch {
    return null;
  }
}

test('the reader takes a broken text exactly when JSON.parse and the schema take it', (t) => {
  const pieces = [
    '{',
    '}',
    '[',
    ']',
    ':',
    ',',
    '"',
    '\\',
    '\\u',
    '\n',
    ' ',
    'a',
    '0',
    '1',
    '-',
    '.',
    'e',
    'true',
    'null',
    '"urls"',
  ];
  const mutation = fc.record({
    at: fc.nat(60),
    drop: fc.nat(3),
    put: fc.array(fc.constantFrom(...pieces), { maxLength: 2 }),
  });
  let taken = 0;
  fc.assert(
    fc.property(
      fc.array(fc.string({ maxLength: 5 }), { maxLength: 4 }),
      fc.array(mutation, { maxLength: 3 }),
      (values, mutations) => {
        let text = JSON.stringify({ urls: values });
        for (const { at, drop, put } of mutations) text = text.slice(0, at) + put.join('') + text.slice(at + drop);
        // A name that is there twice is refused here, and the last one counts there; a NUL is never taken.
        if (text.split('"urls"').length > 2 || text.includes('u0000')) return;
        const expected = parseWhole(text);
        if (expected) taken++;
        t.deepEqual(readWhole(text), expected, text);
      },
    ),
    { numRuns: 3000 },
  );
  t.true(taken > 300, `${taken} were taken`);
});

test('the reader refuses a string beyond any URL before its end comes', (t) => {
  const taken: string[] = [];
  const reader = new StringListReader({ field: 'urls' }, (value) => void taken.push(textOf(value)));
  reader.write(Buffer.from(`{"urls":["${'x'.repeat(900_000)}","${'x'.repeat(900_000)}",`));
  t.is(taken.length, 2);
  const error = t.throws(() => reader.write(Buffer.from(`"${'x'.repeat(1_200_000)}`)), { instanceOf: HttpError });
  t.like(error, { status: 422, problems: [{ loc: ['body', 'urls', 2], type: 'maxLength' }] });
});
