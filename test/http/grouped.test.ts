import test from 'ava';
import { grouped } from '../../http/grouped.ts';

test('numbers are grouped as English does', (t) => {
  for (let most = 1; most <= Number.MAX_SAFE_INTEGER; most *= 10)
    for (const value of [most - 1, most, most + 1]) t.is(grouped(value), value.toLocaleString('en'));
});
