// Order, room and memory of checking a stream of URLs, with an engine whose outcomes the test gives.
import { setImmediate } from 'node:timers/promises';
import test from 'ava';
import type { Outcome } from '../../checkers/index.ts';
import { checkInOrder, type Result } from '../../cli/check-in-order.ts';

const OUTCOME = { verdict: 'ok' } as Outcome;

function heldEngine(room: number) {
  const under_way = new Map<string, { resolve: (outcome: Outcome) => void; reject: (error: Error) => void }>();
  const asked: string[] = [];
  return {
    asked,
    under_way,
    get free() {
      return Math.max(0, room - under_way.size);
    },
    check(url: string): Promise<Outcome> {
      asked.push(url);
      return new Promise((resolve, reject) => under_way.set(url, { resolve, reject }));
    },
    answer(url: string): void {
      under_way.get(url)!.resolve(OUTCOME);
      under_way.delete(url);
    },
    fail(url: string, error: Error): void {
      under_way.get(url)!.reject(error);
      under_way.delete(url);
    },
  };
}

async function* pages(count: number, of = 3): AsyncGenerator<string[]> {
  const urls = Array.from({ length: count }, (_, i) => `u${i}`);
  for (let at = 0; at < count; at += of) yield urls.slice(at, at + of);
}

function started(count: number, room: number, max_held = 100) {
  const engine = heldEngine(room);
  const abort = new AbortController();
  const got: string[] = [];
  let completed = 0;
  const reading = (async () => {
    const results: AsyncIterable<Result> = checkInOrder(
      pages(count),
      engine,
      abort.signal,
      () => completed++,
      max_held,
    );
    for await (const { url } of results) got.push(url);
  })();
  reading.catch(() => {});
  return { engine, abort, got, reading, completed: () => completed };
}
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await setImmediate();
};

test('results come in the order of the URLs, whatever the order of their outcomes', async (t) => {
  const { engine, got, reading, completed } = started(7, 10);
  await settled();
  for (const i of [6, 2, 1, 5]) engine.answer(`u${i}`);
  await settled();
  t.deepEqual(got, []);
  t.is(completed(), 4);
  engine.answer('u0');
  await settled();
  t.deepEqual(got, ['u0', 'u1', 'u2']);
  engine.answer('u4');
  engine.answer('u3');
  await reading;
  t.deepEqual(got, ['u0', 'u1', 'u2', 'u3', 'u4', 'u5', 'u6']);
});

test('the command asks only for as many URLs as the engine has room for', async (t) => {
  const { engine, reading } = started(20, 4);
  await settled();
  t.is(engine.asked.length, 4);
  engine.answer('u2');
  await settled();
  t.is(engine.asked.length, 5);
  for (let i = 0; i < 20; i++) {
    await settled();
    if (i !== 2) engine.answer(`u${i}`);
  }
  await reading;
  t.is(engine.asked.length, 20);
});

test('a URL without an outcome holds back a limited number of results', async (t) => {
  const { engine, got, reading } = started(1000, 5, 50);
  await settled();
  for (let turn = 0; turn < 200; turn++) {
    for (const url of [...engine.under_way.keys()]) if (url !== 'u0') engine.answer(url);
    await setImmediate();
  }
  t.is(engine.asked.length, 50);
  t.deepEqual(got, []);
  while (got.length < 1000) {
    for (const url of [...engine.under_way.keys()]) engine.answer(url);
    await setImmediate();
  }
  await reading;
  t.deepEqual(
    got,
    Array.from({ length: 1000 }, (_, i) => `u${i}`),
  );
});

test('an abort ends the check with the results before the first URL without an outcome', async (t) => {
  const { engine, abort, got, reading } = started(9, 5);
  await settled();
  for (const i of [0, 1, 3]) engine.answer(`u${i}`);
  abort.abort();
  for (const url of [...engine.under_way.keys()]) engine.fail(url, abort.signal.reason);
  await reading;
  t.deepEqual(got, ['u0', 'u1']);
});

test('checkInOrder throws a defect of the engine', async (t) => {
  const { engine, reading } = started(3, 5);
  await settled();
  engine.fail('u1', new Error('a defect'));
  await t.throwsAsync(reading, { message: 'a defect' });
});
