import test from 'ava';
import { Rota } from '../../../../http/frame/limits/rota.ts';

const all = (rota: Rota<string>, mayGo = (_: string) => true, isOver = (_: string) => false) => {
  const taken: string[] = [];
  for (let next = rota.next(mayGo, isOver); next !== null; next = rota.next(mayGo, isOver)) taken.push(next);
  return taken.join(' ');
};

test('addresses take turns, and the callers of an address take turns among themselves', (t) => {
  const rota = new Rota<string>();
  for (const n of [1, 2, 3]) rota.add(['a', 'x'], `ax${n}`);
  rota.add(['a', 'y'], 'ay1');
  for (const n of [1, 2]) rota.add(['b', 'z'], `bz${n}`);
  t.is(all(rota), 'ax1 bz1 ay1 bz2 ax2 ax3');
  t.true(rota.isEmpty);
});

test('a caller with a thousand items delays another one by one item', (t) => {
  const rota = new Rota<string>();
  for (let n = 0; n < 1000; n++) rota.add(['a', `${n}`], 'many');
  rota.add(['b', 'x'], 'one');
  rota.next(
    () => true,
    () => false,
  );
  t.is(
    rota.next(
      () => true,
      () => false,
    ),
    'one',
  );
});

test('an item that may not go keeps its place and lets others pass; one that is over is removed', (t) => {
  const rota = new Rota<string>();
  for (const name of ['stays', 'over', 'goes']) rota.add(['a', name], name);
  t.is(
    all(
      rota,
      (item) => item !== 'stays',
      (item) => item === 'over',
    ),
    'goes',
  );
  t.false(rota.isEmpty);
  t.is(all(rota), 'stays');
});
