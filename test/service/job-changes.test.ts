// What changed between two checks of a list, from outside.
import { Readable } from 'node:stream';
import test from 'ava';
import type { RouteRequest } from '../../http/frame/route.ts';
import { changes, type Deps } from '../../http/results/job-changes.ts';
import type { JobDocument } from '../../readmodels/jobs/jobs.ts';
import { startTestService } from '../support/service.ts';
import { openSite, page } from '../support/sites.ts';

test('two jobs of a list are compared: what broke, healed, moved, came and went', async (t) => {
  const broken = new Set(['/heals']);
  const moved = new Set<string>();
  const site = await openSite((request, response) => {
    const path = request.url!;
    if (broken.has(path)) return void response.writeHead(404).end();
    if (moved.has(path)) return void response.writeHead(301, { location: '/target' }).end();
    page(request, response);
  });
  const service = await startTestService({ SIGNUP_CREDITS: '100' });
  t.teardown(async () => {
    await service.stop();
    await site.close();
  });
  const client = await service.client('alice');
  const check = async (paths: readonly string[]) => {
    const { body } = await client.upload(paths.map((path) => site.url + path).join('\n'), '', 'pages.csv');
    return await client.ended(body.job_id);
  };
  const earlier = await check(['/same', '/breaks', '/heals', '/moves', '/goes']);
  broken.clear();
  broken.add('/breaks');
  moved.add('/moves');
  const later = await check(['/comes', '/heals', '/breaks', '/same', '/moves']);

  const changes = (query = '', as = client) =>
    as.ask('GET', `/jobs/${later.job_id}/changes?since=${earlier.job_id}${query}`);
  const { status, body } = await changes();
  t.is(status, 200, JSON.stringify(body));
  const { items, ...rest } = body;
  t.deepEqual(
    items.map((item: { change: string; url: string }) => [item.change, new URL(item.url).pathname]),
    [
      ['added', '/comes'],
      ['healed', '/heals'],
      ['broke', '/breaks'],
      ['moved', '/moves'],
      ['removed', '/goes'],
    ],
  );
  t.like(items[2], { before: { status_code: 200, row: 2 }, after: { status_code: 404, row: 3 } });
  t.is(items[0].before, null);
  t.is(items[4].after, null);
  t.deepEqual(rest, {
    ...{ total: 5, limit: 50, offset: 0, unchanged: 1 },
    counts: { broke: 1, healed: 1, moved: 1, changed: 0, added: 1, removed: 1 },
    since: {
      ...{ job_id: earlier.job_id, filename: 'pages.csv' },
      ...{ completed_at: earlier.completed_at, completed_urls: 5 },
    },
  });
  const page2 = await changes('&change=broke&offset=1');
  t.like(page2.body, { items: [], total: 1, offset: 1 });

  // Somebody else's job is no better than none, on either side.
  const mallory = await service.client('mallory');
  t.like((await changes('', mallory)).body, { code: 'job_not_found' });
  const { body: hers } = await mallory.upload(`${site.url}/same`);
  await mallory.ended(hers.job_id);
  const foreign = await mallory.ask('GET', `/jobs/${hers.job_id}/changes?since=${earlier.job_id}`);
  t.like(foreign, { status: 404, body: { code: 'since_not_found' } });
  t.is((await changes('&change=better')).status, 422);

  // A job that was deleted takes its comparisons along.
  await client.ask('DELETE', `/jobs/${earlier.job_id}`);
  t.like((await changes()).body, { code: 'since_not_found' });
});

test('jobs that have not ended are not compared', async (t) => {
  const site = await openSite((_request, _response) => {});
  const service = await startTestService({ SIGNUP_CREDITS: '100' });
  t.teardown(async () => {
    await service.stop();
    await site.close();
  });
  const client = await service.client('alice');
  const { body } = await client.upload(`${site.url}/never`);
  const answer = await client.ask('GET', `/jobs/${body.job_id}/changes?since=${body.job_id}`);
  t.like(answer, { status: 409, body: { code: 'not_ended' } });
});

for (const expired of ['earlier', 'later']) {
  test(`results of the ${expired} job that expire while they are compared are expired, not missing`, async (t) => {
    const job = (_id: string) => ({ _id, owner_id: 'alice', status: 'completed', total_urls: 1, completed_urls: 1 });
    const jobs = new Map([job('earlier'), job('later')].map((one) => [one._id, one]));
    const results = {
      // They go at the moment when they are read.
      stream() {
        jobs.set(expired, Object.assign(job(expired), { results_expired_at: '2026-01-31T09:00:00.000Z' }));
        return Readable.from([]);
      },
    };
    const read = { jobs: { get: async (id: string) => jobs.get(id) ?? null }, results };
    const request = {
      job: jobs.get('later') as unknown as JobDocument,
      query: { since: 'earlier', limit: 50, offset: 0 },
      signal: new AbortController().signal,
    };
    const answer = changes.handler(
      request as unknown as RouteRequest,
      { read, kept: new Map() } as unknown as Deps,
    ) as Promise<unknown>;
    t.like(await t.throwsAsync(answer), { status: 410, code: 'results_expired' });
  });
}
