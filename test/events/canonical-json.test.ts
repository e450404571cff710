// The canonical JSON of ledger hashes is that of RFC 8785, as the package `canonicalize` writes it.
import test from 'ava';
import canonicalize from 'canonicalize';
import fc from 'fast-check';
import { canonicalJson } from '../../events/canonical-json.ts';

test('it is what canonicalize writes, for every value', (t) => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
      const parsed = JSON.parse(JSON.stringify(value));
      if (canonicalJson(parsed) !== canonicalize(parsed)) throw new Error(JSON.stringify(value));
    }),
    { numRuns: 5_000 },
  );
  t.pass();
});

test('keys are in the order of UTF-16, also those that JavaScript orders by itself', (t) => {
  const value = JSON.parse(
    '{"b":{"10":1,"9":[{"z":1,"a":{"__proto__":2,"1":3}}]},"\u00e9":1,"a":-0,"\ud83d\ude00":1e21,"\uff5e":""}',
  );
  t.is(canonicalJson(value), canonicalize(value)!);
  t.is(canonicalJson({ b: 1, a: [2, { d: 'x', c: null }] }), '{"a":[2,{"c":null,"d":"x"}],"b":1}');
});
