import test from 'ava';
import { DigestSet } from '../../intake/digest-set.ts';

test('a key is new once', (t) => {
  const set = new DigestSet();
  t.true(set.add('https://example.com/'));
  t.false(set.add('https://example.com/'));
  t.true(set.add('https://example.com/é'));
  t.is(set.size, 2);
});

test('the set distinguishes a hundred thousand keys while its tables grow', (t) => {
  const set = new DigestSet();
  const expected = new Set<string>();
  let wrong = 0;
  for (let i = 0; i < 100_000; i++) {
    const key = `https://example.com/${(i * 7919) % 60_000}`;
    if (set.add(key) === expected.has(key)) wrong++;
    expected.add(key);
  }
  t.is(wrong, 0);
  t.is(set.size, expected.size);
});
