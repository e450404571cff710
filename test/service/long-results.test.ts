// The longest results that a job can have, read over each route that gives pages of them.
import test from 'ava';
import { startTestService } from '../support/service.ts';
import { openSite } from '../support/sites.ts';

const HOPS = 9;
const URLS = 101;

test('a page of the longest results is equal by offset, by cursor and through a share', async (t) => {
  t.timeout(300_000);
  const site = await openSite((request, response) => {
    const [, url, hop] = /^\/(\d+)\/(\d+)/.exec(request.url!)!;
    if (Number(hop) === HOPS) return void response.end('here');
    const start = `/${url}/${Number(hop) + 1}/`;
    response.writeHead(302, { location: start + 'x'.repeat(8000 - start.length) }).end();
  });
  const service = await startTestService({ SIGNUP_CREDITS: '1000' });
  t.teardown(() => Promise.all([site.close(), service.stop()]));
  const alice = await service.client('alice');
  const key = await service.keyHolder('alice');
  const urls = Array.from({ length: URLS }, (_, n) => `${site.url}/${n}/0`);
  const { body: created } = await alice.upload(urls.join('\n'));
  const { job_id } = created;
  t.like(await alice.ended(job_id), { completed_urls: URLS });

  const { body: page } = await alice.ask('GET', `/jobs/${job_id}/results?limit=1000`);
  t.deepEqual(
    page.items.map((item: { url: string }) => item.url),
    urls,
  );
  t.true(page.items.every((item: { redirect_chain: string[] }) => item.redirect_chain.length === HOPS));
  t.true(JSON.stringify(page).length > 6_000_000);

  const { body: by_offset } = await key.ask('GET', `/api/v2/jobs/${job_id}/results?limit=100&offset=0`);
  t.deepEqual(by_offset.results, page.items.slice(0, 100));
  t.is(by_offset.total, URLS);
  const { body: rest } = await key.ask('GET', `/api/v2/jobs/${job_id}/results?cursor=${by_offset.next_cursor}`);
  t.deepEqual([rest.results, rest.next_cursor], [page.items.slice(100), null]);

  const by_cursor: unknown[] = [];
  for (let cursor = ''; cursor !== null; ) {
    const { body } = await key.ask('GET', `/api/v2/jobs/${job_id}/results?limit=1000&cursor=${cursor}`);
    t.true(body.results.length > 0 && body.results.length < URLS);
    by_cursor.push(...body.results);
    cursor = body.next_cursor;
  }
  t.deepEqual(by_cursor, page.items);

  const { body: share } = await alice.ask('POST', `/jobs/${job_id}/share`, {});
  const { body: shared } = await alice.ask('GET', `/share/${share.token}?limit=1000`);
  t.deepEqual(shared.items, page.items);
});
