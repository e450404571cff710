import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import test from 'ava';
import { Type } from 'typebox';
import { GATEWAY } from '../../../../http/apis/gateway.ts';
import { HttpError } from '../../../../http/frame/errors.ts';
import { removeAbandonedUploads } from '../../../../http/frame/input/uploads.ts';
import { fileBody, type UploadedFile } from '../../../../http/frame/request-bodies.ts';
import { type Route, routeOf } from '../../../../http/frame/route.ts';
import { type Sample, startSample, until } from '../../sample-app.ts';

const MAX_FILE_BYTES = 1024 * 1024;
/** What the handlers of one application were given. */
type Received = UploadedFile[];
const route = routeOf<Received>(GATEWAY, 'sample');
const responses = { 200: { description: 'Fine.', schema: Type.Object({}, { additionalProperties: true }) } };
const about = { method: 'POST', summary: 'A sample', responses, body: fileBody('The file.') } as const;

const ROUTES: Route<Received>[] = [
  route({
    ...about,
    path: '/upload',
    access: 'none',
    query: Type.Object({ column: Type.Optional(Type.String({ description: 'The column.' })) }),
    async handler({ body }, received) {
      received.push(body);
      const content = await readFile(body.path);
      const { path: _, ...described } = body;
      return { body: { ...described, text: content.toString().slice(0, 100), read_bytes: content.length } };
    },
  }),
  route({
    ...about,
    path: '/failing',
    access: 'none',
    handler({ body }, received) {
      received.push(body);
      throw new HttpError(409, 'no', 'No.');
    },
  }),
  route({ ...about, path: '/private', access: 'user', handler: () => ({ body: {} }) }),
];

/** One a test: each looks at what is left in its folder of uploads. */
async function start(t: { teardown(fn: () => Promise<void>): void }): Promise<Sample & { received: Received }> {
  const received: Received = [];
  const sample = await startSample(ROUTES, received);
  t.teardown(() => sample.close());
  return { ...sample, received };
}
const left = async (sample: Sample) => await readdir(sample.uploads).catch(() => []);

function formOf(content: string | Blob, filename = 'urls.csv', fields: Record<string, string> = {}): FormData {
  const data = new FormData();
  for (const [name, value] of Object.entries(fields)) data.set(name, value);
  data.set('file', typeof content === 'string' ? new Blob([content], { type: 'text/csv' }) : content, filename);
  return data;
}

type Answer = { status: number; body: Record<string, unknown> };
async function send(
  sample: Sample,
  path: string,
  body: FormData | string,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await sample.request(path, { method: 'POST', body, headers });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

test('the service keeps a file on disk while the handler runs, and removes it afterwards', async (t) => {
  const sample = await start(t);
  const { status, body } = await send(sample, '/upload', formOf('url\nhttps://a.example', 'ürls.csv', { note: 'hi' }));
  t.is(status, 200);
  t.like(body, { text: 'url\nhttps://a.example', filename: 'ürls.csv', size_bytes: 21 });
  t.true(sample.received[0]!.path.startsWith(sample.uploads));
  t.deepEqual(await left(sample), []);
});

test('the service takes the file under any field name', async (t) => {
  const sample = await start(t);
  const data = new FormData();
  data.set('csv', new Blob(['a']), 'a.csv');
  t.is((await send(sample, '/upload', data)).body.text, 'a');
});

test('the service takes an empty file', async (t) => {
  const sample = await start(t);
  t.is((await send(sample, '/upload', formOf(''))).body.size_bytes, 0);
});

test('the service takes a file of exactly the limit, and refuses one more byte', async (t) => {
  const sample = await start(t);
  const exact = await send(sample, '/upload', formOf('x'.repeat(MAX_FILE_BYTES)));
  t.is(exact.body.read_bytes, MAX_FILE_BYTES);
  const over = await send(sample, '/upload', formOf('x'.repeat(MAX_FILE_BYTES + 1)));
  t.deepEqual([over.status, over.body.code], [413, 'too_large']);
  t.deepEqual(await left(sample), []);
});

test('the service takes a file without a content type, whatever its size', async (t) => {
  const sample = await start(t);
  const content = 'https://a.example/\n'.repeat(20_000);
  const raw = `--b\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n${content}\r\n--b--\r\n`;
  const { body } = await send(sample, '/upload', raw, { 'content-type': 'multipart/form-data; boundary=b' });
  t.is(body.read_bytes, content.length);
  t.is(body.filename, 'a.csv');
});

test("the client's file name is never part of a path", async (t) => {
  const sample = await start(t);
  await send(sample, '/upload', formOf('a', '../../../etc/passwd'));
  t.true(sample.received[0]!.path.startsWith(sample.uploads));
  t.false(sample.received[0]!.path.includes('passwd'));
});

test('the service removes the file when the handler fails', async (t) => {
  const sample = await start(t);
  const { status } = await send(sample, '/failing', formOf('a'));
  t.is(status, 409);
  t.false(existsSync(sample.received[0]!.path));
  t.deepEqual(await left(sample), []);
});

const multipart = { 'content-type': 'multipart/form-data; boundary=b' };
const WRONG: [what: string, body: string | FormData, headers: Record<string, string>, status: number, code: string][] =
  [
    [
      'no file in the form',
      '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--b--\r\n',
      multipart,
      422,
      'missing',
    ],
    ['an empty form', '--b--\r\n', multipart, 422, 'missing'],
    [
      'a form that breaks off',
      '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nabc',
      multipart,
      400,
      'invalid_form',
    ],
    ['a form that is none', 'abc', multipart, 400, 'invalid_form'],
    ['no boundary', 'abc', { 'content-type': 'multipart/form-data' }, 400, 'invalid_form'],
    ['JSON', '{}', { 'content-type': 'application/json' }, 415, 'unsupported_media_type'],
    ['no body', '', {}, 422, 'missing'],
  ];
for (const [what, body, headers, status, code] of WRONG) {
  test(`${what}: ${status} ${code}, and nothing is left`, async (t) => {
    const sample = await start(t);
    const answer = await send(sample, '/upload', body, headers);
    t.is(answer.status, status);
    const problems = answer.body.detail as { type: string }[];
    t.is(answer.body.code ?? problems[0]?.type, code);
    t.deepEqual(await left(sample), []);
  });
}

test('the service refuses two files', async (t) => {
  const sample = await start(t);
  const data = formOf('a');
  data.append('file', new Blob(['b']), 'b.csv');
  const { status, body } = await send(sample, '/upload', data);
  t.is(status, 422);
  t.is((body.detail as { type: string }[])[0]?.type, 'too_many_files');
  t.deepEqual(await left(sample), []);
});

function open(sample: Sample, headers: Record<string, string | number>, path = '/upload'): ClientRequest {
  return httpRequest(sample.url + path, { method: 'POST', headers: { ...multipart, ...headers } });
}
const answered = async (request: ClientRequest) => {
  const response = await new Promise<IncomingMessage>((resolve, reject) =>
    request.on('response', resolve).on('error', reject),
  );
  const body = Buffer.concat(await response.toArray()).toString();
  return { status: response.statusCode, connection: response.headers.connection, body: JSON.parse(body) };
};

test('the service refuses an announced length over the limit before the body comes', async (t) => {
  const sample = await start(t);
  const request = open(sample, { 'content-length': 2 * MAX_FILE_BYTES });
  request.flushHeaders();
  const { status, connection } = await answered(request);
  t.deepEqual([status, connection], [413, 'close']);
  request.destroy();
});

test('the service refuses a chunked file over the limit while it is sent', async (t) => {
  const sample = await start(t);
  const request = open(sample, { 'transfer-encoding': 'chunked' });
  request.write('--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\nContent-Type: text/csv\r\n\r\n');
  request.write('x'.repeat(MAX_FILE_BYTES + 100));
  const { status, body } = await answered(request);
  t.deepEqual([status, body.code], [413, 'too_large']);
  request.destroy();
  t.deepEqual(await left(sample), []);
});

test('a client that sends far too much still gets its answer', async (t) => {
  const sample = await start(t);
  for (const megabytes of [2, 6]) {
    const { status } = await send(sample, '/upload', formOf(new Blob([new Uint8Array(megabytes * 1024 * 1024)])));
    t.is(status, 413);
  }
});

test('the service answers a refused caller with a large body, and closes the connection', async (t) => {
  const sample = await start(t);
  const request = open(sample, { 'content-length': MAX_FILE_BYTES }, '/private');
  request.write('--b');
  const { status, connection } = await answered(request);
  t.deepEqual([status, connection], [401, 'close']);
  request.destroy();
});

test('a client with Expect gets 100 Continue or the refusal', async (t) => {
  const sample = await start(t);
  const refused = open(sample, { 'content-length': MAX_FILE_BYTES, expect: '100-continue' }, '/private');
  let told_to_go_on = false;
  refused.on('continue', () => (told_to_go_on = true));
  refused.flushHeaders();
  t.is((await answered(refused)).status, 401);
  t.false(told_to_go_on);
  refused.destroy();

  const body = '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nabc\r\n--b--\r\n';
  const taken = open(sample, { 'content-length': body.length, expect: '100-continue' });
  taken.on('continue', () => taken.end(body));
  taken.flushHeaders();
  t.is((await answered(taken)).body.text, 'abc');
});

test('a client that leaves during an upload leaves nothing behind', async (t) => {
  const sample = await start(t);
  const socket = connect(Number(new URL(sample.url).port), '127.0.0.1');
  socket.write(
    'POST /upload HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 900000\r\n\r\n' +
      `--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n${'x'.repeat(100_000)}`,
  );
  await until(async () => (await left(sample)).length === 1);
  socket.destroy();
  await until(() => sample.logged.some((line) => line.msg === 'request'));
  await until(async () => (await left(sample)).length === 0);
  t.like(
    sample.logged.find((line) => line.msg === 'request'),
    { status: 499, route: '/upload' },
  );
  t.false(sample.logged.some((line) => line.msg === 'request failed'));
});

test('a client that leaves at any moment of an upload leaves nothing behind', async (t) => {
  const sample = await start(t);
  const form =
    'POST /upload HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 900000\r\n\r\n' +
    `--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n${'x'.repeat(10_000)}`;
  const cut = (bytes: number, turns: number) =>
    new Promise<void>((resolve) => {
      const socket = connect(Number(new URL(sample.url).port), '127.0.0.1', () => {
        let left_turns = turns;
        const turn = () => (left_turns-- > 0 ? setImmediate(turn) : socket.destroy());
        socket.write(form.slice(0, bytes), turn);
      });
      socket.on('close', () => resolve()).on('error', () => {});
    });
  for (let round = 0; round < 20; round++) {
    await Promise.all(Array.from({ length: 20 }, (_, n) => cut(110 + ((round * 20 + n) % 110), n % 5)));
  }
  for (let n = 0; n < 20; n++) await cut(form.length - n * 400, n);
  // The server's own requests end a moment after their sockets do.
  await until(async () => (await left(sample)).length === 0);
  t.is((await send(sample, '/upload', formOf('still there'))).status, 200);
  await until(async () => (await left(sample)).length === 0);
  t.false(sample.logged.some((line) => line.msg === 'request failed'));
});

test('the service refuses a file name that no file system takes, and endless headers', async (t) => {
  const sample = await start(t);
  const part = (filename: string) =>
    `--b\r\nContent-Disposition: form-data; name="file"; filename="${filename}"\r\n\r\nabc\r\n--b--\r\n`;
  const fine = await send(sample, '/upload', part('ü'.repeat(255)), multipart);
  t.deepEqual([fine.status, fine.body.filename], [200, 'ü'.repeat(255)]);
  const long = await send(sample, '/upload', part('x'.repeat(256)), multipart);
  t.is(long.status, 422);
  t.is((long.body.detail as { type: string }[])[0]?.type, 'filename_too_long');
  for (const size of [20_000, 500_000]) {
    const { status, body } = await send(sample, '/upload', part('x'.repeat(size)), multipart);
    t.deepEqual([status, body.code], [413, 'part_headers_too_large']);
  }
  t.deepEqual(await left(sample), []);
});

test('the service refuses a file name that is not UTF-8 with 422 and the name of its field', async (t) => {
  const sample = await start(t);
  const form = '--b\r\nContent-Disposition: form-data; name="list"; filename="\xfc.csv"\r\n\r\nabc\r\n--b--\r\n';
  const response = await sample.request('/upload', {
    ...{ method: 'POST', headers: multipart },
    body: Buffer.from(form, 'latin1'),
  });
  const { detail } = (await response.json()) as { detail: { loc: unknown; type: string }[] };
  t.deepEqual([response.status, detail[0]?.loc, detail[0]?.type], [422, ['body', 'list'], 'encoding']);
  t.deepEqual(await left(sample), []);
});

test('the service refuses a parameter of the query in the form, and names it', async (t) => {
  const sample = await start(t);
  const { status, body } = await send(sample, '/upload', formOf('a', 'a.csv', { column: 'B' }));
  t.is(status, 422);
  t.like((body.detail as object[])[0], { loc: ['body', 'column'], type: 'misplaced' });
  t.is((await send(sample, '/upload?column=B', formOf('a'))).status, 200);
  t.deepEqual(await left(sample), []);
});

test('the service refuses fields without end, of one name or of many, of one size or of another', async (t) => {
  const sample = await start(t);
  const field = (name: string, value: string) =>
    `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  const many = field('a', '').repeat(21);
  t.is((await send(sample, '/upload', `${many}--b--\r\n`, multipart)).status, 400);
  t.is((await send(sample, '/upload', `${field('a', 'x'.repeat(70_000))}--b--\r\n`, multipart)).status, 413);
  t.deepEqual(await left(sample), []);
});

test('the service decompresses a form and limits its decompressed size', async (t) => {
  const sample = await start(t);
  const formed = (content: string) =>
    Buffer.from(`--b\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n${content}\r\n--b--\r\n`);
  const ask = async (body: Buffer, encoding: string) => {
    const headers = { ...multipart, 'content-encoding': encoding };
    const response = await sample.request('/upload', { method: 'POST', body: new Uint8Array(body), headers });
    return { status: response.status, headers: response.headers, body: (await response.json()) as { code?: string } };
  };
  const content = 'https://a.example/\n'.repeat(5_000);
  const packers = { gzip: gzipSync, 'X-GZip': gzipSync, deflate: deflateSync, br: brotliCompressSync };
  for (const [encoding, pack] of Object.entries(packers)) {
    t.like((await ask(pack(formed(content)), encoding)).body, { size_bytes: content.length, filename: 'a.csv' });
    const bomb = await ask(pack(formed('x'.repeat(50 * MAX_FILE_BYTES))), encoding);
    t.deepEqual([bomb.status, bomb.body.code], [413, 'too_large'], encoding);
    const cut = await ask(pack(formed(content)).subarray(0, -20), encoding);
    t.deepEqual([cut.status, cut.body.code], [400, 'invalid_encoding'], encoding);
    const other = await ask(formed(content), encoding);
    t.deepEqual([other.status, other.body.code], [400, 'invalid_encoding'], encoding);
  }
  t.is((await ask(formed(content), 'identity')).status, 200);
  for (const encoding of ['zstd', 'gzip, gzip', 'constructor']) {
    const refused = await ask(formed(content), encoding);
    t.deepEqual([refused.status, refused.body.code], [415, 'unsupported_encoding'], encoding);
    t.is(refused.headers.get('accept-encoding'), 'gzip, deflate, br');
  }
  t.deepEqual(await left(sample), []);
});

test('the service limits the compressed size too, of what decompresses to nothing', async (t) => {
  const sample = await start(t);
  const nothing = Buffer.concat(Array(10_000).fill(gzipSync('')));
  let sent_bytes = 0;
  const body = new ReadableStream({
    pull(controller) {
      if (sent_bytes > 2 * MAX_FILE_BYTES) return controller.close();
      controller.enqueue(new Uint8Array(nothing));
      sent_bytes += nothing.length;
    },
  });
  const headers = { ...multipart, 'content-encoding': 'gzip' };
  const init: RequestInit & { duplex: 'half' } = { method: 'POST', body, headers, duplex: 'half' };
  const refused = await sample.request('/upload', init);
  t.is(refused.status, 413);
  t.deepEqual(await left(sample), []);
});

test('the sweep removes files of killed processes, and no file in use', async (t) => {
  const sample = await start(t);
  await mkdir(join(sample.uploads, 'upload-old'), { recursive: true });
  await mkdir(join(sample.uploads, 'upload-new'));
  await writeFile(join(sample.uploads, 'other'), '');
  const now = Date.now();
  const HOUR_MS = 3_600_000;
  const long_ago = new Date(now - 2 * HOUR_MS);
  await utimes(join(sample.uploads, 'upload-old'), long_ago, long_ago);
  await utimes(join(sample.uploads, 'other'), long_ago, long_ago);
  t.is(await removeAbandonedUploads(sample.uploads, HOUR_MS, now), 1);
  t.deepEqual((await left(sample)).sort(), ['other', 'upload-new']);
  t.is(await removeAbandonedUploads(join(sample.folder, 'none'), HOUR_MS, now), 0);
});
