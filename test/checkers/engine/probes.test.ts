// The cost of soft 404 detection: the number of probes of a folder, counted at the server.
import test from 'ava';
import { createEngine } from '../../../checkers/engine/engine.ts';
import { Probes } from '../../../checkers/engine/probes.ts';
import type { ProbeAnswer } from '../../../checkers/engine/soft-404.ts';
import { shop, shopUrls } from '../../support/shop.ts';
import { type Behaviour, html, page, startTestSite } from '../../support/test-site.ts';

const SETTINGS = {
  concurrency: 64,
  per_host: 16,
  timeout_ms: 60_000,
  retries: 0,
  allow_addresses: ['127.0.0.0/8'],
  user_agent: 'test',
};

test('a list without suspicious pages costs no extra request', async (t) => {
  const ordinary: Behaviour = ({ path }, socket) => page(socket, html(`Thing ${path}`, `All about ${path}`));
  const site = await startTestSite({ behaviours: { '/*': ordinary } });
  const engine = createEngine(SETTINGS);
  t.teardown(async () => {
    await engine.close();
    await site.close();
  });
  const list = shopUrls(site.origin, 100, 10);
  const outcomes = await Promise.all(list.map((url) => engine.check(url, { group: 'job' })));
  t.true(outcomes.every(({ verdict }) => verdict === 'ok'));
  t.is(site.requests.length, list.length);
});

test('one page for everything, or pages under one title, cost at most 5 % more requests', async (t) => {
  const one: Behaviour = (_request, socket) => page(socket, html('App', 'Welcome back to the app'));
  const untitled: Behaviour = ({ path }, socket) => page(socket, html('Records', 'Records', `${path} `.repeat(40)));
  const site = await startTestSite({ behaviours: { '/f*': one, '/r*': untitled } });
  const engine = createEngine(SETTINGS);
  t.teardown(async () => {
    await engine.close();
    await site.close();
  });
  const list = [...shopUrls(site.origin, 100, 10), ...shopUrls(`${site.origin}/r`, 200, 5)];
  await Promise.all(list.map((url) => engine.check(url, { group: 'job' })));
  const more = site.requests.length - list.length;
  t.true(more <= list.length / 20 + 1, `${more} more than ${list.length}`);
});

test('a folder is probed once a job, over all its batches, and again in another job', async (t) => {
  const site = await startTestSite({ behaviours: { '/f*': shop(true) } });
  const engine = createEngine(SETTINGS);
  t.teardown(async () => {
    await engine.close();
    await site.close();
  });
  const list = shopUrls(site.origin, 5, 40);
  const paths = new Set(list.map((url) => new URL(url).pathname));
  const soft = new Set<string>();
  for (const group of ['job', 'another job']) {
    const seen = site.requests.length;
    for (let from = 0; from < list.length; from += 20) {
      const batch = list.slice(from, from + 20);
      const outcomes = await Promise.all(batch.map((url) => engine.check(url, { group })));
      for (const [i, { verdict }] of outcomes.entries()) if (verdict === 'soft_404') soft.add(batch[i]!);
    }
    const probed = site.requests.slice(seen).filter((path) => !paths.has(path));
    const folders = probed.map((path) => path.split('/')[1]);
    t.true(folders.length > 0);
    t.is(new Set(folders).size, folders.length, `once in ${group}: ${probed}`);
  }
  t.deepEqual([...soft].toSorted(), list.filter((_, i) => i % 4 === 0).toSorted());
});

test('a page without a word of absence is not soft for its likeness to other URLs and to what a missing name gets', async (t) => {
  const site = await startTestSite({ behaviours: { '/f*': shop(false) } });
  const engine = createEngine(SETTINGS);
  t.teardown(async () => {
    await engine.close();
    await site.close();
  });
  const list = shopUrls(site.origin, 1, 60);
  const verdicts: string[] = [];
  for (const url of list) verdicts.push((await engine.check(url, { group: 'job' })).verdict);
  const lost = verdicts.filter((_, i) => i % 4 === 0);
  t.is(lost.length, 15);
  t.true(verdicts.every((verdict) => verdict === 'ok'));
  t.is(site.requests.length, list.length);
});

const HONEST: ProbeAnswer = { status: 404, final_path: '/x', sketch: null };

test("waiting checks receive a probe's result at once, and later checks need no probe", (t) => {
  const probes = new Probes(() => {});
  const heard: (number | null)[] = [];
  const hear = ({ status }: ProbeAnswer) => heard.push(status);
  t.is(probes.ask('a', hear), 'new');
  t.is(probes.ask('a', hear), 'asked');
  t.deepEqual(heard, []);
  probes.answer('a', HONEST);
  t.deepEqual(heard, [404, 404]);
  t.is(probes.ask('a', hear), 'asked');
  t.deepEqual(heard, [404, 404, 404]);
});

test('a folder whose probe was evicted is not probed again, and gives no evidence', (t) => {
  const probes = new Probes(() => {}, 10, 20);
  for (let i = 0; i < 25; i++) {
    t.is(
      probes.ask(`folder ${i}`, () => {}),
      'new',
    );
    probes.answer(`folder ${i}`, HONEST);
  }
  const statuses: (number | null)[] = [];
  for (let i = 0; i < 25; i++)
    t.is(
      probes.ask(`folder ${i}`, ({ status }) => statuses.push(status)),
      'asked',
    );
  t.deepEqual(statuses, [...Array(15).fill(null), ...Array(10).fill(404)]);
});
