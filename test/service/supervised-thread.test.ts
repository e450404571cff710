// When a checker's thread is replaced, with what the next one starts, and when there is no next one.
import { on, once } from 'node:events';
import { Worker } from 'node:worker_threads';
import test from 'ava';
import { pino } from 'pino';
import { Pulse } from '../../checkers/pulse.ts';
import { Silence, SupervisedThread, type ThreadStart, watchSilence } from '../../service/supervised-thread.ts';

const PULSE = new URL('../../checkers/pulse.ts', import.meta.url).href;
const logger = pino({ level: 'silent' });

/** A thread that says that it works, and then does `what` with its `pulse`, a heartbeat given. */
const threadOf = (what: string) => (data: ThreadStart) =>
  new Worker(
    `const { workerData, parentPort } = require('node:worker_threads');
     import(${JSON.stringify(PULSE)}).then(({ Pulse }) => {
       const pulse = new Pulse(workerData.pulse);
       pulse.beat();
       parentPort.postMessage('started');
       parentPort.once('message', () => process.exit(0));
       ${what}
     });`,
    { eval: true, workerData: data },
  );

async function started(thread: Worker): Promise<void> {
  await once(thread, 'message');
}

function supervise(what: string) {
  const starts: ThreadStart[] = [];
  const pauses: number[] = [];
  const failure = Promise.withResolvers<Error>();
  const thread = new SupervisedThread({
    start: (data) => {
      starts.push(data);
      return threadOf(what)(data);
    },
    started,
    logger,
    failed: failure.resolve,
    look_ms: 100,
    silent_ms: 2000,
    pause: async (ms) => void pauses.push(ms),
  });
  return { thread, starts, pauses, failed: failure.promise };
}

test('silence grows while no heartbeat comes, and ends with one', (t) => {
  const silence = new Silence(0, 0, 1000);
  t.deepEqual(
    [1000, 2000, 3000].map((now) => silence.look(0, now)),
    [1000, 2000, 3000],
  );
  t.is(silence.look(1, 4000), 0);
  t.is(silence.look(1, 5000), 1000);
});

test("the supervisor's own sleep does not count as silence of the thread", (t) => {
  const silence = new Silence(0, 0, 1000);
  t.is(silence.look(0, 3_600_000), 2000);
  t.is(silence.look(1, 3_601_000), 0);
});

test('the supervisor reports a thread that hangs, and none that lives', async (t) => {
  const [living, hanging] = [new Pulse(), new Pulse()];
  const threads = [
    threadOf('setInterval(() => pulse.beat(), 5);')({ pulse: living.memory, suspects: [] }),
    threadOf('for (;;);')({ pulse: hanging.memory, suspects: [] }),
  ];
  await Promise.all(threads.map(started));
  let lived = true;
  const options = { limit_ms: 2000, look_ms: 100 };
  const endWatch = watchSilence(living, options, () => (lived = false));
  await new Promise<number>((resolve) => t.teardown(watchSilence(hanging, options, resolve)));
  t.true(lived);
  endWatch();
  await Promise.all(threads.map((thread) => thread.terminate()));
});

test('the supervisor replaces a thread that hangs on a URL at once, and passes the URL to its successor', async (t) => {
  // It hangs once: the next one has a suspect and goes on.
  const hang = `pulse.enter('http://a.example/'); if (workerData.suspects.length === 0) for (;;); pulse.leave(); setInterval(() => pulse.beat(), 5);`;
  const { thread, starts, pauses } = supervise(hang);
  await thread.start();
  while (starts.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
  t.deepEqual(starts[1]!.suspects, ['http://a.example/']);
  t.deepEqual(pauses, [0]);
  t.is(thread.replaced, 1);
  await thread.stop();
});

test('the supervisor replaces threads that end without a URL later each time, and then gives up', async (t) => {
  const { thread, starts, pauses, failed } = supervise('setTimeout(() => { throw new Error("planted") }, 100);');
  await thread.start();
  t.regex((await failed).message, /end one after another: planted/);
  t.deepEqual(pauses, [0, 1000, 2000, 4000, 8000]);
  t.is(starts.length, 6);
});

test('the supervisor always replaces threads that end over a URL', async (t) => {
  const what = `const n = workerData.suspects.length; pulse.enter('http://a.example/' + n); if (n < 8) process.exit(1); pulse.leave();`;
  const { thread, starts } = supervise(what);
  await thread.start();
  while (starts.length < 9) await new Promise((resolve) => setTimeout(resolve, 5));
  t.is(new Set(starts[8]!.suspects).size, 8);
  await thread.stop();
});

test('the supervisor does not replace a thread that cannot start', async (t) => {
  const { thread, starts } = supervise('');
  const broken = new SupervisedThread({
    start: () => new Worker('process.exit(3)', { eval: true }),
    started: () => new Promise(() => {}),
    logger,
    failed: () => {},
  });
  await t.throwsAsync(broken.start(), { message: /ended with 3/ });
  await thread.start();
  await thread.stop();
  t.is(starts.length, 1);
});

test('the supervisor waits for a thread that hangs between its first heartbeat and its start', async (t) => {
  const starts: ThreadStart[] = [];
  const thread = new SupervisedThread({
    start: (data) => {
      starts.push(data);
      return threadOf(`const until = Date.now() + 1000; while (Date.now() < until); parentPort.postMessage('works');
        setInterval(() => pulse.beat(), 5);`)(data);
    },
    started: async (one) => {
      for await (const [said] of on(one, 'message')) if (said === 'works') return;
    },
    logger,
    failed: () => {},
    look_ms: 50,
    silent_ms: 200,
  });
  await t.notThrowsAsync(thread.start());
  await thread.stop();
  t.is(starts.length, 1);
});

test('a thread that fails during its stop counts as stopped', async (t) => {
  const { thread } = supervise(`process.on('exit', () => { throw new Error('planted') });`);
  await thread.start();
  await t.notThrowsAsync(thread.stop());
});
