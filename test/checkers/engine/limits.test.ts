// The limits of slots, hosts, groups and sockets hold for any number of checks, and every check ends.
import test from 'ava';
import { createEngine, type EngineParts } from '../../../checkers/engine/engine.ts';
import { Sweeps } from '../../../checkers/engine/sweeps.ts';
import { SETTINGS } from '../../support/engine-settings.ts';
import { CHUNK_EXTENSION, flood, SPACES } from '../../support/floods.ts';
import { patientClock } from '../../support/patient-clock.ts';
import { reset } from '../../support/reset.ts';
import { type Behaviour, html, page, reply, startTestSite } from '../../support/test-site.ts';

/** Resolves every name to the test site. */
const ONE_SERVER: EngineParts = { lookup: (_name, done) => done({ addresses: ['127.0.0.1'], ttl_s: 60 }) };

function range<T>(count: number, make: (i: number) => T): T[] {
  return Array.from({ length: count }, (_, i) => make(i));
}

const answers: Behaviour = (_request, socket) => page(socket, html('Things', 'Things'));
/** Answers in a later turn of the event loop, so that other requests arrive meanwhile. */
const later: Behaviour = (request, socket) => setImmediate(() => answers(request, socket));

/** A behaviour that keeps requests waiting until `open` is called. */
function gate(): { behaviour: Behaviour; open: () => void; arrived: (count: number) => Promise<void> } {
  const waiting: (() => void)[] = [];
  let opened = false;
  let reached: () => void = () => {};
  let wanted = Number.POSITIVE_INFINITY;
  return {
    behaviour(request, socket) {
      if (opened) return answers(request, socket);
      waiting.push(() => answers(request, socket));
      if (waiting.length >= wanted) reached();
    },
    open() {
      opened = true;
      for (const answer of waiting) answer();
    },
    arrived(count) {
      wanted = count;
      return waiting.length >= count ? Promise.resolve() : new Promise((resolve) => (reached = resolve));
    },
  };
}

test('a host gets at most per_host requests and connections at a time', async (t) => {
  const { behaviour, open, arrived } = gate();
  const site = await startTestSite({ behaviours: { '/p/*': behaviour } });
  const engine = createEngine(SETTINGS);
  t.teardown(() => site.close());

  const checks = range(200, (i) => engine.check(`${site.origin}/p/${i}`));
  await arrived(4);
  open();
  const outcomes = await Promise.all(checks);

  t.true(outcomes.every(({ verdict }) => verdict === 'ok'));
  t.is(site.most_at_once, 4);
  t.is(site.accepted, 4);
  await engine.close();
  await site.drained();
});

test('all hosts together get at most as many requests as there are slots', async (t) => {
  const { behaviour, open, arrived } = gate();
  const site = await startTestSite({ behaviours: { '/p/*': behaviour } });
  const engine = createEngine({ ...SETTINGS, concurrency: 5 }, ONE_SERVER);
  t.teardown(() => site.close());
  const checks = range(100, (i) => engine.check(`http://h${i % 20}.example:${site.port}/p/${i}`));
  await arrived(5);
  open();
  await Promise.all(checks);
  t.is(site.most_at_once, 5);
  await engine.close();
});

test('close ends every socket and every check', async (t) => {
  const site = await startTestSite();
  const engine = createEngine(SETTINGS);
  t.teardown(() => site.close());
  const checks = range(20, (i) => engine.check(`${site.origin}/${i % 2 === 0 ? 'silent' : 'endless'}?${i}`));
  const ends = Promise.allSettled(checks);
  await engine.check(`http://127.0.0.2:1/`);

  await engine.close();

  for (const end of await ends) t.is(end.status === 'rejected' ? end.reason.name : end.status, 'AbortError');
  await site.drained();
  t.is(site.open, 0);
  t.is(engine.free, 0);
  await t.throwsAsync(engine.check(`${site.origin}/fine`), { name: 'AbortError' });
});

test('the engine closes idle connections soon after the last URL of their host', async (t) => {
  const site = await startTestSite();
  const engine = createEngine(SETTINGS, { now: () => performance.now() * 50 });
  t.teardown(() => site.close());
  await Promise.all(range(10, () => engine.check(`${site.origin}/fine`)));
  t.true(site.open > 0);
  await site.drained();
  t.is(site.open, 0);
  await engine.close();
});

test('a hundred checks of a hung server end within their time limits', async (t) => {
  const site = await startTestSite();
  const engine = createEngine(
    { ...SETTINGS, timeout_ms: 100, per_host: 16, retries: 1 },
    { retry_base_ms: 1, now: patientClock(t) },
  );
  t.teardown(() => site.close());
  const outcomes = await Promise.all(range(100, (i) => engine.check(`${site.origin}/silent?${i}`)));
  for (const outcome of outcomes) t.like(outcome, { verdict: 'unreachable', error_code: 'response_timeout' });
  t.true(site.requests.length < 100, 'most are not even asked for');
  await engine.close();
});

test('a waiting retry holds no slot', async (t) => {
  const site = await startTestSite();
  let now = 0;
  const engine = createEngine({ ...SETTINGS, concurrency: 1, retries: 1 }, { now: () => now });
  t.teardown(() => site.close());
  const waiting = engine.check(`${site.origin}/reset-once`);
  t.like(await engine.check(`${site.origin}/fine`), { verdict: 'ok' });
  t.is(engine.free, 1);
  t.like(await engine.check(`${site.origin}/fine`), { verdict: 'ok' });
  t.deepEqual(site.requests, ['/reset-once', '/fine', '/fine'], 'while the clock stands still it is not due');
  now = 10_000;
  t.like(await waiting, { verdict: 'ok', attempts: 2 });
  await engine.close();
});

test('a group of ten does not wait for a group of thousands', async (t) => {
  const site = await startTestSite({ behaviours: { '/p/*': later } });
  const engine = createEngine({ ...SETTINGS, per_host: 16 });
  t.teardown(() => site.close());
  let finished = 0;
  const many = range(2000, (i) => engine.check(`${site.origin}/p/many-${i}`, { group: 'many' }).then(() => finished++));
  await Promise.all(range(10, (i) => engine.check(`${site.origin}/p/few-${i}`, { group: 'few' })));
  t.true(finished <= 200, `${finished} of the others went first`);
  await Promise.all(many);
  await engine.close();
});

test('a hung host takes only its own slots', async (t) => {
  const { behaviour, open, arrived } = gate();
  const site = await startTestSite({ behaviours: { '/hangs/*': behaviour, '/p/*': later } });
  const engine = createEngine(SETTINGS, ONE_SERVER);
  t.teardown(() => site.close());
  const hung = range(100, (i) => engine.check(`http://hangs.example:${site.port}/hangs/${i}`));
  await arrived(4);
  t.is(engine.free, 12);
  await Promise.all(range(50, (i) => engine.check(`http://fine.example:${site.port}/p/${i}`)));
  open();
  await Promise.all(hung);
  await engine.close();
});

test('free counts the slots that no startable check wants', async (t) => {
  const { behaviour, open, arrived } = gate();
  const site = await startTestSite({ behaviours: { '/p/*': behaviour } });
  const engine = createEngine({ ...SETTINGS, concurrency: 8, per_host: 2 });
  t.teardown(() => site.close());
  t.is(engine.free, 8);
  const checks = [engine.check(`${site.origin}/p/1`)];
  t.is(engine.free, 7);
  checks.push(...range(9, (i) => engine.check(`${site.origin}/p/${i}`)));
  t.is(engine.free, 6);
  await arrived(2);
  t.is(engine.free, 6);
  open();
  await Promise.all(checks);
  t.is(engine.free, 8);
  await engine.close();
});

test('a slow host with tens of thousands of URLs does not block other hosts', async (t) => {
  const { behaviour, open, arrived } = gate();
  const site = await startTestSite({ behaviours: { '/slow/*': behaviour, '/p/*': answers } });
  const engine = createEngine(SETTINGS, ONE_SERVER);
  t.teardown(() => site.close());
  const controller = new AbortController();
  const { signal } = controller;
  const slow = range(30_000, (i) => engine.check(`http://slow.example:${site.port}/slow/${i}`, { group: 'a', signal }));
  const ends = Promise.allSettled(slow);
  await arrived(4);
  for (const group of ['a', 'b']) {
    t.is(engine.free, 12);
    await Promise.all(range(200, (i) => engine.check(`http://h${i % 50}.example:${site.port}/p/${i}`, { group })));
  }
  controller.abort();
  open();
  await ends;
  t.is(engine.free, 16);
  await engine.close();
});

test('the backlog has a limit', async (t) => {
  const site = await startTestSite({ behaviours: { '/p/*': () => {} } });
  const engine = createEngine(SETTINGS);
  t.teardown(() => site.close());
  const controller = new AbortController();
  const { signal } = controller;
  const ends = Promise.allSettled(range(65_536, (i) => engine.check(`${site.origin}/p/${i}`, { signal })));
  t.is(engine.free, 0);
  controller.abort();
  await ends;
  t.is(engine.free, 16);
  await engine.close();
});

test('an aborted signal rejects its own checks, queued and running, and frees their slots', async (t) => {
  const { behaviour, arrived } = gate();
  const site = await startTestSite({ behaviours: { '/p/*': behaviour } });
  const engine = createEngine(SETTINGS);
  t.teardown(() => site.close());
  const controller = new AbortController();
  const { signal } = controller;
  const doomed = Promise.allSettled(range(30, (i) => engine.check(`${site.origin}/p/${i}`, { signal })));
  await arrived(4);
  const other = engine.check(`${site.origin}/fine`);
  controller.abort();
  for (const end of await doomed) t.is(end.status === 'rejected' ? end.reason.name : end.status, 'AbortError');
  t.like(await other, { verdict: 'ok' });
  t.is(engine.free, 16);
  await t.throwsAsync(engine.check(`${site.origin}/fine`, { signal }), { name: 'AbortError' });
  await engine.close();
});

test('a signal has one listener, which the engine removes with the last check', async (t) => {
  const site = await startTestSite();
  const engine = createEngine(SETTINGS);
  t.teardown(() => site.close());
  const { signal } = new AbortController();
  let added = 0;
  let removed = 0;
  const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    added++;
    add(...args);
  };
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    removed++;
    remove(...args);
  };
  await Promise.all(range(20, () => engine.check(`${site.origin}/fine`, { signal })));
  t.deepEqual([added, removed], [1, 1]);
  await engine.close();
});

test('a request on a connection that the server has closed is repeated within its attempt', async (t) => {
  const site = await startTestSite({
    behaviours: {
      '/p/*': (request, socket) => {
        // The server keeps the connection open, and breaks it when it is used again.
        answers(request, socket);
        socket.removeAllListeners('data');
        socket.once('data', () => reset(socket));
      },
    },
  });
  const engine = createEngine({ ...SETTINGS, per_host: 1 });
  t.teardown(() => site.close());
  const outcomes = await Promise.all(range(5, (i) => engine.check(`${site.origin}/p/${i}`)));
  for (const outcome of outcomes) t.like(outcome, { verdict: 'ok', attempts: 1 });
  await engine.close();
});

test('a request that a used connection answers with 408 is repeated, and one on a new connection is not', async (t) => {
  const site = await startTestSite({
    behaviours: {
      '/p/*': (request, socket) => {
        answers(request, socket);
        socket.removeAllListeners('data');
        socket.on('data', () => reply(socket, 408, {}));
      },
      '/408': (_request, socket) => reply(socket, 408, {}),
    },
  });
  const engine = createEngine({ ...SETTINGS, per_host: 1 });
  t.teardown(() => site.close());
  const outcomes = await Promise.all(range(5, (i) => engine.check(`${site.origin}/p/${i}`)));
  for (const outcome of outcomes) t.like(outcome, { verdict: 'ok', attempts: 1 });
  for (let time = 0; time < 2; time++) {
    t.like(await engine.check(`${site.origin}/408`), { verdict: 'broken', status_code: 408, attempts: 1 });
  }
  await engine.close();
});

test('pages without suspicion cause no probe, and a folder of suspects causes one', async (t) => {
  const titled: Behaviour = (_request, socket) => page(socket, html('Page not found', 'Things'));
  const site = await startTestSite({ behaviours: { '/titled/*': titled } });
  const engine = createEngine(SETTINGS);
  t.teardown(() => site.close());
  await Promise.all(range(10, (i) => engine.check(`${site.origin}/fine?${i}`)));
  t.is(site.requests.length, 10);
  const outcomes = await Promise.all(range(10, (i) => engine.check(`${site.origin}/titled/${i}`)));
  t.true(outcomes.every(({ verdict }) => verdict === 'soft_404'));
  t.is(site.requests.length, 21);
  await engine.close();
});

test('requests have the user agent, and accept compressed pages', async (t) => {
  let seen: { readonly [name: string]: string } = {};
  const site = await startTestSite({
    behaviours: {
      '/who': (request, socket) => {
        seen = request.headers;
        answers(request, socket);
      },
    },
  });
  const engine = createEngine(SETTINGS);
  t.teardown(() => site.close());
  await engine.check(`${site.origin}/who`);
  t.like(seen, {
    'user-agent': 'test/1.0',
    host: `127.0.0.1:${site.port}`,
    'accept-encoding': 'gzip, deflate, br, zstd',
  });
  await engine.close();
});

test('the engine reads an answer that came while the process slept, before its time limit counts', async (t) => {
  let now = 0;
  const asked = Promise.withResolvers<void>();
  const sleeps: Behaviour = (request, socket) => {
    answers(request, socket);
    // Longer than the interval of sweeps, so that the next sweep comes before the answer is read.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
    now = 60_000;
  };
  const site = await startTestSite({ behaviours: { '/p/*': sleeps, '/silent': () => asked.resolve() } });
  const engine = createEngine(SETTINGS, { now: () => now });
  t.teardown(() => Promise.all([engine.close(), site.close()]));
  const silent = engine.check(`${site.origin}/silent`);
  await asked.promise;
  t.is((await engine.check(`${site.origin}/p/1`)).verdict, 'ok');
  t.is((await silent).error_code, 'response_timeout');
});

test('a process that sleeps repeatedly reads received answers before each sweep', async (t) => {
  const { port1: server, port2: client } = new MessageChannel();
  t.teardown(() => client.close());
  let [now, sent, read] = [0, 0, 0];
  client.addEventListener('message', () => read++);
  client.start();
  const answeredAsleep = () => {
    server.postMessage('answer');
    sent++;
    return (now += 60_000);
  };
  const unread: number[] = [];
  await new Promise<void>((resolve) => {
    const sweeps = new Sweeps(10, answeredAsleep, () => {
      unread.push(sent - read);
      if (unread.length < 3) return 'work';
      resolve();
      return 'nothing';
    });
    sweeps.start();
  });
  t.deepEqual(unread, [0, 0, 0]);
});

test('a check stops reading an answer without an end, also where its parser counts no byte', async (t) => {
  const site = await startTestSite({
    behaviours: {
      '/spaces': (_request, socket) => flood(socket, SPACES),
      '/extension': (_request, socket) => flood(socket, CHUNK_EXTENSION),
    },
  });
  // No limit of time ends these checks.
  const engine = createEngine(SETTINGS, { now: () => 0 });
  t.teardown(() => Promise.all([engine.close(), site.close()]));
  t.like(await engine.check(`${site.origin}/spaces`), { status_code: null, error_code: 'malformed_response' });
  t.like(await engine.check(`${site.origin}/extension`), { status_code: 200, error_code: null });
});
