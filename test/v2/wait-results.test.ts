// The answer of a wait: it holds every result that the job has, however many pages they would be.
import test from 'ava';
import { recordChecks } from '../../commands/jobs/record-checks.ts';
import type { JobCreated } from '../../events/job.ts';
import { jobStream } from '../../events/streams.ts';
import { eventsOf, FOUND, openBehind } from '../support/behind.ts';
import { startTestService } from '../support/service.ts';
import { commandContext } from '../support/stores.ts';

const URLS = Array.from({ length: 2345 }, (_, n) => `http://127.0.0.1:9/${n}`);

test('a wait answers with all results of the job, and a cursor only while the job runs', async (t) => {
  // No checker works here but the test.
  const service = await startTestService({ ROLES: 'http,projector,processes', SIGNUP_CREDITS: '5000' });
  const behind = await openBehind(service.data_dir);
  try {
    const client = await service.keyHolder('alice');
    const wait = (seconds: number) =>
      client.ask('POST', `/api/v2/jobs/wait?wait_seconds=${seconds}`, { urls: URLS }, { 'idempotency-key': 'once' });
    const { job_id } = (await wait(0)).body;
    const [created] = await eventsOf(behind.log, jobStream(job_id));
    const { batch_size } = created!.data as JobCreated;
    const check = async (from: number, to: number) => {
      for (let at = from; at < to; at += batch_size) {
        const urls = URLS.slice(at, Math.min(at + batch_size, to));
        const range = { job_id, batch: at / batch_size, from_index: at, urls };
        await recordChecks(behind.log, range, Array(urls.length).fill(FOUND), commandContext());
      }
    };
    const some = 20 * batch_size;
    await check(0, some);
    let partly = await wait(0);
    while (partly.body.results.length < some) partly = await wait(1);
    t.like(partly.body, { status: 'processing', timed_out: true });
    t.is(partly.body.results.length, some);

    await check(some, URLS.length);
    const whole = await wait(60);
    t.like(whole.body, { status: 'completed', timed_out: false, next_cursor: null });
    t.deepEqual(
      whole.body.results.map(({ url }: { url: string }) => url),
      URLS,
    );
    const { next_cursor } = partly.body;
    const rest = await client.ask('GET', `/api/v2/jobs/${job_id}/results?limit=1000&cursor=${next_cursor}`);
    t.is(rest.body.results[0].url, URLS[some]);

    // A list comes once unless both its names are asked for, and compressed.
    for (const query of ['limit=2', 'limit=500', 'limit=2&cursor=', 'limit=500&cursor=']) {
      const path = `/api/v2/jobs/${job_id}/results?${query}`;
      const page = await client.ask('GET', path);
      t.deepEqual(Object.keys(page.body), ['results', 'next_cursor', 'total'], query);
      t.is(page.headers.get('content-encoding'), page.body.results.length > 2 ? 'gzip' : null, query);
      const both = await client.ask('GET', `${path}&items=true`);
      t.deepEqual(both.body, { ...page.body, items: page.body.results }, query);
    }
    const head = await client.ask('HEAD', `/api/v2/jobs/${job_id}/results?limit=500`);
    t.deepEqual([head.status, head.headers.get('content-encoding')], [200, null]);
    t.is(head.headers.get('vary'), 'Accept-Encoding');
    t.is(whole.headers.get('content-encoding'), 'gzip');
    t.is(whole.headers.get('vary'), 'Accept-Encoding');
    const file = await (await service.client('alice')).ask('GET', `/jobs/${job_id}/export`);
    t.is(file.headers.get('content-encoding'), 'gzip');
    t.is(file.body.trim().split('\n').length, URLS.length + 1);
    const as_is = await client.ask('GET', `/api/v2/jobs/${job_id}/results?limit=500`, undefined, {
      'accept-encoding': 'identity',
    });
    t.is(as_is.headers.get('content-encoding'), null);
    t.is(as_is.body.results.length, 500);
  } finally {
    await behind.close();
    await service.stop();
  }
});
