// The circuits: an absent origin costs few requests for any number of URLs, and a recovered one loses no URL.
import net from 'node:net';
import test from 'ava';
import { Circuits, failureOf, OPENS_AFTER, type OriginFailure, TRIALS } from '../../../checkers/engine/circuits.ts';
import { createEngine, type EngineParts, type EngineSettings } from '../../../checkers/engine/engine.ts';
import { until } from '../../support/behind.ts';
import { reset } from '../../support/reset.ts';
import { type Behaviour, reply, startTestSite } from '../../support/test-site.ts';

const ORIGIN = 'https://a.example';
const GONE: OriginFailure = { error_code: 'connect_timeout', status: null, protection: null };
const BASE_MS = 100;

/** Circuits after the first failures of so many URLs. */
function failedBy(urls: number, random = 0.5): Circuits {
  const circuits = new Circuits(BASE_MS, () => random);
  for (let i = 0; i < urls; i++) circuits.failed(ORIGIN, GONE, 0, false);
  return circuits;
}

/** The time at which the next trial may begin. */
function nextTrial(circuits: Circuits, from: number): number {
  let now = from;
  while (circuits.admit(ORIGIN, now) !== 'try') now++;
  return now;
}

test('a circuit stays closed after a few failed URLs', (t) => {
  t.is(failedBy(OPENS_AFTER - 1).admit(ORIGIN, 0), 'go');
});

test('a circuit opens after ten failures in a row, for its own origin only', (t) => {
  const circuits = failedBy(OPENS_AFTER);
  t.is(circuits.admit(ORIGIN, 0), 'wait');
  t.is(circuits.admit('http://a.example', 0), 'go');
});

test('an answer resets the count of failures', (t) => {
  const circuits = failedBy(OPENS_AFTER - 1);
  t.false(circuits.answered(ORIGIN));
  t.is(circuits.size, 0);
  circuits.failed(ORIGIN, GONE, 0, false);
  t.is(circuits.admit(ORIGIN, 0), 'go');
});

test('a half-open circuit lets one request through as a trial, and the others wait for it', (t) => {
  const circuits = failedBy(OPENS_AFTER);
  t.is(nextTrial(circuits, 0), 150);
  t.is(circuits.admit(ORIGIN, 1e6), 'wait');
});

test('a trial that gets an answer closes the circuit', (t) => {
  const circuits = failedBy(OPENS_AFTER);
  nextTrial(circuits, 0);
  t.true(circuits.answered(ORIGIN));
  t.is(circuits.admit(ORIGIN, 200), 'go');
});

test('the wait doubles after a failed trial, with a random part, and the last trial comes later', (t) => {
  for (const [random, waits] of [
    [0, [100, 200, 3000]],
    [0.5, [150, 300, 4500]],
  ] as const) {
    const circuits = failedBy(OPENS_AFTER, random);
    let now = 0;
    for (const wait of waits) {
      const at = nextTrial(circuits, now);
      t.is(at - now, wait);
      now = at;
      circuits.failed(ORIGIN, GONE, now, true);
    }
  }
});

/** Circuits of an origin whose trials all failed, the last one differently. */
function givenUp(): { circuits: Circuits; now: number } {
  const circuits = failedBy(OPENS_AFTER);
  let now = 0;
  for (let i = 0; i < TRIALS; i++) {
    now = nextTrial(circuits, now);
    circuits.failed(ORIGIN, { ...GONE, error_code: i === TRIALS - 1 ? 'dns_failed' : 'connection_refused' }, now, true);
  }
  return { circuits, now };
}

test('after the last trial its failure is the outcome of URLs that failed by themselves, and others wait for a further one', (t) => {
  const { circuits, now } = givenUp();
  t.deepEqual(circuits.admit(ORIGIN, now, { has_failed: true }), { ...GONE, error_code: 'dns_failed' });
  t.is(circuits.admit(ORIGIN, now), 'wait');
});

test('a given-up origin gets single trials, whose failure is the outcome of all that wait', (t) => {
  const { circuits, now } = givenUp();
  const first = nextTrial(circuits, now);
  t.is(first - now, 60 * BASE_MS * 0.75);
  t.is(circuits.admit(ORIGIN, first), 'wait');
  t.true(circuits.failed(ORIGIN, GONE, first, true));
  t.is(nextTrial(circuits, first) - first, 60 * BASE_MS * 0.75);
});

test('at the end of the list the last trial comes thirty base times after the circuit opened, and further ones soon', (t) => {
  const circuits = failedBy(OPENS_AFTER);
  for (let i = 1; i < TRIALS; i++) t.false(circuits.failed(ORIGIN, GONE, nextTrial(circuits, 0), true));
  t.is(circuits.admit(ORIGIN, 30 * BASE_MS - 1, { is_quiet: true }), 'wait');
  t.is(circuits.admit(ORIGIN, 30 * BASE_MS), 'wait', 'the list goes on');
  t.is(circuits.admit(ORIGIN, 30 * BASE_MS, { is_quiet: true }), 'try');
  t.true(circuits.failed(ORIGIN, GONE, 30 * BASE_MS, true));
  t.is(circuits.admit(ORIGIN, 34 * BASE_MS - 1, { is_quiet: true }), 'wait');
  t.is(circuits.admit(ORIGIN, 34 * BASE_MS, { is_quiet: true }), 'try');
});

test('a trial that was silent for as long as that is followed by the last one', (t) => {
  const circuits = failedBy(OPENS_AFTER);
  nextTrial(circuits, 0);
  t.false(circuits.failed(ORIGIN, GONE, 31 * BASE_MS, true));
  t.is(circuits.admit(ORIGIN, 31 * BASE_MS), 'wait');
  t.is(circuits.admit(ORIGIN, 31 * BASE_MS, { is_quiet: true }), 'try');
  t.true(circuits.failed(ORIGIN, GONE, 46 * BASE_MS, true));
});

test('a trial without a result makes room for another one', (t) => {
  const circuits = failedBy(OPENS_AFTER);
  const now = nextTrial(circuits, 0);
  circuits.dropped(ORIGIN);
  t.is(circuits.admit(ORIGIN, now), 'try');
});

test('failures of requests that were in flight when the circuit opened change nothing', (t) => {
  const circuits = failedBy(OPENS_AFTER + 100);
  t.is(nextTrial(circuits, 0), 150);
});

test('the circuit forgets old failures', (t) => {
  const { circuits, now } = givenUp();
  t.is(circuits.admit(ORIGIN, now + 16 * 60_000), 'go');
  t.is(circuits.size, 0);
});

test('the circuit counts failures of the origin, and no answers', (t) => {
  const at = (failure: Parameters<typeof failureOf>[0]['failure'], status = 0, is_explicit = false) =>
    failureOf({ failure, status }, is_explicit, null);
  for (const error_code of [
    'dns_failed',
    'connection_refused',
    'connect_timeout',
    'connection_reset',
    'response_timeout',
  ] as const) {
    t.deepEqual(at(error_code), { error_code, status: null, protection: null });
  }
  for (const code of ['dns_not_found', 'tls_expired', 'malformed_response', 'blocked_address'] as const) {
    t.is(at(code), null);
  }
  t.is(at(null, 404), null);
  t.is(at(null, 503), null);
  t.deepEqual(at(null, 429, true), { error_code: null, status: 429, protection: null });
});

// The tests below use the whole engine.

const SETTINGS: EngineSettings = {
  concurrency: 32,
  per_host: 8,
  timeout_ms: 15_000,
  retries: 2,
  allow_addresses: ['127.0.0.0/8'],
  user_agent: 'test',
};
const lookup: EngineParts['lookup'] = (_name, done) => done({ addresses: ['127.0.0.1'], ttl_s: 300 });
const fine: Behaviour = (_request, socket) => reply(socket, 200, { 'Content-Type': 'text/plain' }, Buffer.from('fine'));
const range = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));

test('a dead host with ten thousand URLs costs dozens of connections, and delays no other host', async (t) => {
  const dead = await startTestSite({ behaviours: { '/*': (_request, socket) => reset(socket) } });
  const alive = await startTestSite({ behaviours: { '/*': fine } });
  let now = 0;
  const engine = createEngine({ ...SETTINGS, timeout_ms: 400 }, { lookup, now: () => now });
  t.teardown(() => Promise.all([dead.close(), alive.close()]));
  const checks = Promise.all(range(10_000, (i) => engine.check(`http://dead.example:${dead.port}/p/${i}`)));
  await until(() => dead.accepted >= OPENS_AFTER);
  await until(() => engine.free === 32);
  await Promise.all(range(500, (i) => engine.check(`http://alive.example:${alive.port}/p/${i}`)));
  t.is(engine.backlog, 10_000, 'they wait for the trials, without slots');

  for (const outcome of await passing(checks, () => (now += 50))) {
    t.like(outcome, { verdict: 'unreachable', error_code: 'connection_reset', status_code: null, is_broken: true });
    t.true(outcome.attempts <= 3);
    if (outcome.attempts === 0) t.true(outcome.by_circuit, 'no request was made for it, and it says so');
  }
  t.true(dead.accepted < 60, `${dead.accepted} connections`);
  t.is(engine.free, 32);
  await engine.close();
});

test('a host whose name cannot be looked up costs one lookup, and all its URLs say so', async (t) => {
  let ms = 0;
  let asked = 0;
  const lookup: EngineParts['lookup'] = (_name, done) => {
    asked++;
    setImmediate(() => done({ code: 'dns_failed' }));
  };
  const parts: EngineParts = { now: () => ms, lookup };
  const engine = createEngine({ ...SETTINGS, retries: 0, timeout_ms: 400 }, { ...parts, random: () => 0.5 });
  const checks = Promise.all(range(5000, (i) => engine.check(`http://dead.example/${i}`)));
  const outcomes = await passing(checks, () => (ms += 100));
  t.true(outcomes.every(({ error_code, attempts }) => error_code === 'dns_failed' && attempts === 1));
  t.is(asked, 1);
  await engine.close();
});

test('a host that recovers gets a request for every URL that was not aborted meanwhile', async (t) => {
  let is_down = true;
  let at_once = 0;
  const seen_at_once: number[] = [];
  const site = await startTestSite({
    behaviours: {
      '/*': (request, socket) => {
        if (is_down) return reset(socket);
        seen_at_once.push(++at_once);
        let turns = 20;
        const turn = (): void => {
          if (--turns > 0) return void setImmediate(turn);
          at_once--;
          fine(request, socket);
        };
        turn();
      },
    },
  });
  let now = 0;
  const engine = createEngine({ ...SETTINGS, timeout_ms: 400 }, { now: () => now });
  t.teardown(() => site.close());
  const controller = new AbortController();
  const checks = range(300, (i) => engine.check(`${site.origin}/p/${i}`));
  const aborted = Promise.allSettled(
    range(50, (i) => engine.check(`${site.origin}/aborted/${i}`, { signal: controller.signal })),
  );
  await until(() => site.accepted > OPENS_AFTER && engine.free === 32);
  controller.abort();
  for (const { status } of await aborted) t.is(status, 'rejected');
  t.is(engine.backlog, 300);
  is_down = false;
  const outcomes = await passing(Promise.all(checks), () => (now += 50));
  t.false(site.requests.some((path) => path.startsWith('/aborted')));
  t.deepEqual(seen_at_once.slice(0, 3), [1, 1, 1], 'it begins with one at a time');
  t.true(outcomes.every(({ verdict }) => verdict === 'ok'));
  t.true(outcomes.filter(({ attempts }) => attempts === 1).length > 250, 'and most had their first attempt then');
  await engine.close();
});

test('a host that recovers after its trials gets its URLs at the end of the list', async (t) => {
  let now = 0;
  const site = await startTestSite({
    behaviours: { '/*': (request, socket) => (now < 15_000 ? reset(socket) : fine(request, socket)) },
  });
  const engine = createEngine({ ...SETTINGS, retries: 0 }, { now: () => now });
  t.teardown(() => site.close());
  const checks = Promise.all(range(200, (i) => engine.check(`${site.origin}/p/${i}`)));
  const outcomes = await passing(checks, () => (now += 50));
  const failed = outcomes.filter(({ verdict }) => verdict !== 'ok');
  t.true(
    failed.length <= OPENS_AFTER + SETTINGS.per_host + TRIALS,
    `${failed.length} had a request of their own that failed`,
  );
  t.true(failed.every(({ attempts, by_circuit }) => attempts === 1 && by_circuit === undefined));
  await engine.close();
});

test('a silent host delays the end of a short list by no more than four time limits', async (t) => {
  const site = await startTestSite({ behaviours: { '/silent/*': () => undefined, '/p/*': fine } });
  let now = 0;
  const engine = createEngine(
    { ...SETTINGS, per_host: 10, timeout_ms: 3000 },
    { lookup, now: () => now, retry_base_ms: 100 },
  );
  t.teardown(() => site.close());
  const silent = range(30, (i) => engine.check(`http://silent.example:${site.port}/silent/${i}`));
  const few = range(3, (i) => engine.check(`http://few.example:${site.port}/silent/${i}`));
  const alive = range(30, (i) => engine.check(`${site.origin}/p/${i}`));
  const outcomes = await passing(Promise.all([...silent, ...few, ...alive]), () => (now += 50));
  t.true(now < 4 * 3000, `${now} ms of the engine's clock`);
  for (const outcome of outcomes.slice(0, 33))
    t.like(outcome, { verdict: 'unreachable', error_code: 'response_timeout', status_code: null });
  t.true(outcomes.slice(33).every(({ verdict }) => verdict === 'ok'));
  t.true(outcomes.slice(30, 33).every(({ attempts }) => attempts === 3));
  await engine.close();
});

test('many attempts at a few URLs do not open the circuit', async (t) => {
  const site = await startTestSite();
  const engine = createEngine({ ...SETTINGS, retries: 5 }, { retry_base_ms: 1 });
  t.teardown(() => site.close());
  const outcomes = await Promise.all(range(3, (i) => engine.check(`${site.origin}/reset?${i}`)));
  t.deepEqual(
    outcomes.map(({ attempts }) => attempts),
    [6, 6, 6],
  );
  await engine.close();
});

test('URLs on a closed port do not stop those on an open port of the host', async (t) => {
  const site = await startTestSite({ behaviours: { '/*': fine } });
  const closed = await closedPort();
  const engine = createEngine(SETTINGS, { retry_base_ms: 1 });
  t.teardown(() => site.close());
  const dead = range(100, (i) => engine.check(`http://127.0.0.1:${closed}/${i}`));
  const alive = await Promise.all(range(100, (i) => engine.check(`${site.origin}/p/${i}`)));
  t.true(alive.every(({ verdict }) => verdict === 'ok'));
  for (const outcome of await Promise.all(dead)) {
    t.like(outcome, { verdict: 'unreachable', error_code: 'connection_refused' });
    t.is(outcome.attempts, outcome.by_circuit ? 0 : 1);
  }
  await engine.close();
});

test('consecutive bad URLs do not condemn the other URLs of their host', async (t) => {
  const site = await startTestSite({
    behaviours: { '/bad/*': (_request, socket) => reset(socket), '/p/*': fine },
  });
  const engine = createEngine({ ...SETTINGS, retries: 0 }, { retry_base_ms: 1, random: () => 0.9 });
  t.teardown(() => site.close());
  const checks = range(300, (i) => engine.check(`${site.origin}/${i < 100 ? 'bad' : 'p'}/${i}`));
  const outcomes = await Promise.all(checks);
  t.is(outcomes.filter(({ verdict }) => verdict === 'ok').length, 200);
  t.is(new Set(site.requests).size, 300, 'each was asked for');
  await engine.close();
});

test('another request becomes the trial when the trial is aborted', async (t) => {
  let hangs = false;
  const site = await startTestSite({
    behaviours: { '/*': (_request, socket) => (hangs ? undefined : reset(socket)) },
  });
  let now = 0;
  const engine = createEngine({ ...SETTINGS, timeout_ms: 300_000, retries: 0 }, { now: () => now });
  t.teardown(() => site.close());
  const controllers = range(60, () => new AbortController());
  const checks = controllers.map(({ signal }, i) => engine.check(`${site.origin}/p/${i}`, { signal }));
  const ends = Promise.allSettled(checks);
  await until(() => site.accepted >= OPENS_AFTER && engine.free === 32);
  hangs = true;
  const before = site.requests.length;
  now += 1000;
  await until(() => site.requests.length > before);
  const trial = Number(site.requests.at(-1)!.split('/').at(-1));
  hangs = false;
  controllers[trial]!.abort();
  const outcomes = await passing(ends, () => (now += 300));
  t.is(outcomes.filter(({ status }) => status === 'rejected').length, 1);
  t.is(engine.free, 32);
  await engine.close();
});

test('the engine gives up a host that answers every request with 429, and its URLs say so', async (t) => {
  const site = await startTestSite({
    behaviours: { '/*': (_request, socket) => reply(socket, 429, { 'Retry-After': '5' }) },
  });
  let now = 0;
  const engine = createEngine({ ...SETTINGS, timeout_ms: 300_000 }, { now: () => now });
  t.teardown(() => site.close());
  const checks = Promise.all(range(1000, (i) => engine.check(`${site.origin}/p/${i}`)));
  const outcomes = await passing(checks, () => (now += 300));
  for (const [i, outcome] of outcomes.entries()) {
    t.like(outcome, { status_code: 429, verdict: 'broken', error_code: null });
    t.is(outcome.final_url, `${site.origin}/p/${i}`);
  }
  t.true(site.requests.length < 60, `${site.requests.length} requests`);
  await engine.close();
});

test('the engine requests every URL of a host that answers each with 503', async (t) => {
  const site = await startTestSite({ behaviours: { '/*': (_request, socket) => reply(socket, 503, {}) } });
  let now = 0;
  const engine = createEngine({ ...SETTINGS, timeout_ms: 300_000, retries: 0 }, { now: () => now });
  t.teardown(() => site.close());
  const checks = Promise.all(range(20, (i) => engine.check(`${site.origin}/p/${i}`)));
  const outcomes = await passing(checks, () => (now += 300));
  t.true(outcomes.every(({ status_code }) => status_code === 503));
  t.is(site.requests.length, 20);
  await engine.close();
});

/** Lets time pass, a little between two looks of the engine, until all have ended. */
async function passing<T>(ends: Promise<T>, pass: () => void): Promise<T> {
  const timer = setInterval(pass, 15);
  try {
    return await ends;
  } finally {
    clearInterval(timer);
  }
}

async function closedPort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await new Promise((listening) => server.once('listening', listening));
  const { port } = server.address() as net.AddressInfo;
  await new Promise((closed) => server.close(closed));
  return port;
}
