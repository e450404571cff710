// Read models are rebuilt while the service runs: over HTTP, with its progress, and without an answer that is cut or mixed.
import test from 'ava';
import { until } from '../support/behind.ts';
import { startTestService } from '../support/service.ts';
import { openSite, page } from '../support/sites.ts';

const ROWS = 3_000;
/** Longer than what the sockets between the service and a client that does not read hold. */
const PATH = 'x'.repeat(1_500);

test('an administrator rebuilds a read model, and an export that began before ends whole after it', async (t) => {
  t.timeout(300_000);
  const site = await openSite(page);
  const service = await startTestService({ CHECKER_PER_HOST: '100' });
  try {
    const [admin, alice] = [await service.client('root', { is_admin: true }), await service.client('alice')];
    await alice.ask('GET', '/users/me/credits');
    await admin.ask('POST', `/admin/users/alice/adjust-credits?amount=${ROWS}&reason=test`);
    const urls = Array.from({ length: ROWS }, (_, n) => `${site.url}/${n}/${PATH}`);
    const { job_id } = (await alice.upload(`url\n${urls.join('\n')}\n`)).body;
    t.is((await alice.ended(job_id)).status, 'completed');

    const headers = { authorization: `Bearer ${alice.token}` };
    const response = await fetch(`${service.url}/jobs/${job_id}/export?format=csv`, { headers });
    const reader = response.body!.getReader();
    let text = new TextDecoder().decode((await reader.read()).value);

    const path = '/admin/projections/jobs/rebuild';
    t.is((await alice.ask('POST', path, {})).status, 403);
    t.is((await admin.ask('POST', '/admin/projections/nothing/rebuild', {})).status, 404);
    const asked = await admin.ask('POST', path, { verify: true });
    t.is(asked.status, 202, JSON.stringify(asked.body));
    t.not(asked.body.rebuild, 'none');
    const jobs = async () =>
      (await admin.ask('GET', '/admin/projections')).body.items.find(
        ({ projection }: { projection: string }) => projection === 'jobs',
      );
    await until(async () => {
      t.is((await alice.ask('GET', `/jobs/${job_id}`)).status, 200, 'reads never stop');
      return (await jobs()).verified !== null;
    });
    t.like(await jobs(), { rebuild: 'none', building: null, parked_events: 0 });
    t.like((await jobs()).verified, { differing: 0, differences: [] });

    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
      text += new TextDecoder().decode(chunk.value);
    }
    t.is(text.trimEnd().split('\n').length, ROWS + 1);
  } finally {
    await service.stop();
    await site.close();
  }
});
