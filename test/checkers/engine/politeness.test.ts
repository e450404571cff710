// The pace of requests to a host, alone and within the engine, by a clock that the test holds.
import type { Socket } from 'node:net';
import test from 'ava';
import { createEngine, type EngineParts, type EngineSettings } from '../../../checkers/engine/engine.ts';
import { Hosts, throttlingOf } from '../../../checkers/engine/hosts.ts';
import { RETRY_AFTER_CAP_MS } from '../../../checkers/engine/retries.ts';
import { until } from '../../support/behind.ts';
import { startRawServer } from '../../support/raw-server.ts';
import { type Behaviour, reply, startTestSite } from '../../support/test-site.ts';

const WALL = () => Date.UTC(2026, 0, 1);
const HOST = 'a.example';
const NOT_NOW = { retry_after_ms: null, is_explicit: true };
const BARE_503 = { retry_after_ms: null, is_explicit: false };

/** The middle of every random range, so that gaps have their nominal length. */
const open = (settings: Partial<{ per_host: number; gap_ms: number; random: () => number }> = {}) =>
  new Hosts({ per_host: 8, gap_ms: 0, random: () => 0.5, ...settings });

/** The milliseconds from `now` until a request may start. */
function heldFor(hosts: Hosts, now: number): number {
  let ms = 0;
  while (hosts.limitOf(HOST) === 0) hosts.sweep(now + ++ms, () => {});
  return ms;
}

test('429 and 503 ask the engine to slow down, and Retry-After says for how long', (t) => {
  const at = (status: number, retry_after?: string, protection: string | null = null) =>
    throttlingOf(status, retry_after === undefined ? {} : { 'retry-after': retry_after }, protection, WALL);
  t.deepEqual(at(429), { retry_after_ms: null, is_explicit: true });
  t.deepEqual(at(429, '7'), { retry_after_ms: 7000, is_explicit: true });
  t.deepEqual(at(429, 'Thu, 01 Jan 2026 00:00:07 GMT'), { retry_after_ms: 7000, is_explicit: true });
  t.deepEqual(at(429, '7', 'cloudflare'), { retry_after_ms: 7000, is_explicit: true });
  t.deepEqual(at(503), { retry_after_ms: null, is_explicit: false });
  t.deepEqual(at(503, '7'), { retry_after_ms: 7000, is_explicit: true });
  t.is(at(503, '7', 'cloudflare'), null);
  for (const status of [200, 301, 403, 404, 500, 502, 504]) t.is(at(status, '7'), null);
});

test('the first of two Retry-After headers counts', async (t) => {
  const twice: Behaviour = (_request, socket) => reply(socket, 429, { 'Retry-After': '3600\r\nRetry-After: 7' });
  const site = await startTestSite({ behaviours: { '/twice': twice } });
  const engine = createEngine({ ...SETTINGS, retries: 0 });
  t.teardown(() => Promise.all([engine.close(), site.close()]));
  const { status_code, verdict, error_code } = await engine.check(`${site.origin}/twice`);
  t.deepEqual({ status_code, verdict, error_code }, { status_code: 429, verdict: 'broken', error_code: null });
});

test('a host without trouble has no state', (t) => {
  const hosts = open();
  t.false(hosts.started(HOST, 0));
  t.false(hosts.answered(HOST, 0));
  t.is(hosts.limitOf(HOST), 8);
  t.is(hosts.size, 0);
});

test('each round of refusals halves the concurrency, down to one', (t) => {
  const hosts = open();
  const limits = [];
  for (let now = 0; now < 50_000; now += 10_000) {
    t.true(hosts.slow(HOST, now, now, NOT_NOW));
    heldFor(hosts, now);
    limits.push(hosts.limitOf(HOST));
  }
  t.deepEqual(limits, [4, 2, 1, 1, 1]);
});

test('refusals of requests from before the slow-down change nothing', (t) => {
  const hosts = open();
  t.true(hosts.slow(HOST, 0, 10, NOT_NOW));
  for (let i = 0; i < 7; i++) t.false(hosts.slow(HOST, i, 11, NOT_NOW));
  heldFor(hosts, 11);
  t.is(hosts.limitOf(HOST), 4);
});

test('no request starts until Retry-After is over, and the longest one counts', (t) => {
  const hosts = open({ random: () => 0 });
  hosts.slow(HOST, 0, 0, { retry_after_ms: 2000, is_explicit: true });
  hosts.slow(HOST, 0, 0, { retry_after_ms: 3000, is_explicit: true });
  hosts.slow(HOST, 0, 0, { retry_after_ms: 1000, is_explicit: true });
  t.is(hosts.limitOf(HOST), 0);
  t.is(heldFor(hosts, 0), 3000);
});

test('the wait for Retry-After has a cap', (t) => {
  const hosts = open({ random: () => 0 });
  hosts.slow(HOST, 0, 0, { retry_after_ms: 86_400_000, is_explicit: true });
  t.is(heldFor(hosts, 0), RETRY_AFTER_CAP_MS);
});

test('the first refusal begins a gap between requests, which doubles with each round up to ten seconds', (t) => {
  const hosts = open();
  const gaps = [];
  for (let now = 0; now < 90_000; now += 10_000) {
    hosts.slow(HOST, now, now, NOT_NOW);
    heldFor(hosts, now);
    t.true(hosts.started(HOST, now));
    gaps.push(heldFor(hosts, now));
  }
  t.deepEqual(gaps, [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
});

test('503s without Retry-After, which may concern single pages, make a gap of at most a second', (t) => {
  const hosts = open();
  for (let now = 0; now < 90_000; now += 10_000) hosts.slow(HOST, now, now, BARE_503);
  heldFor(hosts, 90_000);
  hosts.started(HOST, 100_000);
  t.is(heldFor(hosts, 100_000), 1000);
});

test('gaps vary at random by half of their length', (t) => {
  const gapAt = (random: number): number => {
    const hosts = open({ random: () => random });
    for (const now of [0, 1000]) hosts.slow(HOST, now, now, NOT_NOW);
    heldFor(hosts, 1000);
    hosts.started(HOST, 5000);
    return heldFor(hosts, 5000);
  };
  t.deepEqual([gapAt(0), gapAt(0.5), gapAt(0.999)], [150, 200, 250]);
});

test('answers restore the concurrency one by one, and then the host has no state', (t) => {
  const hosts = open();
  for (const now of [0, 1000, 2000]) hosts.slow(HOST, now, now, NOT_NOW);
  let now = 2000 + heldFor(hosts, 2000);
  const limits = [hosts.limitOf(HOST)];
  let answers = 0;
  for (; hosts.size > 0; answers++) {
    if (hosts.started(HOST, ++now)) now += heldFor(hosts, now);
    hosts.answered(HOST, now);
    const limit = hosts.limitOf(HOST);
    if (limit !== limits.at(-1)) limits.push(limit);
  }
  t.deepEqual(limits, [1, 2, 3, 4, 5, 6, 7, 8]);
  t.true(answers > 100 && answers < 200, `${answers} answers`);
});

test('answers to requests from before the slow-down restore nothing', (t) => {
  const hosts = open({ per_host: 2 });
  hosts.slow(HOST, 5, 10, NOT_NOW);
  for (let i = 0; i < 20; i++) t.false(hosts.answered(HOST, 9));
  t.true(hosts.answered(HOST, 11));
});

test('the configured gap applies without trouble, and leaves no state', (t) => {
  const hosts = open({ gap_ms: 250 });
  t.true(hosts.started(HOST, 0));
  t.is(heldFor(hosts, 0), 250);
  t.is(hosts.size, 0);
});

test('a host that was given up begins with one request', (t) => {
  const hosts = open();
  hosts.restart(HOST, 100);
  t.is(hosts.limitOf(HOST), 1);
  t.false(hosts.answered(HOST, 99), 'by an answer from before');
  t.true(hosts.answered(HOST, 101));
  t.is(hosts.limitOf(HOST), 2);
});

test("a host that is another checker's gets one request at a time", (t) => {
  const hosts = open();
  hosts.owns = (host) => host !== HOST;
  t.is(hosts.limitOf(HOST), 1);
  t.true(hosts.limitOf('own.example') > 1);
  hosts.owns = null;
  t.true(hosts.limitOf(HOST) > 1);
});

// The tests below use the whole engine: its sweeps run by themselves, and its clock moves only with the test.

const SETTINGS: EngineSettings = {
  concurrency: 16,
  per_host: 4,
  // The tests move the clock while answers are on their way, however late a busy machine brings them.
  timeout_ms: 3_600_000,
  retries: 2,
  allow_addresses: ['127.0.0.0/8'],
  user_agent: 'test',
};
const fine: Behaviour = (_request, socket) => reply(socket, 200, { 'Content-Type': 'text/plain' }, Buffer.from('fine'));

/**
 * A clock, and a resolver that knows every name. `looked` resolves when the engine has read the clock twice more;
 * `passUntil` moves the clock by so much after each such look, until `done` settles.
 */
function clocked() {
  let ms = 0;
  let calls = 0;
  const parts: EngineParts = {
    now: () => {
      calls++;
      return ms;
    },
    random: () => 0.5,
    lookup: (_name, done) => done({ addresses: ['127.0.0.1'], ttl_s: 300 }),
  };
  const looked = (or: () => boolean = () => false) => {
    const before = calls;
    return until(() => or() || calls > before + 4);
  };
  const pass = (by_ms: number) => (ms += by_ms);
  async function passUntil<Result>(done: Promise<Result>, by_ms: number): Promise<Result> {
    let is_done = false;
    void done.then(() => (is_done = true));
    while (!is_done) {
      await looked(() => is_done);
      pass(by_ms);
    }
    return done;
  }
  return { parts, looked, pass, passUntil, now: () => ms };
}

test('a Retry-After for one URL delays all URLs of its host, and no other host', async (t) => {
  let limited = true;
  const site = await startTestSite({
    behaviours: {
      '/limited/*': (request, socket) =>
        limited ? reply(socket, 429, { 'Retry-After': '30' }) : fine(request, socket),
      '/fine/*': fine,
    },
  });
  const { parts, looked, pass, passUntil } = clocked();
  const engine = createEngine(SETTINGS, parts);
  t.teardown(() => site.close());
  const asked = () => site.requests.filter((path) => path.startsWith('/limited')).length;
  const checks = Array.from({ length: 9 }, (_, i) => engine.check(`http://limited.example:${site.port}/limited/${i}`));
  await until(() => asked() === 4);
  await Promise.all(Array.from({ length: 40 }, (_, i) => engine.check(`http://fine.example:${site.port}/fine/${i}`)));
  await until(() => engine.free === 16); // it has read the four refusals
  limited = false;
  pass(29_900);
  await looked();
  t.is(asked(), 4, 'while it lasts');
  t.is(engine.free, 16, 'and no slot is held');

  const outcomes = await passUntil(Promise.all(checks), 200);
  t.true(outcomes.every(({ verdict }) => verdict === 'ok'));
  t.deepEqual(outcomes.map(({ attempts }) => attempts).toSorted(), [1, 1, 1, 1, 1, 2, 2, 2, 2]);
  await engine.close();
});

test('the configured gap lies between any two requests to a host, redirects included', async (t) => {
  const asked_at: number[] = [];
  const { parts, passUntil, now } = clocked();
  const site = await startTestSite({
    behaviours: {
      '/p/*': (request, socket) => {
        asked_at.push(now());
        if (request.path.startsWith('/p/to-')) reply(socket, 302, { Location: '/p/3' });
        else fine(request, socket);
      },
    },
  });
  const engine = createEngine({ ...SETTINGS, host_gap_ms: 1000 }, parts);
  t.teardown(() => site.close());
  const checks = Promise.all(['1', '2', 'to-3'].map((name) => engine.check(`${site.origin}/p/${name}`)));
  t.deepEqual(
    (await passUntil(checks, 250)).map(({ verdict }) => verdict),
    ['ok', 'ok', 'redirected'],
  );
  t.is(asked_at.length, 4);
  for (const [i, at] of asked_at.entries()) t.true(at >= i * 1000, `${asked_at}`);
  await engine.close();
});

test('a checker that the others may take for dead starts no request', async (t) => {
  const site = await startTestSite({ behaviours: { '/p/*': fine } });
  const { parts, looked } = clocked();
  const engine = createEngine(SETTINGS, parts);
  t.teardown(() => site.close());
  let may_ask = false;
  engine.share({ owns: () => true, mayAsk: () => may_ask });
  const check = engine.check(`${site.origin}/p/1`);
  await looked();
  t.is(site.requests.length, 0);
  may_ask = true;
  t.is((await check).verdict, 'ok');
  await engine.close();
});

test('checks of a host that has moved end at once, and those with a request in flight when their time is up', async (t) => {
  const answers: (() => void)[] = [];
  const slow: Behaviour = (request, socket) => void answers.push(() => fine(request, socket));
  const site = await startTestSite({ behaviours: { '/moved/*': slow, '/own/*': slow } });
  const { parts } = clocked();
  const engine = createEngine(SETTINGS, parts);
  t.teardown(() => site.close());
  const isMoved = (host: string) => host === 'moved.example';
  const moved = Array.from({ length: 6 }, (_, n) =>
    engine.check(`http://moved.example:${site.port}/moved/${n}`).then(
      ({ verdict }) => verdict,
      ({ code }) => code,
    ),
  );
  const own = engine.check(`http://own.example:${site.port}/own/1`);
  await until(() => answers.length === 5);
  t.is(engine.release(isMoved, false), 4);
  t.deepEqual(await Promise.all(moved.slice(4)), ['released', 'released']);
  answers.shift()!();
  t.is(await moved[0], 'ok');
  t.is(engine.release(isMoved, true), 0);
  t.deepEqual(await Promise.all(moved.slice(1, 4)), ['released', 'released', 'released']);
  for (const answer of answers) answer();
  t.is((await own).verdict, 'ok');
  await engine.close();
});

test('a busy thread uses the open connections of a quick host, and opens more to a slow one', async (t) => {
  let slow: Socket[] | null = null;
  const answer = (socket: Socket) => reply(socket, 200, { 'Content-Type': 'text/plain' }, Buffer.from('fine'));
  const server = await startRawServer((socket) => {
    socket.on('data', () => (slow === null ? answer(socket) : slow.push(socket)));
  });
  t.teardown(() => server.close());
  let looks = 0;
  const engine = createEngine({ ...SETTINGS, timeout_ms: 60_000 }, { ...clocked().parts, busy: () => ++looks > 0 });
  t.teardown(() => engine.close());
  const checkAll = (host: string) =>
    Promise.all(Array.from({ length: 9 }, (_, i) => engine.check(`http://${host}:${server.port}/${i}`)));

  await engine.check(`http://first.example:${server.port}/`);
  await until(() => looks > 0);
  await checkAll('quick.example');
  t.is(server.accepted, 2);
  slow = [];
  const checks = checkAll('slow.example');
  await until(() => slow!.length === SETTINGS.per_host);
  t.is(server.accepted, 2 + SETTINGS.per_host);
  for (const socket of slow.splice(0)) answer(socket);
  slow = null;
  t.true((await checks).every(({ verdict }) => verdict === 'ok'));
});
