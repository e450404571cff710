// The thread of projector and processes: replaced when it runs out of memory, and the service's end at any other of its ends.
import { Worker } from 'node:worker_threads';
import test from 'ava';
import { RestartingThread } from '../../service/restarting-thread.ts';

/** Threads that say that they work, and then do `what` of each in turn, the last for ever. */
function open(...what: string[]) {
  const lines: { thread: string; pause_ms: number }[] = [];
  const failure = Promise.withResolvers<Error>();
  const last = Promise.withResolvers<void>();
  let begun = 0;
  const thread = new RestartingThread({
    name: 'projector',
    start: () => {
      const step = what[Math.min(begun++, what.length - 1)];
      const code = `const { parentPort } = require('node:worker_threads');
        parentPort.postMessage({ type: 'started' });
        parentPort.once('message', () => process.exit(0));
        ${step}`;
      if (begun === what.length) last.resolve();
      return new Worker(code, { eval: true, resourceLimits: { maxOldGenerationSizeMb: 16 } });
    },
    logger: { fatal: (line: object) => void lines.push(line as never) } as never,
    failed: failure.resolve,
    pause: async () => {},
  });
  return { thread, lines, failed: failure.promise, last: last.promise };
}

const BUILDS = "parentPort.postMessage({ type: 'doing', what: 'building domain_health' });";
const FILLS = 'setTimeout(() => { const kept = []; for (;;) kept.push([kept]); }, 200);';

test('a thread that runs out of memory is replaced, ever later, and the line names it and what it did', async (t) => {
  const { thread, lines, failed, last } = open(BUILDS + FILLS, BUILDS + FILLS, '');
  let has_failed = false;
  void failed.then(() => (has_failed = true));
  await thread.start();
  await last;
  t.deepEqual(
    lines.map(({ thread, pause_ms }) => ({ thread, pause_ms })),
    [
      { thread: 'projector (building domain_health)', pause_ms: 1000 },
      { thread: 'projector (building domain_health)', pause_ms: 2000 },
    ],
  );
  await thread.stop();
  t.false(has_failed);
});

test('a thread that ends for another reason ends the service, which learns its name and what it did', async (t) => {
  const thrown = open(`${BUILDS} setTimeout(() => { throw new Error('no such table'); }, 100);`);
  await thrown.thread.start();
  t.is((await thrown.failed).message, 'projector (building domain_health): no such table');
  const exited = open('setTimeout(() => process.exit(3), 100);');
  await exited.thread.start();
  t.is((await exited.failed).message, 'projector: the thread ended with 3');
  const said = open("parentPort.postMessage({ type: 'failed', reason: 'a role failed', code: 'E' });");
  await said.thread.start();
  t.like(await said.failed, { message: 'projector: a role failed', code: 'E' });
  for (const { thread } of [thrown, exited, said]) await thread.terminate();
});

test('a thread that is stopped while a new one is awaited is not started', async (t) => {
  const { thread, lines } = open('');
  await thread.start();
  await thread.stop();
  t.deepEqual(lines, []);
});
