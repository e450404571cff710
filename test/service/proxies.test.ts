// The pool of proxies from outside: an administrator refreshes the list, checkers follow, and the routes show what they found.
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { until } from '../support/behind.ts';
import { observeProxy } from '../support/observed-proxy.ts';
import { startTestService } from '../support/service.ts';
import { openSite } from '../support/sites.ts';
import { openFolderLog } from '../support/stores.ts';
import { startTestProxy } from '../support/test-proxy.ts';

/** A provider whose answer a test changes. */
async function openProvider(t: ExecutionContext) {
  let answer: http.RequestListener = (_, response) => response.end();
  const server = http.createServer((request, response) => answer(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return {
    url: `http://key:secret@127.0.0.1:${(server.address() as AddressInfo).port}/list`,
    lists: (...urls: string[]) => (answer = (_, response) => response.end(JSON.stringify(urls))),
    answers: (next: http.RequestListener) => (answer = next),
  };
}

test('a refresh reaches the checkers, and a provider without a list changes nothing', async (t) => {
  const [site, first, second, provider] = await Promise.all([
    openSite(),
    startTestProxy({ credentials: 'user:secret' }),
    startTestProxy({ kind: 'socks5', credentials: 'user:secret' }),
    openProvider(t),
  ]);
  provider.lists(first.url);
  const service = await startTestService({ PROXY_LIST_URL: provider.url });
  t.teardown(async () => {
    await service.stop();
    await Promise.all([site, first, second].map((one) => one.close()));
  });
  const [admin, user] = [await service.client('root', { is_admin: true }), await service.client('alice')];
  const check = async (name: string) => {
    const { body } = await user.upload(`${site.url}/${name}\n`, '', 'urls.txt');
    t.like(await user.ended(body.job_id), { status: 'completed', completed_urls: 1 });
  };
  await check('first');
  t.is(first.asked.length, 1);
  // The checker has recorded the list that it found by itself.
  await until(async () => (await admin.ask('GET', '/proxies/stats')).body.total === 1);

  provider.lists(second.url, 'nonsense', second.url);
  const refreshed = await admin.ask('POST', '/proxies/refresh');
  t.is(refreshed.status, 200);
  t.like(refreshed.body, { total: 1, added: 1, removed: 1, skipped: 2 });
  const listed = await admin.ask('GET', '/proxies');
  t.like(listed.body, { total: 1, page: 1, page_size: 50 });
  t.like(listed.body.items[0], { address: `socks5://127.0.0.1:${second.port}`, status: 'unused', success_rate: null });
  let n = 0;
  await until(async () => {
    await check(`again${n++}`);
    return second.asked.length > 0;
  });

  for (const [answer, reason] of [
    [(_, response) => response.writeHead(503).end(second.url), /answers with status 503/],
    [(_, response) => response.end('<html>no list</html>'), /it names no proxy/],
    [(_, response) => response.destroy(), /it cannot be read/],
  ] as const satisfies readonly (readonly [http.RequestListener, RegExp])[]) {
    provider.answers(answer);
    const { status, body } = await admin.ask('POST', '/proxies/refresh');
    t.deepEqual([status, body.code], [502, 'proxy_list_unreadable']);
    t.regex(body.detail, reason);
    t.notRegex(JSON.stringify(body), /secret|key/);
  }
  t.deepEqual((await admin.ask('GET', '/proxies')).body, listed.body);
  t.like((await admin.ask('GET', '/proxies?status=removed')).body, { total: 1 });

  const texts: string[] = [];
  const log = await openFolderLog(service.data_dir);
  for await (const { data } of log.readAll({ filter: { categories: ['proxy', 'proxy_list'] } })) {
    texts.push(JSON.stringify(data));
  }
  await log.close();
  t.is(texts.length > 1, true);
  t.notRegex(texts.join('\n'), /secret|user/);
});

test('the routes show health, domains and figures by page, status and search', async (t) => {
  const provider = await openProvider(t);
  // Nothing listens there.
  provider.lists('http://user:secret@127.0.0.1:1', 'http://127.0.0.1:2', 'http://127.0.0.1:3');
  const service = await startTestService({ PROXY_LIST_URL: provider.url, ROLES: 'http,projector' });
  t.teardown(() => service.stop());
  const admin = await service.client('root', { is_admin: true });
  const get = async (path: string) => {
    const { status, body } = await admin.ask('GET', path);
    t.is(status, 200, path);
    return body;
  };
  t.like(await get('/proxies/stats'), { is_configured: true, total: 0, success_rate: null, latency_ms: null });
  t.like((await admin.ask('POST', '/proxies/refresh')).body, { total: 3, added: 3 });
  const { items } = await get('/proxies?limit=2');
  t.deepEqual([items.length, (await get('/proxies?limit=2&page=2')).items.length], [2, 1]);
  t.deepEqual((await get('/proxies?search=:3')).items.length, 1);

  const log = await openFolderLog(service.data_dir);
  const [{ proxy_id, address }] = items;
  const time = await observeProxy(log, { proxy_id, address }, ['b.example', 'shop.a.example']);
  await log.close();
  await until(async () => (await get('/proxies/stats')).requests === 10);
  const health = { success_rate: 0.6, block_rate: 0.3, latency_ms: 100, requests: 10, answered: 6 };
  t.like((await get('/proxies?status=degraded')).items[0], { proxy_id, ...health, last_used_at: time });
  t.like(await get('/proxies/stats'), { ...health, total: 3, troubled_domains: 2 });
  t.deepEqual((await get('/proxies/stats')).by_status, {
    healthy: 0,
    degraded: 1,
    quarantined: 0,
    unused: 2,
    removed: 0,
  });
  const path = `/proxies/${proxy_id}/blocked-domains`;
  t.like(await get(path), { total: 2, page: 1, page_size: 10 });
  t.like(await get(`${path}?search=SHOP`), { total: 1, items: [{ domain: 'shop.a.example', status: 'blocked' }] });
  t.deepEqual((await get(`${path}?page=2&limit=1`)).items.length, 1);
  t.is((await admin.ask('GET', '/proxies/unknown/blocked-domains')).status, 404);
  t.is((await admin.ask('GET', '/proxies?status=none')).status, 422);
});

test('without a list of proxies the routes answer, and a refresh says why it cannot', async (t) => {
  const service = await startTestService({ ROLES: 'http,projector' });
  t.teardown(() => service.stop());
  const admin = await service.client('root', { is_admin: true });
  t.like((await admin.ask('GET', '/proxies')).body, { items: [], total: 0 });
  t.like((await admin.ask('GET', '/proxies/stats')).body, { is_configured: false, total: 0, last_used_at: null });
  const { status, body } = await admin.ask('POST', '/proxies/refresh');
  t.deepEqual([status, body.code], [409, 'proxies_not_configured']);
});
