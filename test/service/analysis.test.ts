// Looking before a job is made, from outside: which domains are blocked, and what a file would come to.
import test from 'ava';
import { inlineRow, workbook } from '../intake/uploads.ts';
import { type Descriptions, readDescriptions } from '../support/described.ts';
import { type Answer, startTestService, type TestClient, type TestService } from '../support/service.ts';
import { NO_TRACES, openLog, tracesOf } from '../support/traces.ts';

const ENTRY = { reason: 'The owner asked for it.', block_type: 'legal', error_codes: ['403', '999'] };
const MAX_URLS = 40;
const MAX_FILE_BYTES = 200_000;

let service: TestService;
let described: Descriptions;
let alice: TestClient;

test.before(async () => {
  service = await startTestService({
    MAX_URLS_PER_JOB: String(MAX_URLS),
    MAX_FILE_BYTES: String(MAX_FILE_BYTES),
    SIGNUP_CREDITS: '5',
  });
  described = await readDescriptions(service.url);
  alice = await service.client('alice');
  const admin = await service.client('admin', { is_admin: true });
  for (const domain of ['blocked.example', 'bücher.example']) {
    await admin.ask('POST', '/domains/blocked', { domain, ...ENTRY });
  }
});
test.after.always(() => service?.stop());

const check = (domains: unknown) => alice.ask('POST', '/check-domains', { domains });

test('the answer names blocklisted domains with their reasons, and no others', async (t) => {
  const answer = await check(['example.com', 'blocked.example', 'www.example.com']);
  t.is(answer.status, 200);
  t.deepEqual(answer.body, { blocked: [{ domain: 'blocked.example', ...ENTRY }], total_checked: 3 });
  t.is(described.problemOf('POST', '/check-domains', answer), null);
});

for (const asked of [
  'BLOCKED.example',
  ' blocked.example ',
  'blocked.example.',
  'blocked.example:8443',
  'blocked.example/path?query',
  '*.blocked.example',
  'https://blocked.example/path',
  'http://user:secret@Blocked.Example:8080/#part',
  '//blocked.example/',
  'www.blocked.example',
  'a.b.c.blocked.example',
  'bücher.example',
  'BÜCHER.example',
  'xn--bcher-kva.example',
  'https://shop.bücher.example/',
  'ｂｌｏｃｋｅｄ。ｅｘａｍｐｌｅ',
]) {
  test(`the service finds ${asked} on the list, and names it as asked`, async (t) => {
    t.deepEqual((await check([asked])).body, { blocked: [{ domain: asked, ...ENTRY }], total_checked: 1 });
  });
}

for (const asked of [
  'notblocked.example',
  'blocked.example.com',
  'xblocked.example',
  'https://example.com/blocked.example',
  '127.0.0.1',
  'http://[::1]/',
  'http://localhost:3000/',
]) {
  test(`the service does not block ${asked}`, async (t) => {
    t.deepEqual((await check([asked])).body, { blocked: [], total_checked: 1 });
  });
}

const NO_DOMAINS: [text: string, type: string][] = [
  ['', 'empty'],
  ['   ', 'empty'],
  ['com', 'no_domain'],
  ['two words', 'several_words'],
  ['alice@example.com', 'email_address'],
  ['ftp://example.com', 'unsupported_scheme'],
  ['javascript:alert(1)', 'unsupported_scheme'],
  ['exa<mple.com', 'malformed'],
  ['https://exa mple.com', 'several_words'],
  ['https://*.example.com', 'malformed'],
  ['*', 'no_domain'],
  ['*.', 'malformed'],
  ['.', 'malformed'],
  ['1.5', 'no_domain'],
  ['a\tb.com', 'control_character'],
  [`${'a'.repeat(255)}.com`, 'malformed'],
  [`${'a.'.repeat(1500)}com`, 'maxLength'],
];
for (const [text, type] of NO_DOMAINS) {
  test(`${JSON.stringify(text.slice(0, 40))} is no domain, and the error names its place in the list: ${type}`, async (t) => {
    const answer = await check(['example.com', text]);
    t.is(answer.status, 422, JSON.stringify(answer.body));
    t.deepEqual([answer.body.detail[0].loc, answer.body.detail[0].type], [['body', 'domains', 1], type]);
    t.is(described.problemOf('POST', '/check-domains', answer), null);
  });
}

const WRONG_LISTS: [what: string, body: unknown, loc: unknown[], type: string][] = [
  ['no list', {}, ['body', 'domains'], 'missing'],
  ['an empty list', { domains: [] }, ['body', 'domains'], 'minItems'],
  ['a text', { domains: 'example.com' }, ['body', 'domains'], 'array_type'],
  ['null', { domains: null }, ['body', 'domains'], 'array_type'],
  ['a number in it', { domains: ['example.com', 7] }, ['body', 'domains', 1], 'string_type'],
  ['more than 1,000', { domains: Array(1001).fill('example.com') }, ['body', 'domains'], 'maxItems'],
  ['a field that is not known', { domains: ['example.com'], domain: 'x' }, ['body', 'domain'], 'unexpected'],
];
for (const [what, body, loc, type] of WRONG_LISTS) {
  test(`the service refuses domains as ${what}: ${type}`, async (t) => {
    const answer = await alice.ask('POST', '/check-domains', body);
    t.is(answer.status, 422);
    t.deepEqual([answer.body.detail[0].loc, answer.body.detail[0].type], [loc, type]);
  });
}

test('the service takes a thousand domains of the greatest length', async (t) => {
  const long = `https://example.com/${'é'.repeat(2000)}`;
  const { status, body } = await check(Array(1000).fill(long));
  t.deepEqual([status, body], [200, { blocked: [], total_checked: 1000 }]);
});

function analyze(client: TestClient, content: string | Uint8Array, filename = 'urls.csv'): Promise<Answer> {
  const form = new FormData();
  form.append('file', new Blob([content as string]), filename);
  return client.send('/analyze-csv', { method: 'POST', body: form });
}

const CSV = [
  'name;link;note',
  'A;https://example.com/a;x',
  'B;example.com/b;x',
  'C;https://www.blocked.example/c;x',
  'D;not a url;x',
  'E;https://example.com/a#again;x',
  'F;mailto:someone@example.com;x',
  '',
].join('\r\n');

test('an analysis sorts a file into categories, with samples, layout and cost', async (t) => {
  const answer = await analyze(alice, `\ufeff${CSV}`);
  t.is(answer.status, 200, JSON.stringify(answer.body));
  t.is(described.problemOf('POST', '/analyze-csv', answer), null);
  const sample = (row: number, value: string, url: string | null, reason: string | null, blocked: string | null) => ({
    ...{ row, value, url, reason, blocked_domain: blocked },
  });
  t.deepEqual(answer.body, {
    ...{ format: 'csv', encoding: 'utf-8', delimiter: ';', sheet_name: null, warnings: [] },
    ...{ other_columns: [], other_sheets: [] },
    column: { index: 1, letter: 'B', name: 'link' },
    ...{ total_rows: 6, unique_urls: 2, duplicates: 1 },
    valid: {
      count: 2,
      samples: [
        sample(2, 'https://example.com/a', 'https://example.com/a', null, null),
        sample(6, 'https://example.com/a#again', 'https://example.com/a#again', null, null),
      ],
    },
    missing_prefix: { count: 1, samples: [sample(3, 'example.com/b', 'https://example.com/b', null, null)] },
    blocked: {
      count: 1,
      samples: [
        sample(
          4,
          'https://www.blocked.example/c',
          'https://www.blocked.example/c',
          'blocked_domain',
          'blocked.example',
        ),
      ],
    },
    invalid: {
      count: 2,
      samples: [
        sample(5, 'not a url', null, 'several_words', null),
        sample(7, 'mailto:someone@example.com', null, 'unsupported_scheme', null),
      ],
    },
    ...{ cost: 2, credit_balance: 5, affordable: true },
  });
});

test('a job of the same file checks what its analysis said', async (t) => {
  const bob = await service.client('bob');
  const { body: said } = await analyze(bob, CSV);
  const { body: job } = await bob.upload(CSV);
  t.deepEqual(
    [job.total_urls, job.duplicates_removed, job.invalid_urls_rejected, job.blocked_urls_skipped],
    [said.unique_urls, said.duplicates, said.invalid.count, said.blocked.count],
  );
  await bob.ended(job.job_id);
  t.is((await analyze(bob, CSV)).body.credit_balance, said.credit_balance - said.cost);
});

const list = (count: number) => Array.from({ length: count }, (_, i) => `https://example.com/${i}`).join('\n');

test('a file with one URL more than the credits is not affordable', async (t) => {
  const at = async (count: number) => {
    const { cost, credit_balance, affordable } = (await analyze(alice, list(count))).body;
    return { cost, credit_balance, affordable };
  };
  t.deepEqual(await at(5), { cost: 5, credit_balance: 5, affordable: true });
  t.deepEqual(await at(6), { cost: 6, credit_balance: 5, affordable: false });
});

test('`column` chooses the column of an analysis and of a job, and a column that is not there is named with those that are', async (t) => {
  const dora = await service.client('dora');
  const file = 'page,from\nhttps://a.example/1,https://b.example/1\nhttps://a.example/1,https://b.example/2\n';
  const post = async (path: string, column: string) => {
    const form = new FormData();
    form.append('file', new Blob([file]), 'x.csv');
    const answer = await dora.send(`${path}?${new URLSearchParams({ column })}`, { method: 'POST', body: form });
    t.is(described.problemOf('POST', path, answer), null);
    return answer;
  };
  const taken = { column: { index: 1, letter: 'B', name: 'from' }, warnings: [] };
  for (const column of ['from', 'b']) {
    const analysis = await post('/analyze-csv', column);
    t.like(analysis.body, { ...taken, unique_urls: 2 }, column);
  }
  const job = await post('/jobs', 'From');
  t.like(job.body, { total_urls: 2, list: taken });
  for (const path of ['/jobs', '/analyze-csv']) {
    const { status, body } = await post(path, 'link');
    t.is(status, 422);
    t.like(body.detail[0], { loc: ['query', 'column'], type: 'column_not_found' });
    t.regex(body.detail[0].msg, /no column "link".*"page", "from"/);
  }
});

test('an analysis shows the first rows of each category, and counts all', async (t) => {
  const { body } = await analyze(alice, `url\n${'nothing here\n'.repeat(500)}${list(MAX_URLS)}\n`);
  t.is(body.invalid.count, 500);
  t.is(body.invalid.samples.length, 20);
  t.deepEqual([body.invalid.samples[0].row, body.invalid.samples[19].row], [2, 21]);
  t.is(body.valid.count, MAX_URLS);
});

test('the service recognises a workbook by its content, whatever its name', async (t) => {
  const { body } = await analyze(
    alice,
    await workbook({ sheets: [inlineRow('URL') + inlineRow('example.com')] }),
    'x.csv',
  );
  t.like(body, {
    format: 'xlsx',
    delimiter: null,
    total_rows: 1,
    unique_urls: 1,
    column: { index: 0, letter: 'A', name: 'URL' },
  });
});

test('a file without valid URLs has an analysis too, and costs nothing', async (t) => {
  const { status, body } = await analyze(alice, 'url\nnothing here\nblocked.example\n');
  t.is(status, 200);
  t.like(body, { unique_urls: 0, cost: 0, affordable: true, valid: { count: 0, samples: [] } });
  t.deepEqual([body.invalid.count, body.blocked.count], [1, 1]);
});

// Before all others: they upload at the same time.
test.serial('an analysis makes no job, charges nothing and keeps no file', async (t) => {
  const carol = await service.client('carol');
  const log = await openLog(service);
  t.is((await analyze(carol, CSV)).status, 200);
  t.is((await analyze(carol, 'a\0b\n')).status, 415);
  t.is((await analyze(carol, list(MAX_URLS + 1))).status, 413);
  t.deepEqual(await tracesOf(service, log, carol, 'carol'), { ...NO_TRACES, credit_balance: 5 });
  await log.close();
});

const WRONG_FILES: [what: string, content: string | Uint8Array, status: number, code: string][] = [
  ['nothing in it', '', 422, 'empty_file'],
  ['blank lines alone', '\n\n  \n', 422, 'empty_file'],
  ['NUL bytes', 'a\0b\n', 415, 'not_a_table'],
  ['a picture', new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0]), 415, 'not_a_table'],
  ['a broken workbook', new Uint8Array([0x50, 0x4b, 3, 4, 1, 2, 3]), 422, 'broken_xlsx'],
  ['more URLs than a job may have', list(MAX_URLS + 1), 413, 'too_many_urls'],
  ['too many bytes', 'x'.repeat(MAX_FILE_BYTES + 1), 413, 'too_large'],
];
for (const [what, content, status, code] of WRONG_FILES) {
  test(`the service refuses a file with ${what}: ${status} ${code}`, async (t) => {
    const answer = await analyze(alice, content);
    t.is(answer.status, status, JSON.stringify(answer.body));
    t.is(status === 422 ? answer.body.detail[0].type : answer.body.code, code);
    t.is(described.problemOf('POST', '/analyze-csv', answer), null);
  });
}

test('the service refuses a body without a file', async (t) => {
  t.is((await alice.ask('POST', '/analyze-csv', { urls: [] })).status, 415);
  t.is((await alice.send('/analyze-csv', { method: 'POST' })).status, 422);
  const form = new FormData();
  form.append('file', 'only a field');
  t.is((await alice.send('/analyze-csv', { method: 'POST', body: form })).status, 422);
  t.is((await alice.send('/analyze-csv?skip_blocked=false', { method: 'POST', body: form })).status, 422);
});
