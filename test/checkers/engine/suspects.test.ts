// The URLs over which a checker hung, which are not requested again.
import test from 'ava';
import { Suspects } from '../../../checkers/engine/suspects.ts';

const HOUR_MS = 60 * 60_000;
const url = (path: string, host = 'a.example') => new URL(`http://${host}/${path}`);

test('a URL stays suspect for an hour, and its neighbours do not', (t) => {
  let now = 0;
  const suspects = new Suspects(() => now);
  suspects.add(url('1').href);
  t.true(suspects.has(url('1')));
  t.false(suspects.has(url('2')));
  now = HOUR_MS;
  t.false(suspects.has(url('1')));
});

test('a host with five suspect URLs is suspect as a whole, until one of them expires', (t) => {
  let now = 0;
  const suspects = new Suspects(() => now);
  for (const path of ['1', '2', '3', '4', '4']) suspects.add(url(path).href);
  t.false(suspects.has(url('9')), 'the same URL counts once');
  now = 1000;
  suspects.add(url('5').href);
  t.true(suspects.has(url('9')));
  t.false(suspects.has(url('9', 'b.example')));
  now = HOUR_MS;
  t.false(suspects.has(url('9')));
  t.true(suspects.has(url('5')));
});
