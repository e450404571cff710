// When a thread gives its memory back, and that it does.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import test from 'ava';
import { IdleMemory } from '../../service/idle-memory.ts';

const MB = 2 ** 20;

/** A memory that looks every 5 s at what the test says. */
function open() {
  const now = { heap_bytes: 30 * MB, share: 0, at_ms: 0 };
  let collected = 0;
  const memory = new IdleMemory({
    heapBytes: () => now.heap_bytes,
    share: () => now.share,
    collect: async () => void collected++,
    monotonic: () => now.at_ms,
  });
  return {
    async look(heap_mb: number, share = 0): Promise<number> {
      now.heap_bytes = heap_mb * MB;
      now.share = share;
      now.at_ms += 5_000;
      const before = collected;
      await memory.look();
      return collected - before;
    },
  };
}

test('a small heap is left alone, and a large one until its thread is idle', async (t) => {
  const { look } = open();
  t.is(await look(30), 0);
  t.is(await look(500, 0.9), 0);
  t.is(await look(500, 0.3), 0);
  t.is(await look(500, 0.1), 1);
});

test('a heap that was large is collected, because its pages are kept, and then left alone', async (t) => {
  const { look } = open();
  t.is(await look(500, 0.9), 0);
  t.is(await look(40), 1);
  for (let n = 0; n < 20; n++) t.is(await look(40), 0);
});

test('a heap that stays large is collected at most twice a minute', async (t) => {
  const { look } = open();
  let collections = 0;
  for (let n = 0; n < 12; n++) collections += await look(300);
  t.is(collections, 2);
});

test('a thread that is idle gives back what its work took', async (t) => {
  const idle = new URL('../../service/idle-memory.ts', import.meta.url).href;
  const code = `const { parentPort } = require('node:worker_threads');
    const { getHeapStatistics } = require('node:v8');
    const size = () => getHeapStatistics().total_heap_size;
    import(${JSON.stringify(idle)}).then(async ({ IdleMemory }) => {
      const memory = new IdleMemory({ share: () => 0, monotonic: () => 0 });
      let kept = Array.from({ length: 1_500_000 }, (_, n) => ({ n, text: 'x' + n }));
      const large = size();
      kept = null;
      await memory.look();
      parentPort.postMessage({ large, left: size() });
    });`;
  const [{ large, left }] = await once(new Worker(code, { eval: true }), 'message');
  t.true(large > 80 * MB, `${large}`);
  t.true(left < large / 3, `${left} of ${large} bytes are left`);
});
