// How many requests a checker has in flight where no setting fixes it.
import test from 'ava';
import { createEngine, type EngineSettings } from '../../../checkers/engine/engine.ts';
import { type MemoryFigures, watchMemory } from '../../../checkers/engine/memory.ts';
import { FIRST_WIDTH, type Load, Width } from '../../../checkers/engine/width.ts';
import { until } from '../../support/behind.ts';
import { startTestSite } from '../../support/test-site.ts';

const MOST = 4096;
const calm: Load = { running: 0, silent: 0, is_busy: false, late_ms: 0, is_short_of_memory: false };

/** Looks so many times at a load; without `running`, at one that uses every slot. */
function looks(width: Width, times: number, load: Partial<Load> = {}): void {
  for (let i = 0; i < times; i++) width.look({ ...calm, running: width.limit, ...load });
}

test('it grows to its limit in three seconds while its slots are in use, and no further', (t) => {
  const width = new Width(MOST);
  t.is(width.limit, FIRST_WIDTH);
  looks(width, 1);
  t.is(width.limit, Math.floor(FIRST_WIDTH * 1.1));
  looks(width, 30);
  t.is(width.limit, MOST);
  looks(width, 100);
  t.is(width.limit, MOST);
});

test('it does not grow while slots are free, or the thread is busy, late or short of memory', (t) => {
  for (const load of [
    { running: 0.8 * FIRST_WIDTH },
    { is_busy: true },
    { late_ms: 101 },
    { is_short_of_memory: true },
  ]) {
    const width = new Width(MOST);
    looks(width, 50, load);
    t.is(width.limit, FIRST_WIDTH, JSON.stringify(load));
  }
});

test('it shrinks while the thread is late or memory is short, to the first width, and grows again', (t) => {
  for (const load of [{ late_ms: 101 }, { is_short_of_memory: true }]) {
    const width = new Width(MOST);
    looks(width, 50);
    looks(width, 1, load);
    t.is(width.limit, Math.floor(MOST * 0.9));
    looks(width, 100, load);
    t.is(width.limit, FIRST_WIDTH);
    looks(width, 50);
    t.is(width.limit, MOST);
  }
});

test('silent requests take no slot, whatever the thread does, but for lack of memory', (t) => {
  const width = new Width(MOST);
  looks(width, 1, { silent: 200, is_busy: true, late_ms: 500 });
  t.is(width.limit, FIRST_WIDTH + 200);
  looks(width, 1, { silent: 50, is_busy: true });
  t.is(width.limit, FIRST_WIDTH + 50);
  looks(width, 1, { silent: 50, is_short_of_memory: true });
  t.is(width.limit, FIRST_WIDTH);
  looks(width, 1, { silent: 10_000, is_busy: true });
  t.is(width.limit, MOST);
});

test('a small limit is the width from the first to the last', (t) => {
  const width = new Width(8);
  t.is(width.limit, 8);
  looks(width, 50);
  looks(width, 50, { late_ms: 1000 });
  t.is(width.limit, 8);
});

const FINE: MemoryFigures = {
  available_bytes: 500,
  limit_bytes: 1000,
  heap_used_bytes: 10,
  heap_limit_bytes: 100,
};

test('memory is short when a tenth of the machine or a fifth of the heap is left', (t) => {
  for (const [figures, is_short] of [
    [FINE, false],
    [{ ...FINE, available_bytes: 100 }, false],
    [{ ...FINE, available_bytes: 99 }, true],
    [{ ...FINE, heap_used_bytes: 80 }, false],
    [{ ...FINE, heap_used_bytes: 81 }, true],
  ] as const) {
    t.is(
      watchMemory(
        () => 0,
        () => figures,
      )(),
      is_short,
      JSON.stringify(figures),
    );
  }
});

test('the figures of memory are read once a second', (t) => {
  let now = 0;
  let read = 0;
  let figures = FINE;
  const isShort = watchMemory(
    () => now,
    () => {
      read++;
      return figures;
    },
  );
  t.false(isShort());
  figures = { ...FINE, available_bytes: 0 };
  now = 999;
  t.false(isShort());
  t.is(read, 1);
  now = 1000;
  t.true(isShort());
});

test('this machine has figures of memory', (t) => {
  t.is(typeof watchMemory(() => 0)(), 'boolean');
});

const SETTINGS: EngineSettings = {
  concurrency_limit: 400,
  per_host: 400,
  timeout_ms: 15_000,
  retries: 0,
  allow_addresses: ['127.0.0.0/8'],
  user_agent: 'test',
};

test('silent requests leave the first width to others, and a setting fixes the number', async (t) => {
  const site = await startTestSite({ behaviours: { '/silent/*': () => undefined } });
  t.teardown(() => site.close());
  const silent = (i: number) => `${site.origin}/silent/${i}`;
  for (const [settings, limit] of [
    [SETTINGS, 400],
    [{ ...SETTINGS, concurrency: 20 }, 20],
  ] as const) {
    let now = 0;
    const engine = createEngine(settings, { now: () => now, busy: () => true });
    const checks = Promise.allSettled(Array.from({ length: 500 }, (_, i) => engine.check(silent(i))));
    await until(() => engine.running === Math.min(limit, FIRST_WIDTH));
    now = 2000;
    await until(() => engine.running === limit);
    t.is(engine.free, 0);
    await engine.close();
    await checks;
  }
});
