import { randomUUID } from 'node:crypto';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import test from 'ava';
import { Type } from 'typebox';
import { metadataOf } from '../../commands/aggregate.ts';
import { InvalidEvent } from '../../events/codec.ts';
import { event as eventSpec } from '../../events/event-spec.ts';
import type { NewEvent, RecordedEvent } from '../../events/event-store.ts';
import { EventFromLater } from '../../events/unreadable.ts';
import { USER_EVENTS } from '../../events/user.ts';
import { EVENT_TYPES, VOCABULARY } from '../../events/vocabulary.ts';
import { coded, commandContext, openTestStores } from '../support/stores.ts';

const event = (type: string, data: unknown): NewEvent => ({
  id: randomUUID(),
  type,
  data,
  metadata: metadataOf(commandContext()),
});

const REGISTERED = { user_id: 'alice', email: 'alice@example.com' };

test('an event of the shape that the vocabulary gives its type is appended and read as it is', async (t) => {
  const log = coded((await openTestStores(t)).log);
  const registered = event('UserRegistered', REGISTERED);
  t.true((await log.append('user-alice', 'no_stream', [registered])).ok);
  const [read] = await Array.fromAsync(log.readStream('user-alice'));
  t.like(read, registered);
  t.false('version' in read!.metadata);
});

test('an event without the shape of its type is refused, and nothing of its append is stored', async (t) => {
  const { log: store } = await openTestStores(t);
  const log = coded(store);
  const append = log.append('user-alice', 'no_stream', [
    event('UserRegistered', REGISTERED),
    event('UserRegistered', { ...REGISTERED, email: 7 }),
  ]);
  t.regex((await t.throwsAsync(append, { instanceOf: InvalidEvent }))!.message, /^UserRegistered\/email must be/);
  t.deepEqual(await Array.fromAsync(store.readStream('user-alice')), []);
});

test('an entry of the ledger that takes credits cannot add any', async (t) => {
  const log = coded((await openTestStores(t)).log);
  const recovery = { transaction_id: 'recovery:a', transaction_type: 'recovery', reference_id: 'a', balance_after: 0 };
  const append = (amount: number) =>
    log.append('credits-alice', 'no_stream', [
      event('CreditsRecovered', { ...recovery, amount, hash: '0'.repeat(64), parts: [] }),
    ]);
  t.regex((await t.throwsAsync(append(5), { instanceOf: InvalidEvent }))!.message, /^CreditsRecovered\/amount must be/);
  t.true((await append(-5)).ok);
});

test('an event of a type that the vocabulary lacks is refused', async (t) => {
  const log = coded((await openTestStores(t)).log);
  for (const type of ['UserRenamed', 'constructor', '__proto__']) {
    await t.throwsAsync(log.append('user-alice', 'no_stream', [event(type, REGISTERED)]), { code: 'invalid_event' });
  }
});

test('events of every past version are read in the shape of today, by each way to read', async (t) => {
  const { log: store } = await openTestStores(t);
  const UserRegistered = eventSpec(
    { ...USER_EVENTS.UserRegistered.schema.properties, steps: Type.Array(Type.Integer()) },
    (data) => ({ ...(data as object), step: 1 }),
    (data) => ({ ...(data as object), steps: [(data as { step: number }).step, 2] }),
  );
  const [v1, v2] = [event('UserRegistered', REGISTERED), event('UserRegistered', { ...REGISTERED, step: 7 })];
  v2.metadata = { ...v2.metadata, version: 2 };
  await store.append('user-alice', 'no_stream', [v1, v2]);
  const log = coded(store, { ...EVENT_TYPES, UserRegistered });
  t.true((await log.append('user-alice', 1, [event('UserRegistered', { ...REGISTERED, steps: [9] })])).ok);

  const steps = [[1, 2], [7, 2], [9]];
  const stepsOf = (events: readonly { data: unknown }[]) =>
    events.map(({ data }) => (data as { steps: number[] }).steps);
  t.deepEqual(stepsOf(await Array.fromAsync(log.readStream('user-alice'))), steps);
  const users = { categories: ['user'] };
  t.deepEqual(stepsOf(await Array.fromAsync(log.readAll({ filter: users }))), steps);
  const subscribed: { data: unknown }[] = [];
  const done = new AbortController();
  for await (const { events } of log.subscribe({ filter: users, signal: done.signal })) {
    subscribed.push(...events);
    if (subscribed.length === steps.length) done.abort();
  }
  t.deepEqual(stepsOf(subscribed), steps);
  const [, , v3] = await Array.fromAsync(store.readStream('user-alice'));
  t.is(v3!.metadata.version, 3);
});

for (const version of [2, 0, 1.5, Number.MAX_SAFE_INTEGER]) {
  test(`an event of version ${version}, which nobody knows, ends the read of its stream, and is unreadable in the log`, async (t) => {
    const { log: store } = await openTestStores(t);
    const log = coded(store);
    const later = event('UserRegistered', REGISTERED);
    await store.append('user-alice', 'no_stream', [{ ...later, metadata: { ...later.metadata, version } }]);
    const expected = { instanceOf: EventFromLater, code: 'unavailable', message: /^user-alice 0: UserRegistered / };
    await t.throwsAsync(Array.fromAsync(log.readStream('user-alice')), expected);
    const [in_log] = await Array.fromAsync(log.readAll());
    const done = new AbortController();
    const subscribed: RecordedEvent[] = [];
    for await (const { events } of log.subscribe({ signal: done.signal })) {
      subscribed.push(...events);
      if (subscribed.length > 0) done.abort();
    }
    for (const each of [in_log!, ...subscribed]) {
      t.is(each.type, 'UserRegistered');
      t.throws(() => each.data, expected);
    }
  });
}

test('a type belongs to one category: its name says all', (t) => {
  const types = Object.values(VOCABULARY).flatMap((category) => Object.keys(category));
  t.deepEqual(types.toSorted(), Object.keys(EVENT_TYPES).toSorted());
});

test('every schema of the vocabulary is a JSON Schema, and knows no word that the validator would pass over', (t) => {
  const ajv = new Ajv2020({ strict: true, strictTypes: false });
  addFormats.default(ajv);
  for (const [type, { schema }] of Object.entries(EVENT_TYPES)) t.notThrows(() => ajv.compile(schema), type);
});
