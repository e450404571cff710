// Runs the node of n8n from its tarball as n8n does, with what it gives a node stood in for: `node n8n.mjs` in the folder of the package.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const { API_URL, API_KEY, SITE_URL } = process.env;
const [{ filename }] = JSON.parse(execFileSync('npm', ['pack', '--json', '--ignore-scripts'], { encoding: 'utf8' }));
execFileSync('tar', ['-xzf', filename]);
const folder = join(process.cwd(), 'package');
const require = createRequire(join(folder, 'index.js'));
const { n8n } = require('./package.json');
const [{ UrlChecker }, { UrlCheckerApi }] = [n8n.nodes[0], n8n.credentials[0]].map((file) =>
  require(join(folder, file)),
);
const credentials = new UrlCheckerApi();
const node = new UrlChecker();
const given = { baseUrl: `${API_URL}/`, apiKey: API_KEY };
/** As n8n reads an expression: `=` begins it, and `{{…}}` is JavaScript. */
const expression = (text) =>
  text.replace(/^=/, '').replace(/{{(.*?)}}/g, (_, code) => new Function('$credentials', `return ${code}`)(given));
const keys = [];
let lose_answers = 0;

async function authenticated(_name, { method, url, qs = {}, body, headers = {} }) {
  const { Authorization } = credentials.authenticate.properties.headers;
  const response = await fetch(`${url}?${new URLSearchParams(qs)}`, {
    method,
    headers: {
      ...headers,
      Authorization: expression(Authorization),
      ...(body && { 'content-type': 'application/json' }),
    },
    body: body && JSON.stringify(body),
  });
  if (headers['Idempotency-Key']) keys.push(headers['Idempotency-Key']);
  if (lose_answers-- > 0) return { statusCode: 503, headers: { 'retry-after': '0' }, body: {} };
  const text = await response.text();
  return {
    statusCode: response.status,
    headers: Object.fromEntries(response.headers),
    body: text === '' ? undefined : JSON.parse(text),
  };
}

async function run(parameters, urls = [''], { goes_on = false, execution = '1' } = {}) {
  // What a user leaves alone has its default.
  const defaults = Object.fromEntries(node.description.properties.map((property) => [property.name, property.default]));
  const all = { ...defaults, ...parameters };
  const functions = {
    getInputData: () => urls.map((url) => ({ json: { url } })),
    getNodeParameter: (name, item) => (name === 'url' ? urls[item] : all[name]),
    getCredentials: async () => given,
    getNode: () => ({
      id: 'node-1',
      name: 'URL Checker',
      type: 'urlChecker',
      typeVersion: 1,
      position: [0, 0],
      parameters: {},
    }),
    getExecutionId: () => execution,
    getWorkflowDataProxy: () => ({ $runIndex: 0 }),
    continueOnFail: () => goes_on,
    helpers: { httpRequestWithAuthentication: authenticated },
  };
  return (await node.execute.call(functions))[0];
}

const page = `${SITE_URL}/a`;
const gone = `${SITE_URL}/status/404`;
const check = { resource: 'url', operation: 'check' };

const { request } = credentials.test;
const test = await fetch(expression(request.baseURL) + request.url, {
  headers: { Authorization: `Bearer ${API_KEY}` },
});
assert.equal(test.status, 200);

// An item for each item, in order: also for a URL that came before, and for what is none.
const found = await run(check, [page, gone, 'no URL', `${page}#part`]);
assert.deepEqual(
  found.map(({ json, pairedItem }) => [pairedItem.item, json.verdict, json.rejected]),
  [
    [0, 'ok', undefined],
    [1, 'broken', undefined],
    [2, null, 'several_words'],
    [3, 'ok', undefined],
  ],
);
assert.equal(found[3].json.url, `${page}#part`);

// A node that n8n runs again makes no second job, also after an answer that was lost; another execution does.
const start = { resource: 'job', operation: 'start', options: { label: 'nightly', acceptStatusCodes: '404, 410' } };
lose_answers = 1;
const [{ json: job }] = await run(start, [gone]);
assert.equal((await run(start, [gone]))[0].json.job_id, job.job_id);
assert.notEqual((await run(start, [gone], { execution: '2' }))[0].json.job_id, job.job_id);
assert.equal(new Set(keys).size, 3);

const of_job = (operation, more = {}) => run({ resource: 'job', operation, jobId: job.job_id, ...more });
for (;;) {
  const [{ json }] = await of_job('get');
  if (json.status === 'completed') break;
  await new Promise((resolve) => setTimeout(resolve, 100));
}
assert.deepEqual(
  (await of_job('getResults')).map(({ json }) => [json.url, json.verdict]),
  [[gone, 'ok']],
);
assert.deepEqual(await of_job('getResults', { verdict: 'broken', returnAll: true }), []);
assert.ok((await run({ resource: 'account', operation: 'getUsage' }))[0].json.credit_balance > 0);

// A refusal is an error in the service's words, or an item where the workflow goes on.
await assert.rejects(of_job('resume'), { name: 'NodeApiError', httpCode: '409' });
await assert.rejects(run({ resource: 'job', operation: 'get', jobId: '../x' }), {
  name: 'NodeApiError',
  httpCode: '404',
});
const [{ json: failure }] = await run({ resource: 'job', operation: 'get', jobId: 'none' }, [''], { goes_on: true });
assert.match(failure.error, /\w/);
assert.equal((await run(check, [''], { goes_on: true }))[0].json.error, 'The item has no URL');
await assert.rejects(run({ ...check, options: { waitSeconds: -1 } }, [`${SITE_URL}/b`]), /is not complete after -1 s/);
