// Names to vetted addresses: caching, sharing, refusing.
import test from 'ava';
import { createAddressGuard } from '../../../checkers/engine/addresses.ts';
import { parseHosts } from '../../../checkers/engine/dns/system.ts';
import { type Answer, createResolver, type Lookup, type Vetted } from '../../../checkers/engine/resolver.ts';

type Reply = Answer | { code: 'dns_not_found' | 'dns_failed' };

function resolverWith(replies: { [name: string]: Reply }) {
  const asked: string[] = [];
  const held: (() => void)[] = [];
  const clock = { now_ms: 0 };
  const lookup: Lookup = (name, done) => {
    asked.push(name);
    held.push(() => done(replies[name] ?? { code: 'dns_not_found' }));
  };
  const resolver = createResolver(createAddressGuard([]), lookup, () => clock.now_ms);
  const resolve = (name: string): Vetted[] => {
    const answers: Vetted[] = [];
    resolver.resolve(name, (vetted) => answers.push(vetted));
    return answers;
  };
  const answer = (): void => {
    for (const each of held.splice(0)) each();
  };
  return { resolve, answer, asked, clock };
}

const PUBLIC = { addresses: ['8.8.8.8', '2001:4860:4860::8888'], ttl_s: 60 };

test('concurrent callers share one query for a name', (t) => {
  const { resolve, answer, asked } = resolverWith({ 'a.example': PUBLIC });
  const both = [resolve('a.example'), resolve('a.example')];
  answer();
  t.deepEqual(asked, ['a.example']);
  for (const answers of both) t.deepEqual(answers, [{ ok: true, addresses: PUBLIC.addresses }]);
});

test('a dot at the end is dropped, except from a name of one label, which is whole by it', (t) => {
  const { resolve, asked } = resolverWith({});
  for (const name of ['a.example', 'a.example.', 'box', 'box.']) resolve(name);
  t.deepEqual(asked, ['a.example', 'box', 'box.']);
});

test('the cache keeps an answer for its time to live, then asks again', (t) => {
  const { resolve, answer, asked, clock } = resolverWith({ 'a.example': PUBLIC });
  resolve('a.example');
  answer();
  clock.now_ms = 59_999;
  t.is(resolve('a.example').length, 1);
  clock.now_ms = 60_000;
  t.is(resolve('a.example').length, 0);
  t.is(asked.length, 2);
});

test('a time to live of zero becomes five seconds, and one of years five minutes', (t) => {
  const { resolve, answer, asked, clock } = resolverWith({
    'short.example': { ...PUBLIC, ttl_s: 0 },
    'long.example': { ...PUBLIC, ttl_s: 1e9 },
  });
  resolve('short.example');
  resolve('long.example');
  answer();
  clock.now_ms = 4999;
  resolve('short.example');
  t.is(asked.length, 2);
  clock.now_ms = 300_001;
  resolve('long.example');
  t.is(asked.length, 3);
});

test('the cache keeps the absence of a name too', (t) => {
  const { resolve, answer, asked } = resolverWith({});
  resolve('dead.example');
  answer();
  t.deepEqual(resolve('dead.example'), [{ ok: false, code: 'dns_not_found' }]);
  t.is(asked.length, 1);
});

test('one refused address makes the name refused', (t) => {
  const { resolve, answer } = resolverWith({ 'mixed.example': { addresses: ['8.8.8.8', '::127.0.0.1'], ttl_s: 60 } });
  const answers = resolve('mixed.example');
  answer();
  t.deepEqual(answers, [{ ok: false, code: 'blocked_address' }]);
});

test('the resolver vets address literals and sends no query for them', (t) => {
  const { resolve, asked } = resolverWith({});
  t.deepEqual(resolve('8.8.8.8'), [{ ok: true, addresses: ['8.8.8.8'] }]);
  t.deepEqual(resolve('[2606:4700::1111]'), [{ ok: true, addresses: ['2606:4700::1111'] }]);
  t.deepEqual(resolve('[::1]'), [{ ok: false, code: 'blocked_address' }]);
  t.deepEqual(resolve('169.254.169.254'), [{ ok: false, code: 'blocked_address' }]);
  t.deepEqual(asked, []);
});

test('the parser reads a hosts file with comments, several names and addresses, and junk', (t) => {
  const hosts = parseHosts('# names\n127.0.0.1 localhost Box # mine\n::1\tlocalhost\nnonsense here\n\n10.0.0.5 db\r\n');
  t.deepEqual(
    [...hosts],
    [
      ['localhost', ['127.0.0.1', '::1']],
      ['box', ['127.0.0.1']],
      ['db', ['10.0.0.5']],
    ],
  );
});

test('the names that are kept are bounded by their addresses', (t) => {
  const addresses = Array.from({ length: 128 }, (_, n) => `8.8.4.${n}`);
  const answering: Lookup = (_name, done) => done({ addresses, ttl_s: 60 });
  const resolver = createResolver(createAddressGuard([]), answering, () => 0);
  for (let n = 0; n < 4000; n++) resolver.resolve(`h${n}.example`, () => {});
  t.is(resolver.knownUntil('h0.example'), 0);
  t.is(resolver.knownUntil('h3999.example'), 60_000);
});
