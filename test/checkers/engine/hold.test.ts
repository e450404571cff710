// A held batch starts no more requests: checks in flight reach their outcome, and the others end as not started.
import test from 'ava';
import { createEngine, type Engine, type EngineSettings, NotStarted } from '../../../checkers/engine/engine.ts';
import { until } from '../../support/behind.ts';
import { type Behaviour, html, page, reply, startTestSite, type TestSite } from '../../support/test-site.ts';

const SETTINGS: EngineSettings = {
  concurrency: 16,
  per_host: 2,
  timeout_ms: 15_000,
  retries: 2,
  allow_addresses: ['127.0.0.0/8'],
  user_agent: 'test/1.0',
};

const fine: Behaviour = (_request, socket) => page(socket, html('Things', 'Things'));

/** Requests that wait until the test answers them. */
function waiting(answer: Behaviour = fine) {
  const answers: (() => void)[] = [];
  return {
    behaviour: ((request, socket) => void answers.push(() => answer(request, socket))) as Behaviour,
    get count() {
      return answers.length;
    },
    open() {
      for (const one of answers.splice(0)) one();
    },
  };
}

const endsOf = async (checks: Promise<{ verdict: string }>[]) =>
  (await Promise.allSettled(checks)).map((end) =>
    end.status === 'fulfilled' ? end.value.verdict : (end.reason as { code: string }).code,
  );

async function world(behaviours: Record<string, Behaviour>, settings: Partial<EngineSettings> = {}) {
  const site = await startTestSite({ behaviours });
  const engine = createEngine({ ...SETTINGS, ...settings }, { retry_base_ms: 1 });
  return { site, engine, end: () => Promise.all([engine.close(), site.close()]) };
}

const checkAll = (engine: Engine, site: TestSite, paths: readonly string[], hold: AbortSignal) =>
  paths.map((path) => engine.check(site.origin + path, { group: 'job', hold }));

test('a hold starts no waiting request, and requests in flight finish', async (t) => {
  const slow = waiting();
  const { site, engine, end } = await world({ '/p/*': slow.behaviour });
  t.teardown(end);
  const hold = new AbortController();
  const checks = checkAll(engine, site, ['/p/1', '/p/2', '/p/3', '/p/4', '/p/5'], hold.signal);
  await until(() => slow.count === 2);
  hold.abort();
  slow.open();
  t.deepEqual(await endsOf(checks), ['ok', 'ok', 'not_started', 'not_started', 'not_started']);
  t.deepEqual(site.requests, ['/p/1', '/p/2']);
  t.is(engine.backlog, 0);
  await t.throwsAsync(engine.check(site.origin, { hold: hold.signal }), { instanceOf: NotStarted });
});

test('a hold lets a started chain of redirects reach its end', async (t) => {
  const slow = waiting((_request, socket) => reply(socket, 302, { Location: '/hop-3' }));
  const { site, engine, end } = await world({ '/p/*': slow.behaviour });
  t.teardown(end);
  const hold = new AbortController();
  const checks = checkAll(engine, site, ['/p/1'], hold.signal);
  await until(() => slow.count === 1);
  hold.abort();
  slow.open();
  t.deepEqual(await endsOf(checks), ['redirected']);
});

for (const held_first of [true, false]) {
  const when = held_first ? 'before' : 'after';
  test(`a hold ${when} a redirect to a host that may not be asked now stops there`, async (t) => {
    const slow = waiting((_request, socket) => reply(socket, 302, { Location: 'http://127.0.0.2:1/' }));
    const { site, engine, end } = await world({ '/p/*': slow.behaviour });
    t.teardown(end);
    const hold = new AbortController();
    const checks = checkAll(engine, site, ['/p/1'], hold.signal);
    await until(() => slow.count === 1);
    engine.share({ owns: () => true, mayAsk: () => false });
    if (held_first) hold.abort();
    slow.open();
    if (!held_first) {
      await until(() => engine.backlog === 1);
      hold.abort();
    }
    t.deepEqual(await endsOf(checks), ['not_started']);
    t.is(engine.backlog, 0);
  });
}

test('a hold allows no second attempt after a failed one', async (t) => {
  const slow = waiting((_request, socket) => reply(socket, 502, {}));
  const { site, engine, end } = await world({ '/p/*': slow.behaviour });
  t.teardown(end);
  const hold = new AbortController();
  const checks = checkAll(engine, site, ['/p/1'], hold.signal);
  await until(() => slow.count === 1);
  hold.abort();
  slow.open();
  t.deepEqual(await endsOf(checks), ['not_started']);
  t.is(site.requests.length, 1);
});

test('a hold does not start a waiting retry', async (t) => {
  const refuse: Behaviour = (_request, socket) => reply(socket, 429, { 'Retry-After': '3000' });
  const { site, engine, end } = await world({ '/p/*': refuse });
  t.teardown(end);
  const hold = new AbortController();
  const checks = checkAll(engine, site, ['/p/1', '/p/2', '/p/3'], hold.signal);
  await until(() => site.requests.length === 2);
  hold.abort();
  t.deepEqual(await endsOf(checks), ['not_started', 'not_started', 'not_started']);
});

test('a hold starts no probe for a suspect page', async (t) => {
  const slow = waiting((_request, socket) => page(socket, html('Page not found', 'Welcome')));
  const { site, engine, end } = await world({ '/f/*': slow.behaviour }, { per_host: 1 });
  t.teardown(end);
  const hold = new AbortController();
  const checks = checkAll(engine, site, ['/f/1'], hold.signal);
  const other = engine.check(`${site.origin}/f/other`, { group: 'another job' });
  await until(() => slow.count === 1);
  hold.abort();
  slow.open();
  t.deepEqual(await endsOf(checks), ['not_started']);
  await until(() => slow.count === 1);
  slow.open();
  await until(() => slow.count === 1);
  slow.open();
  t.is((await other).verdict, 'soft_404', 'another batch asks its own');
});

test('a waiting probe is dropped with the last check that waits for it', async (t) => {
  const slow = waiting((_request, socket) => page(socket, html('Page not found', 'Welcome')));
  const { site, engine, end } = await world({ '/f/*': slow.behaviour, '/slow': () => {} }, { per_host: 1 });
  t.teardown(end);
  const hold = new AbortController();
  const checks = checkAll(engine, site, ['/f/1'], hold.signal);
  await until(() => slow.count === 1);
  engine.share({ owns: () => true, mayAsk: () => false });
  slow.open();
  await until(() => engine.backlog === 2);
  hold.abort();
  t.deepEqual(await endsOf(checks), ['not_started']);
  t.is(engine.backlog, 0);
  t.deepEqual(site.requests, ['/f/1']);
});

test('a hold does not affect other batches', async (t) => {
  const { site, engine, end } = await world({ '/p/*': fine });
  t.teardown(end);
  const [held, other] = [new AbortController(), new AbortController()];
  const kept = checkAll(engine, site, ['/p/1', '/p/2', '/p/3', '/p/4'], other.signal);
  const dropped = checkAll(engine, site, ['/p/5', '/p/6', '/p/7'], held.signal);
  held.abort();
  t.deepEqual(await endsOf(dropped), ['not_started', 'not_started', 'not_started']);
  t.deepEqual(await endsOf(kept), ['ok', 'ok', 'ok', 'ok']);
});
