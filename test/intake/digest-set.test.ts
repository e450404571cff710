import test from 'ava';
import { DigestSet } from '../../intake/digest-set.ts';

test('a key is new once', (t) => {
  const set = new DigestSet();
  t.is(set.add('https://example.com/'), null);
  t.is(set.add('https://example.com/é'), null);
  t.is(set.add('https://example.com/'), 0);
  t.is(set.add('https://example.com/é'), 1);
  t.is(set.size, 2);
});

test('the set distinguishes a hundred thousand keys while its tables grow', (t) => {
  const set = new DigestSet();
  const expected = new Map<string, number>();
  let wrong = 0;
  for (let i = 0; i < 100_000; i++) {
    const key = `https://example.com/${(i * 7919) % 60_000}`;
    if (set.add(key) !== (expected.get(key) ?? null)) wrong++;
    if (!expected.has(key)) expected.set(key, expected.size);
  }
  t.is(wrong, 0);
  t.is(set.size, expected.size);
});

test('a key keeps its place when the set has become large', (t) => {
  const set = new DigestSet();
  const keys = Array.from({ length: 300 }, (_, n) => `https://example.com/${n}`);
  for (const [n, key] of keys.entries()) {
    t.is(set.add(key), null);
    t.is(set.add(keys[n >> 1]!), n >> 1);
  }
  t.deepEqual(
    keys.map((key) => set.add(key)),
    keys.map((_, n) => n),
  );
  t.is(set.size, 300);
});

test('a set that was disposed of says so, whether it is small or large', (t) => {
  for (const size of [0, 100, 10_000]) {
    const set = new DigestSet();
    for (let n = 0; n < size; n += 1) set.add(`${n}`);
    set[Symbol.dispose]();
    for (const use of [() => set.add('1'), () => set.has('1')]) t.throws(use, { message: 'the set was disposed of' });
  }
});

test('the set has the keys that were added, and no others, whether it is small or large', (t) => {
  for (const size of [100, 10_000]) {
    const set = new DigestSet();
    for (let n = 0; n < size; n += 1) set.add(`in/${n}`);
    let wrong = 0;
    for (let n = 0; n < size; n += 1) if (!set.has(`in/${n}`) || set.has(`out/${n}`)) wrong += 1;
    t.is(wrong, 0);
    t.is(set.size, size);
  }
});
