// Everything at once: whatever servers send and whenever checks are aborted, every check ends and nothing is left.

import type { Socket } from 'node:net';
import test from 'ava';
import { createEngine, type EngineParts, type EngineSettings } from '../../../checkers/engine/engine.ts';
import { ODD_ANSWERS } from '../../support/odd-answers.ts';
import { patientClock } from '../../support/patient-clock.ts';
import { reset } from '../../support/reset.ts';
import { BEHAVIOURS, startTestSite } from '../../support/test-site.ts';

const SETTINGS: EngineSettings = {
  concurrency: 40,
  per_host: 8,
  timeout_ms: 250,
  retries: 1,
  allow_addresses: ['127.0.0.0/8'],
  user_agent: 'test',
};
const PARTS: EngineParts = {
  lookup: (_name, done) => setImmediate(() => done({ addresses: ['127.0.0.1'], ttl_s: 60 })),
  retry_base_ms: 1,
};

/** The same numbers in every run: https://en.wikipedia.org/wiki/Lehmer_random_number_generator */
function numbers(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

test('every check ends over many faulty hosts, while a third of the checks are aborted', async (t) => {
  const site = await startTestSite({ behaviours: ODD_ANSWERS });
  const engine = createEngine(SETTINGS, { ...PARTS, now: patientClock(t) });
  t.teardown(() => site.close());
  const random = numbers(1);
  const paths = Object.keys({ ...BEHAVIOURS, ...ODD_ANSWERS });
  const controllers = Array.from({ length: 10 }, () => new AbortController());

  const checks = Array.from({ length: 1000 }, (_, i) => {
    const path = paths[Math.floor(random() * paths.length)]!.replace('*', '7');
    const signal = controllers[i % 30]?.signal;
    const url = `http://h${Math.floor(random() * 15)}.example:${site.port}${path}`;
    return engine.check(url, { group: `g${i % 3}`, ...(signal === undefined ? {} : { signal }) });
  });
  const ends = Promise.allSettled(checks);
  for (const [i, controller] of controllers.entries()) {
    // No signal aborts these checks, which run one after another beside the others.
    await checks[20 + i];
    controller.abort();
  }

  for (const [i, end] of (await ends).entries()) {
    if (end.status === 'rejected') t.is(end.reason.name, 'AbortError', `check ${i}`);
    else t.true(end.value.attempts >= 1);
  }
  t.true((await ends).some(({ status }) => status === 'rejected'));
  t.is(engine.free, 40);
  await engine.close();
  await site.drained();
  t.is(site.open, 0);
});

const ANSWER = [
  'HTTP/1.1 200 OK\r\n',
  'Content-Type: text/html; charset=utf-8\r\n',
  'Content-Length: 64\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Content-Encoding: gzip\r\n',
  'Location: /next\r\n',
  'Set-Cookie: a=b; Path=/\r\n',
  'Connection: close\r\n',
  'Retry-After: 0\r\n',
  '\r\n',
  '10\r\n<title>Page not f\r\n0\r\n\r\n',
  'x'.repeat(64),
];

/** Pieces of an answer, some omitted, doubled, changed or cut; sometimes the connection ends after them. */
function bent(random: () => number, socket: Socket): void {
  let text = random() < 0.3 ? `HTTP/1.1 ${Math.floor(random() * 1000)} X\r\n` : '';
  for (const piece of ANSWER) {
    const dice = random();
    if (dice < 0.25) continue;
    text += dice > 0.9 ? piece + piece : piece;
  }
  const bytes = Buffer.from(text);
  for (let bends = Math.floor(random() * 4); bends > 0; bends--) {
    bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256);
  }
  socket.write(bytes.subarray(0, random() < 0.2 ? Math.floor(random() * bytes.length) : bytes.length));
  const end = random();
  if (end < 0.3) socket.end();
  else if (end < 0.4) reset(socket);
}

test('a thousand corrupted answers all get an outcome', async (t) => {
  const random = numbers(2);
  const site = await startTestSite({ behaviours: { '/*': (_request, socket) => bent(random, socket) } });
  const engine = createEngine({ ...SETTINGS, timeout_ms: 300 }, { ...PARTS, now: patientClock(t) });
  t.teardown(() => site.close());
  const outcomes = await Promise.all(
    Array.from({ length: 1000 }, (_, i) => engine.check(`http://h${i % 20}.example:${site.port}/x/${i}`)),
  );
  const verdicts = new Set(outcomes.map(({ verdict }) => verdict));
  for (const verdict of ['ok', 'unreachable', 'broken'] as const) t.true(verdicts.has(verdict), verdict);
  t.is(engine.free, 40);
  await engine.close();
  await site.drained();
  t.is(site.open, 0);
});
