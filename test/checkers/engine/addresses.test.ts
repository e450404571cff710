// The address guard, address by address; and in every spelling that the URL parser takes for one.
import test from 'ava';
import { createAddressGuard } from '../../../checkers/engine/addresses.ts';
import {
  ALLOWED,
  ALLOWED_IF_EXCEPTED,
  EXCEPTED,
  REFUSED,
  REFUSED_ALL_THE_SAME,
  type Vector,
} from './address-vectors.ts';

const TABLE: readonly [title: string, excepted: readonly string[], allowed: boolean, vectors: readonly Vector[]][] = [
  ['refused', [], false, REFUSED],
  ['allowed', [], true, ALLOWED],
  ['allowed if excepted', EXCEPTED, true, ALLOWED_IF_EXCEPTED],
  ['refused all the same', EXCEPTED, false, REFUSED_ALL_THE_SAME],
];

/** The host as the engine gives it to the guard. */
function literal(address: string): string {
  return /^http/.test(address) ? new URL(address).hostname.replace(/^\[|\]$/g, '') : address;
}

test('the guard refuses or allows every address as the table says', (t) => {
  const all = TABLE.flatMap(([, , , vectors]) => vectors);
  t.log(`${all.length} addresses`);
  for (const [title, excepted, allowed, vectors] of TABLE) {
    const guard = createAddressGuard(excepted);
    t.log(`${title}: ${vectors.length}`);
    for (const [address, why] of vectors) {
      t.log(`  ${JSON.stringify(address).padEnd(56)}${why}`);
      t.is(guard.allows(literal(address)), allowed, `${address}: ${why}`);
    }
  }
  t.is(new Set(TABLE.flatMap(([title, , , vectors]) => vectors.map(([address]) => title + address))).size, all.length);
  t.true(all.length >= 140);
});

test('an exception may cover every address', (t) => {
  const guard = createAddressGuard(['0.0.0.0/0', '::/0']);
  t.true(guard.allows('10.0.0.1'));
  t.true(guard.allows('::1'));
});

for (const range of ['127.0.0.1', 'nonsense/8', '10.0.0.0/33', '10.0.0.0/-1', '::/129', '10.0.0/8', '10.0.0.0/', '']) {
  test(`the guard throws for '${range}', which is no range`, (t) => {
    t.throws(() => createAddressGuard([range]), { instanceOf: TypeError });
  });
}

test('the guard distinguishes an excepted address from a public one', (t) => {
  const guard = createAddressGuard(['127.0.0.0/8', '2001:db8::/32']);
  for (const address of ['127.0.0.1', '2001:db8::1']) t.true(guard.excepts(address), address);
  for (const address of ['93.184.215.14', '10.0.0.1', '::1', 'nonsense']) t.false(guard.excepts(address), address);
});
