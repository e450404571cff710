import { Writable } from 'node:stream';
import test from 'ava';
import { bar, duration, line, showProgress } from '../../cli/progress.ts';

const COLUMNS = [1, 5, 10, 20, 40, 60, 80, 120, 200];
const STATES = [
  { total: 1, done: 0 },
  { total: 17, done: 17 },
  { total: 20_000, done: 12_345 },
  { total: 1_000_000, done: 999_999 },
  { total: 0, done: 0 },
];

test('the bar is never wider than the terminal, with room for ^C', (t) => {
  for (const columns of COLUMNS) {
    for (const state of STATES) {
      for (const rate of [0, 0.01, 7, 12_345.6]) {
        const drawn = bar(state, rate, columns);
        t.true(drawn.length <= Math.max(1, columns - 3), `${columns}: ${drawn}`);
        t.false(drawn.includes('\n'));
      }
    }
  }
});

test('a narrow terminal shows less, and the share always', (t) => {
  const state = { total: 20_000, done: 5_000 };
  t.is(bar(state, 500, 80), `${'█'.repeat(8)}${'░'.repeat(22)}   25%   5,000 of 20,000  500 URL/s  30 s left`);
  t.is(bar(state, 500, 60), `${'█'.repeat(3)}${'░'.repeat(8)}   25%   5,000 of 20,000  500 URL/s  30 s left`);
  t.is(bar(state, 500, 50), `${'█'.repeat(3)}${'░'.repeat(9)}   25%   5,000 of 20,000  30 s left`);
  t.is(bar(state, 500, 36), `${'█'.repeat(2)}${'░'.repeat(7)}   25%   5,000 of 20,000`);
  t.is(bar(state, 500, 20), `${'█'.repeat(3)}${'░'.repeat(8)}   25%`);
  t.is(bar(state, 500, 9), ' 25%');
});

test('elsewhere than on a terminal progress is a line', (t) => {
  t.is(line({ total: 20_000, done: 5_000 }, 500), '5,000 of 20,000 URLs checked (25%), 500 URL/s, 30 s left');
  t.is(line({ total: 20, done: 0 }, 0), '0 of 20 URLs checked (0%), 0 URL/s');
});

test('progress ends with the terminal cleared, and writes no control characters elsewhere', async (t) => {
  const drawn = Promise.withResolvers<void>();
  const written: string[] = [];
  const outOf = (isTTY: boolean) => {
    const write = (piece: Buffer, _encoding: string, done: () => void) => {
      written.push(String(piece));
      drawn.resolve();
      done();
    };
    return Object.assign(new Writable({ write }), { isTTY, columns: 80 });
  };
  const progress = showProgress(() => ({ total: 2, done: 1 }), outOf(true));
  await drawn.promise;
  progress.stop();
  t.is(written.at(-1), '\r\x1b[K');
  written.length = 0;
  showProgress(() => ({ total: 2, done: 1 }), outOf(false)).stop();
  t.deepEqual(written, []);
});

test('times left have two units', (t) => {
  t.is(duration(0.2), '1 s');
  t.is(duration(59.5), '1 min 0 s');
  t.is(duration(3599.5), '1 h 0 min');
  t.is(duration(7380), '2 h 3 min');
});
