// Answers that are sent again: what they are made of is asked at each request, and a request that is not quite the same is answered anew.
import test, { type ExecutionContext } from 'ava';
import { Type } from 'typebox';
import { openMemoryRates } from '../../../../adapters/rate-counters/memory.ts';
import { GATEWAY } from '../../../../http/apis/gateway.ts';
import { openRateLimits } from '../../../../http/frame/limits/rate-limits.ts';
import { type Reply, routeOf } from '../../../../http/frame/route.ts';
import { ALICES_JOB, startSample } from '../../sample-app.ts';

const route = routeOf<unknown>(GATEWAY, 'sample');
const LONG = 'x'.repeat(5000);

/** Routes whose answer says how many times their handler was asked; `version` is of each thing that the answers are made of. */
async function startRepeating(t: ExecutionContext, { of_user = 1000, position = '' } = {}) {
  const version = { caller: 1, job: 1, readmodels: 1, reply: 1 };
  const now = (what: keyof typeof version) => {
    const then = version[what];
    return () => version[what] === then;
  };
  let asked = 0;
  const about = {
    method: 'GET',
    summary: 'A sample',
    responses: { 200: { description: 'Fine.', schema: Type.Object({ asked: Type.Integer(), long: Type.String() }) } },
    handler: (): Reply => ({ body: { asked: ++asked, long: LONG }, unchanged: now('reply') }),
  } as const;
  const routes = [
    route({ ...about, path: '/jobs/{job_id}', access: 'owner', made_of: 'job' }),
    route({ ...about, path: '/all', access: 'user', made_of: 'read models' }),
    route({ ...about, path: '/more', access: 'user' }),
    route({
      ...about,
      method: 'POST',
      path: '/all',
      access: 'user',
      handler: () => ({ body: { asked, long: '' }, position }),
    }),
  ];
  const gateway = { of_user, changes_of_user: 1000, of_address: 1000 };
  const rates = { shared: openMemoryRates(), own: openMemoryRates(), now: Date.now };
  const sample = await startSample(
    routes,
    {},
    {
      ...openRateLimits({ ...rates, per_minute: 1000, per_day: 1000, reads_per_minute: 1000, gateway }),
      unchanged: { caller: () => now('caller'), job: () => now('job'), readmodels: () => now('readmodels') },
    },
  );
  t.teardown(() => sample.close());
  const ask = async (path: string, headers: Record<string, string> = {}, as = sample.tokens.alice) => {
    const response = await sample.request(path, { headers, as });
    const text = await response.text();
    return { response, status: response.status, asked: text === '' ? null : JSON.parse(text).asked };
  };
  /** The answer of the handler, kept: it has been asked for twice. */
  const kept = async (path: string) => {
    await ask(path);
    return (await ask(path)).asked as number;
  };
  return { ask, kept, version, sample };
}

const JOB = `/jobs/${ALICES_JOB}`;

test('a read that comes again is answered without its handler, and counted and logged as any other', async (t) => {
  const { ask, kept, sample } = await startRepeating(t);
  const first = await kept(JOB);
  const [a, b] = [await ask(JOB), await ask(JOB, { 'x-request-id': 'mine' })];
  t.deepEqual([a.asked, b.asked], [first, first]);
  t.is(b.response.headers.get('x-request-id'), 'mine');
  t.not(a.response.headers.get('x-request-id'), 'mine');
  t.is(a.response.headers.get('x-ratelimit-limit'), '1000');
  for (const name of ['content-type', 'cache-control', 'x-frame-options', 'etag', 'content-length', 'vary'])
    t.is(a.response.headers.get(name), b.response.headers.get(name), name);
  t.regex(a.response.headers.get('etag')!, /^W\//);
  const line = sample.logged.find(({ request_id }) => request_id === 'mine');
  t.like(line, { msg: 'request', method: 'GET', route: '/jobs/{job_id}', status: 200, caller: 'alice' });
});

for (const what of ['caller', 'job', 'reply'] as const) {
  test(`once another ${what} is there, the handler answers`, async (t) => {
    const { ask, kept, version } = await startRepeating(t);
    const first = await kept(JOB);
    version[what]++;
    t.is((await ask(JOB)).asked, first + 1);
    t.is((await ask(JOB)).asked, first + 1);
  });
}

test('a read of all read models is answered anew after they have moved', async (t) => {
  const { ask, kept, version } = await startRepeating(t);
  const first = await kept('/all');
  version.job++;
  t.is((await ask('/all')).asked, first);
  version.readmodels++;
  t.is((await ask('/all')).asked, first + 1);
});

test('a route that says nothing of what its answer is made of is asked each time', async (t) => {
  const { ask, kept } = await startRepeating(t);
  const first = await kept('/more');
  t.is((await ask('/more')).asked, first + 1);
});

test('other credentials, another query and other headers get no answer that was made for others', async (t) => {
  const { ask, kept, sample } = await startRepeating(t);
  const first = await kept(JOB);
  t.is((await ask(JOB, {}, sample.tokens.bob)).status, 404);
  t.is((await ask(JOB, {}, 'eyJ.no.token')).status, 401);
  t.is((await ask(`${JOB}?wrong=1`)).status, 422);
  t.is((await sample.request(JOB, { method: 'HEAD', as: sample.tokens.alice })).status, 200);
  const { response } = await ask(JOB);
  t.is((await ask(JOB, { 'if-none-match': '*' })).status, 304);
  t.is((await ask(JOB, { 'x-log-position': 'no position' })).status, 422);
  t.true((await ask(JOB, { 'x-unknown': '1' })).asked > first);
  t.is((await ask(JOB)).response.headers.get('etag'), response.headers.get('etag'));
});

test('the compressed answer is for who takes it', async (t) => {
  const { ask, kept } = await startRepeating(t);
  const plain = { 'accept-encoding': 'identity' };
  const first = await kept(JOB);
  const [zipped, whole] = [await ask(JOB), await ask(JOB, plain)];
  t.deepEqual([zipped.response.headers.get('content-encoding'), zipped.asked], ['gzip', first]);
  t.deepEqual([whole.response.headers.get('content-encoding'), whole.asked], [null, first + 1]);
});

test('after the limit the request is refused, and none of the others counted twice', async (t) => {
  const { ask } = await startRepeating(t, { of_user: 6 });
  const statuses = [];
  for (let n = 0; n < 8; n++) statuses.push((await ask(JOB)).status);
  t.deepEqual(statuses, [200, 200, 200, 200, 200, 200, 429, 429]);
});

test('after a change of its own a user waits for the read models again', async (t) => {
  const { ask, kept, sample } = await startRepeating(t, { position: '7' });
  const first = await kept('/all');
  await sample.request('/all', { method: 'POST', as: sample.tokens.alice });
  t.is((await ask('/all')).asked, first + 1);
});
