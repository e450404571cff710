import test from 'ava';
import { until } from '../support/behind.ts';
import { startTestService } from '../support/service.ts';
import { openSite } from '../support/sites.ts';

test('a stopping service answers clients that wait for their jobs, and does not wait for the jobs', async (t) => {
  const service = await startTestService();
  const site = await openSite(() => {});
  try {
    const key = await service.keyHolder('alice');
    const waiting = key.ask('POST', '/api/v2/jobs/wait?wait_seconds=900', { urls: [`${site.url}/never`] });
    await until(() => site.asked.has('/never'));
    const [answer] = await Promise.all([waiting, service.stop()]);
    t.is(answer.status, 201);
    t.like(answer.body, { status: 'processing', timed_out: true, results: [] });
    t.is(typeof answer.body.next_cursor, 'string');
  } finally {
    await site.close();
  }
});
