// What clients ask for wrong, from outside: filters, pages, cursors, paths and methods. Each answer says what is wrong.
import test from 'ava';
import { type Descriptions, readDescriptions } from '../support/described.ts';
import { type Answer, startTestService, type TestClient, type TestService } from '../support/service.ts';

let service: TestService;
let described: Descriptions;
let gateway: TestClient;
let key: TestClient;
let job_id: string;

test.before(async () => {
  service = await startTestService();
  described = await readDescriptions(service.url);
  [gateway, key] = await Promise.all([service.client('asker'), service.keyHolder('asker')]);
  const created = await gateway.upload('http://127.0.0.1:9/refused\nhttp://127.0.0.1:9/again\n');
  job_id = created.body.job_id;
  await gateway.ended(job_id);
});
test.after.always(() => service?.stop());

const NUL = '%00';
const not_ours = Buffer.from('{"after":-1}').toString('base64url');

const FILTERS: [query: string, type: string, words: RegExp][] = [
  ['status_codes=abc', 'pattern', /status_codes/],
  ['status_codes=404,', 'pattern', /status_codes/],
  ['status_codes=99', 'pattern', /status_codes/],
  ['status_codes=404&status_codes=500', 'repeated', /more than once/],
  ['status_group=6xx', 'enum', /one of 2xx/],
  ['non_2xx=perhaps', 'boolean_type', /boolean/],
  [`url_contains=${'x'.repeat(501)}`, 'maxLength', /500/],
  [`url_contains=a${NUL}`, 'nul', /NUL/],
  ['limit=-1', 'minimum', /at least 1$/],
  ['limit=0', 'minimum', /at least 1$/],
  ['limit=100000', 'maximum', /at most 10000?$/],
  ['limit=1e3', 'integer_type', /integer/],
  ['offset=x', 'integer_type', /integer/],
  ['offset=-1', 'minimum', /at least 0$/],
  ['offset=99999999999999999999', 'integer_type', /integer/],
  ['offset=1000000001', 'maximum', /1000000000/],
  ['page=1', 'unexpected', /allowed: limit/],
];
const CURSORS: typeof FILTERS = [
  ['cursor=garbage', 'cursor', /must be a next_cursor/],
  [`cursor=${not_ours}`, 'cursor', /must be a next_cursor/],
  [`cursor=${'x'.repeat(201)}`, 'maxLength', /200/],
];

/** What the problem's place and words are in; both APIs have the same list. */
function problemIn({ body }: Answer): { type: string; text: string } {
  const [problem] = body.detail;
  return { type: problem.type, text: `${problem.loc.join('.')}: ${problem.msg}` };
}

for (const [query, type, words] of FILTERS) {
  test(`the service refuses results by ?${query.slice(0, 60)}: ${type}`, async (t) => {
    const path = `/jobs/${job_id}/results?${query}`;
    const answers: [TestClient, string][] = [
      [gateway, path],
      [key, `/api/v2${path}`],
    ];
    for (const [client, asked] of answers) {
      const answer = await client.ask('GET', asked);
      t.is(answer.status, 422, JSON.stringify(answer.body));
      const problem = problemIn(answer);
      t.is(problem.type, type);
      t.regex(problem.text, words);
      t.is(described.problemOf('GET', asked, answer), null);
    }
  });
}

for (const [query, type, words] of CURSORS) {
  test(`the service refuses a page by ?${query.slice(0, 60)}: ${type}`, async (t) => {
    const path = `/api/v2/jobs/${job_id}/results?${query}`;
    const answer = await key.ask('GET', path);
    t.deepEqual([answer.status, answer.body.error?.code], [422, 'validation_error']);
    const problem = problemIn(answer);
    t.is(problem.type, type);
    t.regex(problem.text, words);
    t.is(described.problemOf('GET', path, answer), null);
  });
}

const LISTS: [path: string, type: string, words: RegExp][] = [
  ['/jobs', 'missing', /email: is required/],
  ['/jobs?email=', 'missing', /email/],
  ['/jobs?email=asker@example.com&status=done', 'enum', /one of processing/],
  ['/jobs?email=asker@example.com&limit=1001', 'maximum', /1000/],
  ['/jobs?email=asker@example.com&__proto__=1', 'unexpected', /allowed: email/],
  ['/users/me/credit-transactions?offset=x', 'integer_type', /offset/],
  ['/users/me/credits?user_id=alice', 'unexpected', /user_id/],
  [`/jobs/a${NUL}/results`, 'nul', /NUL/],
  [`/jobs/${'x'.repeat(256)}`, 'maxLength', /255/],
];
for (const [path, type, words] of LISTS) {
  test(`the service refuses GET ${path.slice(0, 60)}: ${type}`, async (t) => {
    const answer = await gateway.ask('GET', path);
    t.is(answer.status, 422, JSON.stringify(answer.body));
    const problem = problemIn(answer);
    t.is(problem.type, type);
    t.regex(problem.text, words);
    t.is(described.problemOf('GET', path, answer), null);
  });
}

const KEYS: [what: string, body: unknown, type: string][] = [
  ['no name', { name: '' }, 'minLength'],
  ['a long name', { name: 'x'.repeat(101) }, 'maxLength'],
  ['a name that is no text', { name: 1 }, 'string_type'],
  ['an unknown field', { name: 'a', scope: 'all' }, 'unexpected'],
  ['a NUL character', { name: 'a\0' }, 'nul'],
];
for (const [what, body, type] of KEYS) {
  test(`the service refuses a key with ${what}: ${type}`, async (t) => {
    const answer = await gateway.ask('POST', '/users/me/api-keys', body);
    t.deepEqual([answer.status, problemIn(answer).type], [422, type]);
    t.is(described.problemOf('POST', '/users/me/api-keys', answer), null);
    t.is((await gateway.ask('GET', '/users/me/api-keys')).body.total, 1);
  });
}

const NOT_THERE: [method: string, path: string, status: number, gateway_code: string][] = [
  ['GET', '/nowhere', 404, 'not_found'],
  ['GET', '/jobs/', 404, 'not_found'],
  ['GET', '/Jobs', 404, 'not_found'],
  ['GET', '/jobs/none', 404, 'job_not_found'],
  ['GET', '/jobs/none/results', 404, 'job_not_found'],
  ['GET', '/jobs/..%2F..%2Fetc%2Fpasswd', 404, 'job_not_found'],
  ['GET', '/jobs/%E0%A4%A', 404, 'job_not_found'],
  ['DELETE', '/users/me/api-keys/none', 404, 'key_not_found'],
  ['PUT', '/jobs', 405, 'method_not_allowed'],
];
for (const [method, path, status, code] of NOT_THERE) {
  test(`${method} ${path}: ${status} ${code}`, async (t) => {
    const answer = await gateway.ask(method, path);
    t.deepEqual([answer.status, answer.body.code], [status, code]);
    t.is(described.problemOf(method, path, answer), null);
  });
}

const NOT_THERE_IN_V2: typeof NOT_THERE = [
  ['GET', '/api/v2', 404, 'not_found'],
  ['GET', '/api/v2/nowhere', 404, 'not_found'],
  ['GET', '/api/v2/jobs/none', 404, 'not_found'],
  ['GET', '/api/v2/jobs/none/results', 404, 'not_found'],
  ['GET', '/api/v2/jobs/none/results?cursor=', 404, 'not_found'],
  ['PUT', '/api/v2/jobs', 405, 'method_not_allowed'],
];
for (const [method, path, status, code] of NOT_THERE_IN_V2) {
  test(`${method} ${path}: ${status} ${code}`, async (t) => {
    const answer = await key.ask(method, path);
    t.deepEqual([answer.status, answer.body.error.code], [status, code]);
    t.is(described.problemOf(method, path, answer), null);
  });
}

test('the service refuses a malformed position', async (t) => {
  const headers = { 'x-log-position': 'x y' };
  const answer = await gateway.ask('GET', '/users/me/credits', undefined, headers);
  t.is(answer.status, 422);
  t.deepEqual(answer.body.detail[0].loc, ['header', 'x-log-position']);
});
