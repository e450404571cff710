// Personal fields are sealed in the log, open with their key at their place only, and never again once it is destroyed.
import { randomBytes, randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import test from 'ava';
import { metadataOf } from '../../commands/aggregate.ts';
import type { EventStore, NewEvent } from '../../events/event-store.ts';
import { ERASED, seal, unseal } from '../../events/personal.ts';
import { openPersonalKeys, WrongPersonalDataKey } from '../../events/personal-keys.ts';
import { apiKeysStream, personalKeyStream, userStream } from '../../events/streams.ts';
import { coded, commandContext, openTestStores } from '../support/stores.ts';

const SECRET = Buffer.from('a secret of tests');

test('a text is sealed to the same bytes at the same place, and to others at another place or for another text', (t) => {
  const key = randomBytes(32);
  const sealed = seal(key, 'event 1', 'ada@example.com');
  t.is(seal(key, 'event 1', 'ada@example.com'), sealed);
  const others = [seal(key, 'event 2', 'ada@example.com'), seal(key, 'event 1', 'bob@example.com')];
  t.is(
    new Set([sealed, ...others].map((each) => each.slice(0, 'sealed:1:'.length + 16))).size,
    3,
    'no IV serves twice',
  );
  t.is(unseal(key, 'event 1', sealed), 'ada@example.com');
});

test('a sealed text opens with no other key, at no other place, and not when a byte was changed', (t) => {
  const key = randomBytes(32);
  const sealed = seal(key, 'event 1', 'ada@example.com');
  t.throws(() => unseal(randomBytes(32), 'event 1', sealed));
  t.throws(() => unseal(key, 'event 2', sealed));
  const changed = sealed.slice(0, -2) + (sealed.at(-2) === 'A' ? 'B' : 'A') + sealed.slice(-1);
  t.throws(() => unseal(key, 'event 1', changed));
});

test('several processes that make a key at once all get the same one', async (t) => {
  const { log } = await openTestStores(t);
  const made = await Promise.all(Array.from({ length: 8 }, () => openPersonalKeys(log, SECRET).make('user/ada')));
  t.is(new Set(made.map((key) => Buffer.from(key!).toString('hex'))).size, 1);
  t.deepEqual(await openPersonalKeys(log, SECRET).find('user/ada'), made[0]);
  const [event] = await Array.fromAsync(log.readStream(personalKeyStream('user/ada')));
  t.false(JSON.stringify(event).includes(Buffer.from(made[0]!).toString('base64url')), 'the log holds it wrapped');
});

test('a destroyed key is not found again, and no process makes another in its place', async (t) => {
  const { log } = await openTestStores(t);
  t.truthy(await openPersonalKeys(log, SECRET).make('user/ada'));
  await log.deleteStream(personalKeyStream('user/ada'));
  const keys = openPersonalKeys(log, SECRET);
  t.is(await keys.find('user/ada'), null);
  t.is(await keys.make('user/ada'), null);
});

/** The store, which counts its reads of streams and holds back what each found until `until` has resolved. */
function watchedReads(store: EventStore, until: Promise<void> = nextTurn()) {
  const count = { reads: 0 };
  const readStream: EventStore['readStream'] = async function* (...args) {
    count.reads++;
    const events = await Array.fromAsync(store.readStream(...args));
    await until;
    yield* events;
  };
  const bound = (name: string | symbol) => store[name as keyof EventStore]!.bind(store);
  return { count, store: new Proxy(store, { get: (_, name) => (name === 'readStream' ? readStream : bound(name)) }) };
}

test('a replay reads each key once, and a destroyed one as well', async (t) => {
  const { log: store } = await openTestStores(t);
  const registered = (): NewEvent => ({
    id: randomUUID(),
    type: 'UserUpdated',
    data: { email: 'ada@example.com' },
    metadata: metadataOf(commandContext()),
  });
  const sealing = coded(store);
  for (const user of ['ada', 'bob']) {
    await sealing.append(userStream(user), 'no_stream', Array.from({ length: 120 }, registered));
  }
  await store.deleteStream(personalKeyStream('user/bob'));
  const watched = watchedReads(store);
  const read = await Array.fromAsync(coded(watched.store).readAll({ filter: { types: ['UserUpdated'] } }));
  t.deepEqual(
    read.map(({ stream, revision, data }) => [stream, revision, (data as { email: string | null }).email]),
    ['ada', 'bob'].flatMap((user) =>
      Array.from({ length: 120 }, (_, n) => [userStream(user), n, user === 'ada' ? 'ada@example.com' : null]),
    ),
  );
  t.is(watched.count.reads, 2);
});

test('a key that another process makes during a look for it is not taken for a destroyed one', async (t) => {
  const { log: store } = await openTestStores(t);
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const keys = openPersonalKeys(watchedReads(store, released).store, SECRET);
  const making = keys.make('user/ada');
  // `making` has looked by then: it began first, in the same file.
  const made = await openPersonalKeys(store, SECRET).make('user/ada');
  const finding = keys.find('user/ada');
  release();
  t.deepEqual(await Promise.all([making, finding]), [made, made]);
  t.deepEqual(await keys.make('user/ada'), made);
});

test('a process with another PERSONAL_DATA_KEY gets an error, and does not read an erased user', async (t) => {
  const { log } = await openTestStores(t);
  await openPersonalKeys(log, SECRET).make('service');
  const other = openPersonalKeys(log, Buffer.from('another secret'));
  await t.throwsAsync(other.make('service'), { instanceOf: WrongPersonalDataKey, message: /PERSONAL_DATA_KEY/ });
});

test('an event appended for a user whose key is destroyed holds nothing personal', async (t) => {
  const { log: store } = await openTestStores(t);
  const log = coded(store);
  const created = (): NewEvent => ({
    id: randomUUID(),
    type: 'ApiKeyCreated',
    data: { key_id: 'k', user_id: 'ada', email: 'ada@example.com', name: 'laptop', prefix: 'uc', key_hash: 'h' },
    metadata: metadataOf(commandContext()),
  });
  const stream = apiKeysStream('ada');
  await log.append(stream, 'no_stream', [created()]);
  t.like((await Array.fromAsync(log.readStream(stream)))[0], { data: { email: 'ada@example.com', name: 'laptop' } });
  await log.deleteStream(personalKeyStream('user/ada'));
  await log.append(stream, 0, [created()]);
  const read = await Array.fromAsync(log.readStream(stream));
  t.deepEqual(
    read.map(({ data }) => [(data as { email: null }).email, (data as { name: string }).name]),
    [
      [null, ERASED],
      [null, ERASED],
    ],
  );
  t.false(JSON.stringify(await Array.fromAsync(store.readAll())).includes('laptop'));
});

test('whoever reads on from an event that it has does not have it opened again', async (t) => {
  const { log: store } = await openTestStores(t);
  const reads: string[] = [];
  const watched: EventStore = {
    ...store,
    append: (...args) => store.append(...args),
    readStream(stream, options) {
      reads.push(stream);
      return store.readStream(stream, options);
    },
  };
  const data = (email: string) => ({ user_id: 'ada', email });
  const registered = (email: string): NewEvent => ({
    ...{ id: randomUUID(), type: 'UserRegistered', data: data(email) },
    metadata: metadataOf(commandContext()),
  });
  const [first, second] = [registered('ada@example.com'), registered('ada@example.org')];
  await coded(store).append(userStream('ada'), 'no_stream', [first, second]);
  const known_id = second.id;
  const log = coded(watched);
  await Array.fromAsync(log.readStream(userStream('ada'), { from: 1, known_id }));
  t.deepEqual(reads, [userStream('ada')], 'the key is not read');
  const [one, two] = await Array.fromAsync(log.readStream(userStream('ada'), { known_id: first.id }));
  t.is(one!.id, first.id);
  t.deepEqual(two!.data, data('ada@example.org'));
});
