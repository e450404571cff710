// The shares of a host's limit, which each checker computes for itself, sum to the limit.
import test from 'ava';
import fc from 'fast-check';
import { shareOf } from '../../checkers/budget.ts';

const checkers = fc.uniqueArray(fc.uuid(), { minLength: 1, maxLength: 40 });
const limits = fc.integer({ min: 1, max: 100 });
const turns = fc.nat(1_000_000);
const hosts = fc.domain();

test('the shares sum to the limit, and differ by at most one', (t) => {
  const property = fc.property(hosts, checkers, limits, turns, (host, alive, limit, turn) => {
    const parts = alive.map((me) => shareOf(host, me, alive, limit, turn));
    t.is(
      parts.reduce((sum, part) => sum + part),
      limit,
    );
    t.true(Math.max(...parts) - Math.min(...parts) <= 1);
  });
  fc.assert(property);
});

test('the order in which the other checkers announced themselves does not matter', (t) => {
  const property = fc.property(hosts, checkers, limits, turns, (host, alive, limit, turn) => {
    for (const me of alive)
      t.is(shareOf(host, me, alive.toReversed(), limit, turn), shareOf(host, me, alive, limit, turn));
  });
  fc.assert(property);
});

test('a single checker has the whole limit', (t) => {
  t.is(shareOf('a.example', 'me', ['me'], 10, 7), 10);
});

test('more checkers than requests take turns, each equally often', (t) => {
  const property = fc.property(hosts, checkers, fc.integer({ min: 1, max: 20 }), (host, alive, limit) => {
    fc.pre(limit < alive.length);
    for (const me of alive) {
      const had = Array.from({ length: alive.length }, (_, turn) => shareOf(host, me, alive, limit, turn));
      t.is(
        had.reduce((sum, part) => sum + part),
        limit,
      );
      const within = Math.ceil(alive.length / limit);
      for (let from = 0; from + within <= had.length; from++) t.true(had.slice(from, from + within).includes(1));
    }
  });
  fc.assert(property, { numRuns: 50 });
});

test('with a request for each checker, turns change nothing', (t) => {
  const alive = ['a', 'b', 'c'];
  for (const me of alive) {
    const parts = Array.from({ length: 20 }, (_, turn) => shareOf('a.example', me, alive, 10, turn));
    t.is(new Set(parts).size, 1);
  }
});

test('the remainders of many hosts are spread evenly over the checkers', (t) => {
  const alive = ['a', 'b', 'c', 'd', 'e'];
  const sums = alive.map((me) => {
    let sum = 0;
    for (let i = 0; i < 10_000; i++) sum += shareOf(`host-${i}.example`, me, alive, 1, 0);
    return sum;
  });
  for (const sum of sums) t.true(Math.abs(sum - 2000) < 200, `${sums}`);
});
