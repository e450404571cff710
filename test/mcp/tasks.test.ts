// A check that takes longer becomes a task whose id is its job's, and a lack of credits a question to the user.
import test from 'ava';
import { callTool, send } from '../support/mcp.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { openSite, page, type Site } from '../support/sites.ts';
import { until } from '../support/until.ts';

const TASKS = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
const OPENS_URLS = { elicitation: { url: {} } };

let service: TestService;
let site: Site;
/** Answers only when it is let go. */
let slow: Site;
const held: (() => void)[] = [];
test.before(async () => {
  service = await startTestService({ SIGNUP_CREDITS: '3', PAYMENT_SANDBOX: 'on' });
  site = await openSite();
  slow = await openSite((request, response) => void held.push(() => page(request, response)));
});
test.after.always(async () => {
  await service?.stop();
  await Promise.all([site?.close(), slow?.close()]);
});

const task = (key: string, method: string, taskId: string, more: object = {}, capabilities: object = TASKS) =>
  send(service.url, key, { method: `tasks/${method}`, params: { taskId, ...more } }, capabilities);
const urlsOf = ({ url }: Site, count: number) => Array.from({ length: count }, (_, n) => `${url}/${n}`);
const PAGE = /^http:\/\/127\.0\.0\.1:\d+\/console\/account\/buy$/;

test.serial('a task is followed to its result, by its owner alone', async (t) => {
  const [{ token }, other] = [await service.keyHolder('alice'), await service.keyHolder('bob')];
  const more = { capabilities: TASKS };
  const made = await callTool(service.url, token, 'check_urls', { urls: urlsOf(slow, 2), wait_seconds: 0 }, more);
  t.like(made, { resultType: 'task', status: 'working', ttlMs: null });
  const { taskId } = made;
  t.like((await task(token, 'get', taskId)).body.result, { taskId, status: 'working', resultType: 'complete' });
  for (const method of ['get', 'update', 'cancel'])
    t.like((await task(other.token, method, taskId)).body.error, { code: -32602, message: 'There is no such job.' });
  await until(async () => {
    for (const go of held.splice(0)) go();
    return (await task(token, 'get', taskId)).body.result.status === 'completed';
  });
  const { result } = (await task(token, 'get', taskId)).body.result;
  t.like(result.structuredContent, { job_id: taskId, status: 'completed', verdicts: { ok: 2 } });
  t.is(result.structuredContent.results.length, 2);
});

test.serial('a cancelled task is cancelled, and its credits come back', async (t) => {
  const key = await service.keyHolder('carol');
  const more = { capabilities: TASKS };
  const { taskId } = await callTool(
    service.url,
    key.token,
    'check_urls',
    { urls: urlsOf(slow, 2), wait_seconds: 0 },
    more,
  );
  t.like((await task(key.token, 'cancel', taskId)).body.result, { resultType: 'complete' });
  t.like((await task(key.token, 'get', taskId)).body.result, { status: 'cancelled' });
  t.like((await key.ask('GET', '/api/v2/usage')).body, { available_credits: 3 });
  for (const go of held.splice(0)) go();
});

test.serial('without the extension a long check answers with its job', async (t) => {
  const { token } = await service.keyHolder('dora');
  const found = await callTool(service.url, token, 'check_urls', { urls: urlsOf(slow, 1), wait_seconds: 0 });
  t.like(found, { resultType: 'complete', structuredContent: { status: 'processing', timed_out: true } });
  for (const go of held.splice(0)) go();
});

test.serial('who lacks credits is shown where to buy some, and the job continues when they have', async (t) => {
  const key = await service.keyHolder('erin');
  const administrator = await service.client('root', { is_admin: true });
  const args = { urls: urlsOf(site, 5) };
  const asked = await callTool(service.url, key.token, 'check_urls', args, { capabilities: OPENS_URLS });
  t.is(asked.resultType, 'input_required');
  const [[name, { params }]] = Object.entries(asked.inputRequests) as [[string, { params: { url: string } }]];
  t.regex(params.url, PAGE);
  const again = (action: string) =>
    callTool(service.url, key.token, 'check_urls', args, {
      ...{ capabilities: OPENS_URLS, requestState: asked.requestState, inputResponses: { [name]: { action } } },
    });
  const declined = await again('decline');
  t.like(declined.structuredContent, { status: 'paused', pause_reason: 'credit_ceiling', completed_urls: 3 });
  t.regex(declined.content[0].text, /because the credits are used up: 3 of 5 URLs checked\. Buy credits at http/);
  const in_vain = await again('accept');
  t.like(in_vain, { isError: true, structuredContent: { error: { code: 'no_credits' } } });
  const grant = await administrator.ask('POST', '/admin/users/erin/adjust-credits?amount=10');
  t.true(grant.status < 300, JSON.stringify(grant.body));
  t.like((await again('accept')).structuredContent, { job_id: declined.structuredContent.job_id });
  await until(
    async () => (await key.ask('GET', `/api/v2/jobs/${declined.structuredContent.job_id}`)).body.status === 'completed',
  );
  t.like((await key.ask('GET', '/api/v2/usage')).body, { available_credits: 8 });
});

test.serial('a client that shows no pages gets the link, for a job and without one', async (t) => {
  const key = await service.keyHolder('frank');
  const paused = await callTool(service.url, key.token, 'check_urls', { urls: urlsOf(site, 4) });
  t.regex(paused.content[0].text, /Buy credits at http\S+\/console\/account\/buy, then call resume_job with job_id /);
  const none = await callTool(service.url, key.token, 'start_job', { urls: urlsOf(site, 1) });
  t.like(none, { isError: true, structuredContent: { error: { code: 'no_credits' } } });
  t.regex(none.content[0].text, /Buy credits at http\S+\/console\/account\/buy, then call the tool again\.$/);
});

test.serial('a task that lacks credits asks for them', async (t) => {
  const { token } = await service.keyHolder('grace');
  const capabilities = { ...TASKS, ...OPENS_URLS };
  const { taskId } = await callTool(
    service.url,
    token,
    'check_urls',
    { urls: urlsOf(slow, 4), wait_seconds: 0 },
    { capabilities },
  );
  await until(async () => {
    for (const go of held.splice(0)) go();
    return (await task(token, 'get', taskId, {}, capabilities)).body.result.status === 'input_required';
  });
  const { inputRequests } = (await task(token, 'get', taskId, {}, capabilities)).body.result;
  t.regex((Object.values(inputRequests) as { params: { url: string } }[])[0]!.params.url, PAGE);
  // A client that could not ask gets the answer as it stands.
  t.like((await task(token, 'get', taskId)).body.result, { status: 'completed' });
});
