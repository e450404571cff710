// Signals reach the other instances of their name, in this thread and in others, and nobody else.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import test from 'ava';
import { ThreadSignal } from '../../adapters/thread-signal.ts';

const MODULE = new URL('../../adapters/thread-signal.ts', import.meta.url).href;
const FETCH = 'NativeModule internal/deps/undici/undici';

/** Reports when it listens, then each signal; `send` makes it send one. */
const THREAD = `
  const { parentPort, workerData } = require('node:worker_threads');
  import(workerData.module).then(({ ThreadSignal }) => {
    const report = (what) => parentPort.postMessage({ what, fetch: process.moduleLoadList.includes(workerData.fetch) });
    const signal = new ThreadSignal('shop', () => report('heard'));
    parentPort.on('message', () => signal.send());
    report('listens');
  });
`;

function openHeard(name: string) {
  let heard = 0;
  let next = Promise.withResolvers<void>();
  const signal = new ThreadSignal(name, () => {
    heard++;
    next.resolve();
    next = Promise.withResolvers();
  });
  return { signal, heard: () => heard, next: () => next.promise };
}

test('a signal reaches the others of its name, and neither its sender nor other names', async (t) => {
  const [sender, other, stranger] = [openHeard('mill'), openHeard('mill'), openHeard('bakery')];
  for (let sent = 1; sent <= 3; sent++) {
    const heard = other.next();
    sender.signal.send();
    await heard;
    t.is(other.heard(), sent);
  }
  const answered = sender.next();
  other.signal.send();
  await answered;
  t.is(sender.heard(), 1);
  t.is(other.heard(), 3);
  t.is(stranger.heard(), 0);
  for (const { signal } of [sender, other, stranger]) signal.close();
});

test('two that send at once hear each other', async (t) => {
  const [one, two] = [openHeard('smithy'), openHeard('smithy')];
  const heard = Promise.all([one.next(), two.next()]);
  one.signal.send();
  two.signal.send();
  await heard;
  t.deepEqual([one.heard(), two.heard()], [1, 1]);
  for (const { signal } of [one, two]) signal.close();
});

test.serial('a signal that comes while one is made is heard when it is there', async (t) => {
  const sender = openHeard('barn');
  const { load } = Atomics;
  Atomics.load = ((counters: Int32Array, at: number) => {
    Atomics.load = load;
    const count = load(counters, at);
    sender.signal.send();
    return count;
  }) as typeof load;
  const made = openHeard('barn');
  t.is(made.heard(), 0);
  await made.next();
  t.is(made.heard(), 1);
  for (const { signal } of [sender, made]) signal.close();
});

test('a closed signal hears nothing, and the others still do', async (t) => {
  const [sender, closed, other] = [openHeard('port'), openHeard('port'), openHeard('port')];
  closed.signal.close();
  const heard = other.next();
  sender.signal.send();
  await heard;
  t.is(closed.heard(), 0);
  for (const { signal } of [sender, other]) signal.close();
});

test('signals go between threads, which need no fetch for them', async (t) => {
  const worker = new Worker(THREAD, { eval: true, workerData: { module: MODULE, fetch: FETCH } });
  t.deepEqual(await once(worker, 'message'), [{ what: 'listens', fetch: false }]);
  const here = openHeard('shop');
  here.signal.send();
  t.deepEqual(await once(worker, 'message'), [{ what: 'heard', fetch: false }]);
  const answered = here.next();
  worker.postMessage(null);
  await answered;
  t.is(here.heard(), 1);
  here.signal.close();
  await worker.terminate();
});
