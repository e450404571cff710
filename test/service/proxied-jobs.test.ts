// A job of a service whose operator names proxies: its URLs go through them, and what they met is in the log at the end.
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import test from 'ava';
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import type { ProxyObserved } from '../../events/proxy.ts';
import { startTestService } from '../support/service.ts';
import { openSite } from '../support/sites.ts';
import { startTestProxy } from '../support/test-proxy.ts';

test('the checker uses the proxies of the list, and a clean stop records their outcomes', async (t) => {
  const [site, socks, connect, refusing] = await Promise.all([
    openSite(),
    startTestProxy({ kind: 'socks5', credentials: 'user:secret' }),
    startTestProxy(),
    startTestProxy({ behaviour: { refuse: 407 } }),
  ]);
  const proxies = [socks, connect, refusing];
  const list = http.createServer((_request, response) => response.end(proxies.map(({ url }) => url).join('\n')));
  list.listen(0, '127.0.0.1');
  await once(list, 'listening');
  const { port } = list.address() as AddressInfo;
  const service = await startTestService({ PROXY_LIST_URL: `http://127.0.0.1:${port}/list` });
  let observed: ProxyObserved[] = [];
  try {
    const client = await service.client('proxied');
    const urls = Array.from({ length: 40 }, (_, i) => `${site.url}/${i}`);
    const created = await client.upload(urls.join('\n'), '', 'urls.txt');
    const job = await client.ended(created.body.job_id);
    t.like(job, { status: 'completed', completed_urls: 40 });
    const results = await client.ask('GET', `/jobs/${created.body.job_id}/results?status_group=2xx`);
    t.is(results.body.total, 40);
  } finally {
    await service.stop(async (data_dir) => {
      const log = await openSqliteEventStore({ path: join(data_dir, 'events.db') });
      for await (const { data } of log.readAll({ filter: { categories: ['proxy'] } })) {
        observed = [...observed, data as ProxyObserved];
      }
      await log.close();
    });
    list.close();
    await Promise.all([site.close(), ...proxies.map((proxy) => proxy.close())]);
  }
  const sum = (of: 'answered' | 'failed') => observed.reduce((total, counts) => total + counts[of], 0);
  t.is(sum('answered'), 40);
  t.is(new Set(observed.map(({ proxy_id }) => proxy_id)).size, 3);
  t.true(socks.asked.length + connect.asked.length > 0);
  t.is(sum('failed'), refusing.asked.length);
  t.notRegex(JSON.stringify(observed), /secret/);
});
