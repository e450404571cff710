import test from 'ava';
import fc from 'fast-check';
import { foldRows, unfoldRows } from '../../events/listed-rows.ts';

test('rows one after the other fold to the first of them', (t) => {
  const rows = Array.from({ length: 1000 }, (_, i) => i + 2);
  t.deepEqual(foldRows(rows), [2]);
  t.deepEqual(unfoldRows([2], 998, 1000), [1000, 1001]);
});

test('any rows fold and unfold, in whole and in any part', (t) => {
  // Mostly the next row, the same one again or a few rows further, at times any row, as in files whose rows are not in order.
  const step = fc.oneof({ weight: 6, arbitrary: fc.constant(1) }, fc.integer({ min: 0, max: 3 }), fc.integer());
  const rows = fc
    .tuple(fc.integer({ min: 1, max: 1_000_000 }), fc.array(step, { maxLength: 60 }))
    .map(([first, steps]) => {
      let row = first;
      return [row, ...steps.map((by) => (row += by))];
    });
  fc.assert(
    fc.property(rows, fc.nat(70), fc.nat(70), (all, a, b) => {
      const [from, to] = [Math.min(a, all.length), Math.min(Math.max(a, b), all.length)];
      t.deepEqual(unfoldRows(foldRows(all), 0, all.length), all);
      t.deepEqual(unfoldRows(foldRows(all), from, to), all.slice(from, to));
    }),
  );
});
