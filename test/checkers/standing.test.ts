// What a checker may do before it has heard of the views that name it.
import test from 'ava';
import { CUT_OFF_AFTER_MS, Standing } from '../../checkers/standing.ts';

const LATE = CUT_OFF_AFTER_MS + 1;
const viewOf = (view: number, ...ids: string[]) => ({ view, ids, is_mixed: false });

test('a checker that joins starts no request while it does not hear itself', (t) => {
  const standing = new Standing('a', 0);
  t.true(standing.mayAsk(CUT_OFF_AFTER_MS));
  t.false(standing.mayAsk(LATE));
  standing.observeItself(LATE);
  t.true(standing.mayAsk(LATE + 1));
});

test('a checker whose work is of a view that it has not heard waits, once cut off, for a view that names it', (t) => {
  const standing = new Standing('a', 0);
  t.true(standing.isFor('https://example.com/', 5));
  t.is(standing.named_in, 5);
  t.false(standing.mayAsk(LATE));
  standing.observeItself(LATE);
  t.false(standing.mayAsk(LATE + 1));
  t.is(standing.observe(viewOf(5, 'a', 'b'), LATE + 2), 'changed');
  t.true(standing.mayAsk(LATE + 3));
});

test('a checker is expelled by a view as late as its work, and by no earlier one', (t) => {
  const standing = new Standing('a', 0);
  standing.isFor('https://example.com/', 5);
  t.is(standing.observe(viewOf(4, 'b'), 1), 'same');
  t.is(standing.observe(viewOf(6, 'b'), 2), 'expelled');
});

test('a view that does not name a checker which is no member yet changes nothing', (t) => {
  const standing = new Standing('a', 0);
  t.is(standing.observe(viewOf(4, 'b'), 1), 'same');
  t.is(standing.latest.view, 4);
});
