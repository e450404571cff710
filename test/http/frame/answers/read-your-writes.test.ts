import test from 'ava';
import { Type } from 'typebox';
import type { Blobs } from '../../../../commands/blobs.ts';
import { openJobs } from '../../../../commands/jobs/job.ts';
import { openCredits } from '../../../../commands/ledger/credits.ts';
import { jobStream } from '../../../../events/streams.ts';
import { GATEWAY } from '../../../../http/apis/gateway.ts';
import { PUBLIC } from '../../../../http/apis/public.ts';
import { openJobFinder } from '../../../../http/callers/access.ts';
import { type Route, routeOf } from '../../../../http/frame/route.ts';
import { type JobDocument, jobs } from '../../../../readmodels/jobs/jobs.ts';
import { openReadModels } from '../../../../readmodels/read-models.ts';
import { eventsOf } from '../../../support/behind.ts';
import { commandContext, openTestStores, project } from '../../../support/stores.ts';
import { submitUpload } from '../../../support/submitted.ts';
import { ALICES_JOB, API_KEY, jobsBy, startSample } from '../../sample-app.ts';

const route = routeOf<unknown>(GATEWAY, 'sample');
const publicRoute = routeOf<unknown>(PUBLIC, 'sample');
const responses = { 200: { description: 'Fine.', schema: Type.Object({}, { additionalProperties: true }) } };
const about = { summary: 'A sample', responses } as const;

const ROUTES: Route<unknown>[] = [
  route({
    ...about,
    method: 'POST',
    path: '/write',
    access: 'user',
    query: Type.Object({ position: Type.String() }),
    handler: ({ query }) => ({ body: {}, position: query.position, is_early: true }),
  }),
  route({ ...about, method: 'PUT', path: '/save', access: 'user', handler: () => ({ body: {}, position: '005' }) }),
  route({ ...about, method: 'GET', path: '/read', access: 'user', handler: () => ({ body: {} }) }),
  route({ ...about, method: 'GET', path: '/read-log', access: 'user', of_log: true, handler: () => ({ body: {} }) }),
  route({ ...about, method: 'GET', path: '/open', access: 'none', handler: () => ({ body: {} }) }),
  route({ ...about, method: 'GET', path: '/jobs/{job_id}', access: 'owner', handler: () => ({ body: {} }) }),
  publicRoute({
    ...about,
    method: 'GET',
    path: '/jobs/{id}',
    access: 'owner',
    job: 'id',
    handler: () => ({ body: {} }),
  }),
];

const JOB_ROUTES: Route<unknown>[] = (['GET', 'POST'] as const).map((method) =>
  route({
    ...about,
    ...{ method, path: '/jobs/{job_id}', access: 'owner' },
    handler: ({ job }) => ({ body: { job } }),
  }),
);

async function start() {
  /** What happened, in order. */
  const log: string[] = [];
  const sample = await startSample(ROUTES, undefined, {
    async await_position(position) {
      log.push(`await ${position}`);
      return true;
    },
    jobs: jobsBy(() => {
      log.push('owner');
      return { owner_id: 'alice' };
    }),
  });
  const { alice: as } = sample.tokens;
  const write = (position: string, who = as) =>
    sample.request(`/write?position=${position}`, { method: 'POST', as: who });
  return { sample, log, as, write };
}

test("a command answers its position, and its caller's next read waits for it", async (t) => {
  const { sample, log, as, write } = await start();
  t.is((await write('005')).headers.get('x-log-position'), '005');
  t.deepEqual(log, []);
  await sample.request('/read', { as });
  t.deepEqual(log, ['await 005']);
  await sample.close();
});

test('once reads see the position of a command, its caller waits for no read model until the next command', async (t) => {
  const { sample, log, as, write } = await start();
  await write('005');
  for (let n = 0; n < 3; n++) await sample.request('/read', { as });
  t.deepEqual(log, ['await 005']);
  await write('007');
  await sample.request('/read', { as });
  t.deepEqual(log, ['await 005', 'await 007']);
  await sample.close();
});

test('the answer to a command is sent after reads see its position, unless the route answers early', async (t) => {
  const { sample, log, as } = await start();
  const saved = await sample.request('/save', { method: 'PUT', as });
  t.is(saved.headers.get('x-log-position'), '005');
  t.deepEqual(log, ['await 005']);
  await sample.close();
});

test('a read of the log alone waits for no read model', async (t) => {
  const { sample, log, as, write } = await start();
  await write('005');
  t.is((await sample.request('/read-log', { as })).status, 200);
  t.deepEqual(log, []);
  await sample.close();
});

test('a command that succeeded answers although the document store is away', async (t) => {
  const sample = await startSample(ROUTES, undefined, {
    await_position: () => Promise.reject(Object.assign(new Error('away'), { code: 'unavailable' })),
  });
  const saved = await sample.request('/save', { method: 'PUT', as: sample.tokens.alice });
  t.is(saved.status, 200);
  t.is(saved.headers.get('x-log-position'), '005');
  await sample.close();
});

test('a read waits for its position before it checks the owner', async (t) => {
  const { sample, log, as, write } = await start();
  await write('005');
  await sample.request(`/jobs/${ALICES_JOB}`, { as });
  t.deepEqual(log, ['await 005', 'owner']);
  await sample.close();
});

test('what a read does not find is a 503 while the read models lack the position, and a 404 afterwards', async (t) => {
  const sample = await startSample(ROUTES, undefined, { await_position: async (position) => position <= '005' });
  const read = async (path: string, position: string) => {
    const response = await sample.request(path, { as: sample.tokens.alice, headers: { 'x-log-position': position } });
    return [response.status, ((await response.json()) as { code?: string }).code];
  };
  const missing = '/jobs/00000000-0000-4000-8000-000000000000';
  t.deepEqual(await read(missing, '006'), [503, 'unavailable']);
  t.deepEqual(await read(missing, '005'), [404, 'job_not_found']);
  t.deepEqual(await read(`/jobs/${ALICES_JOB}`, '006'), [200, undefined]);
  await sample.close();
});

test('a read waits for a job that only the log has yet; nothing else does', async (t) => {
  const job = async (_id: string) => (_id === ALICES_JOB ? { _id, owner_id: 'alice' } : null);
  const document = { _id: ALICES_JOB, owner_id: 'alice', is_document: true } as unknown as JobDocument;
  let comes = true;
  const awaited: string[] = [];
  const sample = await startSample(JOB_ROUTES, undefined, {
    jobs: {
      shown: async () => null,
      owned: job,
      async awaited(job_id) {
        awaited.push(job_id);
        return comes ? document : null;
      },
    },
  });
  const ask = async (method: string, job_id: string, as: string | null = sample.tokens.alice) => {
    const response = await sample.request(`/jobs/${job_id}`, { method, as });
    const body = (await response.json()) as { code?: string; job?: object };
    return [response.status, body.code ?? body.job, response.headers.get('retry-after')];
  };
  t.deepEqual(await ask('GET', '00000000-0000-4000-8000-000000000000'), [404, 'job_not_found', null]);
  t.deepEqual(await ask('GET', ALICES_JOB, sample.tokens.bob), [404, 'job_not_found', null]);
  t.deepEqual(await ask('POST', ALICES_JOB), [200, { _id: ALICES_JOB, owner_id: 'alice' }, null]);
  t.deepEqual(awaited, [], 'nobody waited');

  t.deepEqual(await ask('GET', ALICES_JOB), [200, document, null]);
  comes = false;
  t.deepEqual(await ask('GET', ALICES_JOB), [503, 'unavailable', '1']);
  t.deepEqual(awaited, [ALICES_JOB, ALICES_JOB]);
  await sample.close();
});

test('who waits for a job gets it once the read models have what the log has of it', async (t) => {
  const stores = await openTestStores(t);
  const commands = openJobs(stores.log);
  const credits = openCredits(stores.log);
  const lot = { transaction_type: 'purchase', reference_id: 'p', amount: 2, expires_at: null } as const;
  await credits.run('alice', { type: 'grant', ...lot }, commandContext());
  const blobs = { put: async () => 0 } as unknown as Blobs;
  const job = { job_id: ALICES_JOB, owner_id: 'alice', owner_email: null, filename: 'a.csv', batch_size: 10 };
  const urls = ['https://a.example/1', 'https://a.example/2'];
  await submitUpload({ log: stores.log, blobs, job_commands: commands, credits }, { ...job, urls, checked: 0 });
  const documents = openReadModels(stores.documents).collection(jobs);
  let is_projected = false;
  const finder = openJobFinder(documents, commands, async (position) => {
    if (is_projected) await project(stores);
    t.is(position, (await eventsOf(stores.log, jobStream(ALICES_JOB))).at(-1)!.position);
    return is_projected;
  });
  t.is((await finder.owned(ALICES_JOB))?.owner_id, 'alice');
  t.is(await finder.awaited(ALICES_JOB), null, 'the read models stay behind');
  is_projected = true;
  t.like(await finder.awaited(ALICES_JOB), { _id: ALICES_JOB, owner_id: 'alice' });
});

test("a caller's API key and token read each other's writes, other callers wait for nothing", async (t) => {
  const { sample, log, write } = await start();
  await write('005');
  await sample.request('/read', { as: sample.tokens.bob });
  await sample.request('/open');
  t.deepEqual(log, []);
  await sample.request(`/api/v2/jobs/${ALICES_JOB}`, { as: API_KEY });
  t.deepEqual(log, ['await 005', 'owner']);
  await sample.close();
});

test("the position in a request's header comes first, with or without a caller", async (t) => {
  const { sample, log, as, write } = await start();
  await write('005');
  await sample.request('/read', { as, headers: { 'x-log-position': '009' } });
  await sample.request('/open', { headers: { 'x-log-position': '007' } });
  t.deepEqual(log, ['await 009', 'await 007']);
  await sample.close();
});

test('the service keeps the furthest position, in any order of answers', async (t) => {
  const { sample, log, as, write } = await start();
  await write('009');
  await write('005');
  await sample.request('/read', { as });
  t.deepEqual(log, ['await 009']);
  await sample.close();
});

test('a command does not wait for the position of the one before it', async (t) => {
  const { sample, log, write } = await start();
  await write('005');
  await write('006');
  t.deepEqual(log, []);
  await sample.close();
});

test('the service refuses a position that is no position', async (t) => {
  const { sample, log } = await start();
  for (const position of ['x'.repeat(65), 'a b', 'é']) {
    const response = await sample.request('/open', { headers: { 'x-log-position': position } });
    t.is(response.status, 422);
    const { detail } = (await response.json()) as { detail: { loc: string[] }[] };
    t.deepEqual(detail[0]?.loc, ['header', 'x-log-position']);
  }
  t.deepEqual(log, []);
  await sample.close();
});
