// What clients send wrong, from outside: a 4xx that says what is wrong, and nothing that stays of it.
import { readFile } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { EventStore } from '../../events/event-store.ts';
import { inlineRow, workbook } from '../intake/uploads.ts';
import { type Descriptions, readDescriptions } from '../support/described.ts';
import { type Answer, startTestService, type TestClient, type TestService } from '../support/service.ts';
import { listings, NO_TRACES, openLog, tracesOf } from '../support/traces.ts';
import { until } from '../support/until.ts';

const MAX_FILE_BYTES = 200_000;
const MAX_URLS = 10;
/** So many that they are listed in many pages, before the one that is too many is read. */
const MANY_URLS = 20_000;
const LIMITS = {
  MAX_FILE_BYTES: String(MAX_FILE_BYTES),
  MAX_URLS_PER_JOB: String(MAX_URLS),
  MAX_INFLATED_BYTES: '1000000',
};

interface Running {
  service: TestService;
  log: EventStore;
  described: Descriptions;
}
/** With small limits, and with those of every day but for the number of URLs. */
let small: Running;
let usual: Running;

async function run(env: Record<string, string>): Promise<Running> {
  const service = await startTestService(env);
  return { service, log: await openLog(service), described: await readDescriptions(service.url) };
}
test.before(async () => {
  [small, usual] = await Promise.all([run(LIMITS), run({ MAX_URLS_PER_JOB: String(MANY_URLS) })]);
});
test.after.always(async () => {
  for (const running of [small, usual]) {
    await running?.log.close();
    await running?.service.stop();
  }
});

/** A newcomer, by the gateway and by an API key. */
interface Person {
  user_id: string;
  gateway: TestClient;
  key: TestClient;
}
let people = 0;
async function newcomer({ service }: Running): Promise<Person> {
  const user_id = `newcomer-${++people}`;
  const [gateway, key] = await Promise.all([service.client(user_id), service.keyHolder(user_id)]);
  return { user_id, gateway, key };
}

/** Tests are serial: each looks at all that is left in the service. */
async function nothingStays(t: ExecutionContext, running: Running, { gateway, user_id }: Person): Promise<void> {
  t.deepEqual(await tracesOf(running.service, running.log, gateway, user_id), NO_TRACES);
}

/** `code`: of the gateway; the public API has its own for each status, and this one as the reason where it differs. */
type Expected = [status: number, code: string, words: RegExp];

function assertRefused(t: ExecutionContext, running: Running, path: string, answer: Answer, expected: Expected): void {
  const [status, code, words] = expected;
  t.deepEqual([answer.status, codeOf(answer.body)], [status, code], JSON.stringify(answer.body));
  t.regex(messageOf(answer.body), words);
  t.is(running.described.problemOf('POST', path, answer), null);
}

const codeOf = ({ error, detail, code }: Answer['body']) =>
  error ? (error.details?.reason ?? detail?.[0].type ?? error.code) : (code ?? detail[0].type);
const messageOf = ({ error, detail }: Answer['body']) => error?.message ?? detail[0]?.msg ?? detail;

const PNG = Buffer.from('89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de', 'hex');
const rows = (count: number) => Array.from({ length: count }, (_, i) => `https://${i}.example/\n`).join('');
const zip_bomb = () => workbook({ sheets: [`${inlineRow('https://a.example/')}${' '.repeat(70 * 1024 * 1024)}`] });
const fat_workbook = () => workbook({ sheets: [inlineRow('https://a.example/').repeat(20_000)] });
const not_a_workbook = Buffer.from('PK\x03\x04 and then nothing that an archive has');

type Content = string | Buffer | (() => Promise<Buffer>);
const FILES: [what: string, name: string, content: Content, query: string, ...expected: Expected][] = [
  ['an empty file', 'a.csv', '', '', 422, 'empty_file', /file is empty/],
  ['a file without a URL', 'a.csv', 'name,age\nann,31\nbob,44\n', '', 422, 'no_urls', /no URL/],
  ['white space', 'a.csv', ' \n\n\t\n', '', 422, 'empty_file', /file is empty/],
  [
    'one byte over the limit',
    'a.csv',
    'x'.repeat(MAX_FILE_BYTES + 1),
    '',
    413,
    'too_large',
    /larger than 200000 bytes/,
  ],
  ['more URLs than a job takes', 'a.csv', rows(MAX_URLS + 1), '', 413, 'too_many_urls', /more than 10 unique/],
  ['a picture', 'a.csv', PNG, '', 415, 'not_a_table', /PNG picture/],
  ['NUL bytes', 'a.csv', `${rows(3)}https://a.example/\0\n`, '', 415, 'not_a_table', /binary data/],
  ['NUL bytes after the first 64 KiB', 'a.csv', `${'a\n'.repeat(50_000)}\0`, '', 415, 'not_a_table', /NUL bytes/],
  ['a ZIP bomb', 'a.xlsx', zip_bomb, '', 413, 'zip_bomb', /inflates/],
  ['a workbook that is too large inside', 'a.xlsx', fat_workbook, '', 413, 'inflated_too_large', /more than 1 MB/],
  ['a damaged workbook', 'a.xlsx', not_a_workbook, '', 422, 'broken_xlsx', /damaged/],
  [
    'a bad row that is not to be skipped',
    'a.csv',
    `${rows(2)}oops\n`,
    '?skip_invalid=false',
    422,
    'invalid_rows',
    /row 3: "oops"/,
  ],
  [
    'a prefix that is not to be added',
    'a.csv',
    'a.example\nb.example\n',
    '?auto_add_prefix=false',
    422,
    'no_urls',
    /2 invalid/,
  ],
  ['a malformed option', 'a.csv', rows(1), '?skip_invalid=maybe', 422, 'boolean_type', /boolean/],
  ['an unknown option', 'a.csv', rows(1), '?skip_invlaid=false', 422, 'unexpected', /allowed: auto_add_prefix/],
];
for (const [what, name, content, query, ...expected] of FILES) {
  test.serial(`upload of ${what}: ${expected[0]} ${expected[1]}`, async (t) => {
    const person = await newcomer(small);
    const bytes = typeof content === 'function' ? await content() : content;
    const answer = await person.gateway.upload(bytes, query, name);
    assertRefused(t, small, '/jobs', answer, expected);
    await nothingStays(t, small, person);
  });
}

const MULTIPART = 'multipart/form-data; boundary=b';
const part = (name: string, content: string, filename?: string) =>
  `--b\r\nContent-Disposition: form-data; name="${name}"${filename ? `; filename="${filename}"` : ''}\r\n\r\n${content}\r\n`;
const file_part = part('file', rows(2), 'a.csv');
const many_fields = Array.from({ length: 30 }, (_, i) => part(`f${i}`, '1')).join('');

const FORMS: [what: string, content_type: string, body: string, ...expected: Expected][] = [
  ['that is cut off in a file', MULTIPART, file_part.slice(0, -10), 400, 'invalid_form', /broken/],
  ['that is cut off in its headers', MULTIPART, file_part.slice(0, 30), 400, 'invalid_form', /broken/],
  ['with another boundary', 'multipart/form-data; boundary=c', `${file_part}--b--\r\n`, 400, 'invalid_form', /broken/],
  ['without a boundary', 'multipart/form-data', `${file_part}--b--\r\n`, 400, 'invalid_form', /broken/],
  ['without a file', MULTIPART, `${part('file', rows(2))}--b--\r\n`, 422, 'missing', /file is required/],
  ['with nothing in it', MULTIPART, '--b--\r\n', 422, 'missing', /file is required/],
  ['with two files', MULTIPART, `${file_part}${file_part}--b--\r\n`, 422, 'too_many_files', /one file/],
  ['with too many fields', MULTIPART, `${many_fields}${file_part}--b--\r\n`, 400, 'invalid_form', /form/],
  [
    'with a field that is too long',
    MULTIPART,
    `${part('f', 'x'.repeat(70_000))}${file_part}--b--\r\n`,
    413,
    'too_large',
    /fields/,
  ],
  ['of another kind', 'application/x-www-form-urlencoded', 'file=a', 415, 'unsupported_media_type', /multipart/],
  ['that is plain CSV', 'text/csv', rows(2), 415, 'unsupported_media_type', /multipart/],
];
for (const [what, content_type, body, ...expected] of FORMS) {
  test.serial(`a form ${what}: ${expected[0]} ${expected[1]}`, async (t) => {
    const person = await newcomer(small);
    const answer = await person.gateway.send('/jobs', {
      method: 'POST',
      headers: { 'content-type': content_type },
      body,
    });
    assertRefused(t, small, '/jobs', answer, expected);
    await nothingStays(t, small, person);
  });
}

test.serial('an upload without a body: 422 missing', async (t) => {
  const person = await newcomer(small);
  const answer = await person.gateway.send('/jobs', { method: 'POST' });
  assertRefused(t, small, '/jobs', answer, [422, 'missing', /file is required/]);
  await nothingStays(t, small, person);
});

const JSON_TYPE = { 'content-type': 'application/json' };
const urls = (...list: unknown[]) => JSON.stringify({ urls: list });
const many_urls = urls(...Array.from({ length: MAX_URLS + 1 }, (_, i) => `https://${i}.example/`));

const BODIES: [what: string, body: string | Buffer, headers: Record<string, string>, ...expected: Expected][] = [
  ['a list', '["https://a.example/"]', JSON_TYPE, 422, 'object_type', /body: must be object/],
  ['null', 'null', JSON_TYPE, 422, 'object_type', /body: must be object/],
  ['a number', '1', JSON_TYPE, 422, 'object_type', /body: must be object/],
  ['nothing', '', JSON_TYPE, 422, 'missing', /body: is required/],
  ['no JSON', '{"urls": [', JSON_TYPE, 400, 'invalid_json', /not JSON/],
  ['bytes that are not UTF-8', Buffer.from('{"urls":["\xff"]}', 'latin1'), JSON_TYPE, 400, 'invalid_encoding', /UTF-8/],
  ['endless nesting', '['.repeat(100_000), JSON_TYPE, 422, 'object_type', /body: must be object/],
  ['the list twice', '{"urls":["https://a.example/"],"urls":["b"]}', JSON_TYPE, 422, 'repeated', /more than once/],
  ['deep nesting', `${'['.repeat(50)}${']'.repeat(50)}`, JSON_TYPE, 400, 'too_deep', /deeper than 32/],
  ['no list', '{}', JSON_TYPE, 422, 'missing', /urls: is required/],
  ['an unknown field', '{"urls":["https://a.example/"],"url":"b"}', JSON_TYPE, 422, 'unexpected', /allowed: urls/],
  ['a field __proto__', '{"urls":["https://a.example/"],"__proto__":{}}', JSON_TYPE, 422, 'unexpected', /__proto__/],
  ['text for the list', '{"urls":"https://a.example/"}', JSON_TYPE, 422, 'array_type', /urls: must be array/],
  ['a URL that is no text', urls('https://a.example/', 7), JSON_TYPE, 422, 'string_type', /urls.1: must be string/],
  ['an empty list', urls(), JSON_TYPE, 422, 'minItems', /must not be empty/],
  ['no URL that can be checked', urls('', 'oops', 'ftp://a.example/'), JSON_TYPE, 422, 'no_urls', /no URL/],
  ['a NUL character', urls('https://a.example/\0'), JSON_TYPE, 422, 'nul', /NUL/],
  ['more URLs than a job takes', many_urls, JSON_TYPE, 413, 'too_many_urls', /more than 10 unique/],
  ['a form', 'urls=a', { 'content-type': 'application/x-www-form-urlencoded' }, 415, 'unsupported_media_type', /json/],
  ['text', urls('https://a.example/'), { 'content-type': 'text/plain' }, 415, 'unsupported_media_type', /json/],
  [
    'another charset',
    '{}',
    { 'content-type': 'application/json; charset=utf-16' },
    415,
    'unsupported_charset',
    /UTF-8/,
  ],
  ['compressed bytes', '{}', { ...JSON_TYPE, 'content-encoding': 'gzip' }, 415, 'unsupported_encoding', /compressed/],
];
const V2_CODES: Record<number, string> = {
  400: 'validation_error',
  413: 'payload_too_large',
  415: 'unsupported_media_type',
  422: 'validation_error',
};
for (const [what, body, headers, ...expected] of BODIES) {
  test.serial(`POST /api/v2/jobs with ${what}: ${expected[0]} ${expected[1]}`, async (t) => {
    const person = await newcomer(small);
    const answer = await person.key.send('/api/v2/jobs', { method: 'POST', headers, body: body as string });
    assertRefused(t, small, '/api/v2/jobs', answer, expected);
    t.is(answer.body.error.code, V2_CODES[expected[0]]);
    await nothingStays(t, small, person);
  });
}

test.serial('the service refuses POST /api/v2/jobs by its announced length', async (t) => {
  const person = await newcomer(small);
  const headers = {
    ...JSON_TYPE,
    authorization: `Bearer ${person.key.token}`,
    'content-length': 128 * 1024 * 1024 + 1,
  };
  const request = httpRequest(`${small.service.url}/api/v2/jobs`, { method: 'POST', headers });
  request.flushHeaders();
  const answer = await answerTo(request);
  request.destroy();
  assertRefused(t, small, '/api/v2/jobs', answer, [413, 'too_large', /larger than 134217728 bytes/]);
  t.is(answer.body.error.code, 'payload_too_large');
  await nothingStays(t, small, person);
});

async function answerTo(request: ReturnType<typeof httpRequest>): Promise<Answer> {
  const response = await new Promise<IncomingMessage>((resolve, reject) =>
    request.on('response', resolve).on('error', reject),
  );
  const text = Buffer.concat(await response.toArray()).toString();
  return {
    status: response.statusCode!,
    headers: new Headers(response.headers as Record<string, string>),
    body: JSON.parse(text),
  };
}

test.serial('a file of 100 MB and one byte, of a length that is not announced: 413', async (t) => {
  const person = await newcomer(usual);
  const limit_bytes = 104_857_600;
  const line = 'https://a.example/0123456789/01\n';
  const megabyte = Buffer.from(line.repeat(2 ** 20 / line.length));
  async function* body() {
    yield Buffer.from('--b\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n');
    for (let sent = 0; sent < limit_bytes; sent += megabyte.length) yield megabyte;
    yield Buffer.from('x\r\n--b--\r\n');
  }
  const init = { method: 'POST', headers: { 'content-type': MULTIPART }, body: body(), duplex: 'half' };
  const answer = await person.gateway.send('/jobs', init as unknown as RequestInit);
  assertRefused(t, usual, '/jobs', answer, [413, 'too_large', /larger than 104857600 bytes/]);
  await nothingStays(t, usual, person);
});

test.serial('20,001 rows: 413, and the service removes the rows that it listed', async (t) => {
  const person = await newcomer(usual);
  const answer = await person.gateway.upload(rows(MANY_URLS + 1));
  assertRefused(t, usual, '/jobs', answer, [413, 'too_many_urls', /more than 20,000 unique/]);
  await nothingStays(t, usual, person);
});

test.serial('20,001 URLs in a list: 413', async (t) => {
  const person = await newcomer(usual);
  const list = Array.from({ length: MANY_URLS + 1 }, (_, i) => `https://${i}.example/`);
  const answer = await person.key.ask('POST', '/api/v2/jobs', { urls: list });
  assertRefused(t, usual, '/api/v2/jobs', answer, [413, 'too_many_urls', /more than 20,000 unique/]);
  await nothingStays(t, usual, person);
});

test.serial('a client that leaves while it sends its file leaves nothing', async (t) => {
  const person = await newcomer(usual);
  const traces = () => tracesOf(usual.service, usual.log, person.gateway, person.user_id);
  const socket = connect(Number(new URL(usual.service.url).port), '127.0.0.1');
  const head = `POST /jobs HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${person.gateway.token}\r\n`;
  socket.write(
    `${head}Content-Type: ${MULTIPART}\r\nContent-Length: 900000\r\n\r\n${part('file', rows(5000), 'a.csv')}`,
  );
  await until(async () => (await traces()).uploads.length > 0);
  socket.destroy();
  await until(async () => (await traces()).uploads.length === 0);
  await nothingStays(t, usual, person);
});

test.serial('a client that leaves while the service reads its URLs leaves nothing', async (t) => {
  const person = await newcomer(usual);
  const gone = new AbortController();
  const form = new FormData();
  // The first rows are listed, the rest repeats them: it takes long to read, and nothing to keep.
  form.append('file', new Blob([rows(5_000), rows(5_000).repeat(80)]), 'a.csv');
  const sent = person.gateway.send('/jobs', { method: 'POST', body: form, signal: gone.signal });
  const aborted = t.throwsAsync(sent, { name: 'AbortError' });
  await until(async () => (await listings(usual.log)).length > 0);
  gone.abort();
  await aborted;
  const traces = () => tracesOf(usual.service, usual.log, person.gateway, person.user_id);
  await until(async () => (await traces()).uploads.length === 0);
  await nothingStays(t, usual, person);
});

test.serial('none of these requests made the service fail', async (t) => {
  for (const { service } of [small, usual]) {
    const lines = (await readFile(join(service.data_dir, 'service.log'), 'utf8')).split('\n').filter(Boolean);
    t.deepEqual(
      lines.filter((line) => JSON.parse(line).level >= 50),
      [],
    );
  }
});
