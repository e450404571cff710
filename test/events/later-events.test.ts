// A mixed fleet: a later version of the service appends events that this one cannot read. This one continues with the others, decides nothing on
// their streams, names them, and has all of them when it is of that version.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { AUDITED, openLedgerAudit } from '../../audit/ledger-audit.ts';
import { metadataOf } from '../../commands/aggregate.ts';
import { openUserAggregate, see } from '../../commands/users/user.ts';
import { entryHash } from '../../events/credits.ts';
import type { EventStore, NewEvent } from '../../events/event-store.ts';
import { categoryOf, userStream } from '../../events/streams.ts';
import { EventFromLater } from '../../events/unreadable.ts';
import { EVENT_TYPES, type EventType, VOCABULARY } from '../../events/vocabulary.ts';
import { ALL_PROJECTIONS } from '../../projections/all.ts';
import { parkedEvents } from '../../readmodels/projection-state.ts';
import { openReadModels } from '../../readmodels/read-models.ts';
import { userList } from '../../readmodels/users/user-list.ts';
import { appendCheckedJob } from '../support/checked-job.ts';
import { assertSameDocuments } from '../support/ledger.ts';
import { coded, commandContext, openTestStores, project, type TestStores } from '../support/stores.ts';
import { count, counting, tally } from '../support/tallies.ts';

const LATER = 9;
/** The vocabulary of the later version, which changes no shape. */
const LATER_TYPES = Object.fromEntries(
  Object.entries(EVENT_TYPES).map(([type, spec]) => [
    type,
    { ...spec, upcasters: Array.from({ length: LATER - 1 }, () => (data: unknown) => data) },
  ]),
) as unknown as typeof EVENT_TYPES;

interface Line {
  stream: string;
  type: EventType;
  data: unknown;
  metadata: { version?: number };
}
const golden = readFileSync(join(import.meta.dirname, '../golden/0.1.0.ndjson'), 'utf8')
  .trimEnd()
  .split('\n');

/** Appends an event of each type, each to a stream of its own, in the version of the later service. */
async function addLaterEvents(log: EventStore): Promise<string[]> {
  const examples = new Map(golden.map((line) => JSON.parse(line) as Line).map((line) => [line.type, line]));
  const streams: string[] = [];
  for (const { stream, type, data, metadata } of examples.values()) {
    const own = `${categoryOf(stream)}-${randomUUID()}${categoryOf(stream) === 'checks' ? '-0' : ''}`;
    const later = { ...metadata, version: LATER } as never;
    await log.append(own, 'no_stream', [hashed(own, { id: randomUUID(), type, data, metadata: later })]);
    streams.push(own);
  }
  return streams;
}

/** An entry of a ledger is hashed by every version. */
function hashed(stream: string, event: NewEvent): NewEvent {
  if (categoryOf(stream) !== 'credits') return event;
  const hash = entryHash('', { ...event, stream, revision: 0 } as never);
  return { ...event, data: { ...(event.data as object), hash } };
}

const seen = (log: EventStore, user_id: string) =>
  openUserAggregate(log).handle(userStream(user_id), commandContext(), (user) =>
    see(user, { user_id, email: `${user_id}@example.com` }),
  );
const knows = async ({ documents }: TestStores, user_id: string) =>
  (await openReadModels(documents).collection(userList).get(user_id)) !== null;
const parked = ({ documents }: TestStores) => documents.reading(parkedEvents).find({}, { limit: 10_000 });

for (const is_live of [false, true]) {
  test(`events of a later version of every type stop no ${is_live ? 'live' : 'new'} read model, and are in all when that version starts`, async (t) => {
    const stores = await openTestStores(t);
    const older = { ...stores, log: coded(stores.log) };
    await seen(older.log, 'alice');
    if (is_live) await project(older);
    const streams = await addLaterEvents(stores.log);
    t.is(streams.length, Object.keys(EVENT_TYPES).length);
    await seen(older.log, 'bob');
    await project(older);
    for (const user_id of ['alice', 'bob']) t.true(await knows(stores, user_id), user_id);
    const found = await parked(stores);
    t.true(found.every(({ later, stream }) => later?.version === LATER && streams.includes(stream)));
    const taken = new Set(ALL_PROJECTIONS.flatMap(({ types }) => types));
    t.deepEqual([...taken.difference(new Set(found.map(({ type }) => type)))], []);
    for (const stream of streams)
      await t.throwsAsync(Array.fromAsync(older.log.readStream(stream)), { instanceOf: EventFromLater });

    const log = coded(stores.log, LATER_TYPES);
    await project({ ...stores, log });
    t.deepEqual(
      (await parked(stores)).filter(({ later }) => later !== undefined),
      [],
    );
    const anew = await openTestStores(t);
    await project({ log, documents: anew.documents });
    await assertSameDocuments(t, stores.documents, anew.documents);
  });
}

test('the URLs of a job whose listing is of a later version come with that version', async (t) => {
  const [{ log: written }, stores] = [await openTestStores(t), await openTestStores(t)];
  await appendCheckedJob(written, { urls: 30, hosts: 3, owner_id: 'alice' });
  for await (const { stream, revision, position: _, ...event } of written.readAll()) {
    const metadata = event.type === 'UrlsListed' ? { ...event.metadata, version: LATER } : event.metadata;
    await stores.log.append(stream, revision === 0 ? 'no_stream' : revision - 1, [{ ...event, metadata }]);
  }
  await project({ ...stores, log: coded(stores.log) });
  t.true((await parked(stores)).some(({ type, later }) => type === 'URLChecked' && later?.type === 'UrlsListed'));
  const log = coded(stores.log, LATER_TYPES);
  await project({ ...stores, log });
  t.deepEqual(await parked(stores), []);
  const anew = await openTestStores(t);
  await project({ log, documents: anew.documents });
  await assertSameDocuments(t, stores.documents, anew.documents);
});

test('a read model that an older version went on without a type gets its events from the version that takes it', async (t) => {
  const stores = await openTestStores(t);
  const older = counting(1, 1);
  const later = { ...older, types: ['Counted', 'Recounted'] };
  const recount = () =>
    stores.log.append(`count-${randomUUID()}`, 'no_stream', [
      { id: randomUUID(), type: 'Recounted', data: {}, metadata: metadataOf(commandContext()) },
    ]);
  await count(stores.log, 2);
  await project(stores, [later]);
  await project(stores, [older]);
  await recount();
  await count(stores.log, 0);
  await project(stores, [older]);
  t.is(await tally(stores), 2);
  await project(stores, [later]);
  t.is(await tally(stores), 3);
  await recount();
  await project(stores, [later]);
  t.is(await tally(stores), 4, 'and once each');
});

test('a parked event whose stream is deleted hides no other of its kind', async (t) => {
  const stores = await openTestStores(t);
  const older = { ...stores, log: coded(stores.log) };
  const users = ['first', 'second'];
  for (const user_id of users) {
    const [data, metadata] = [
      { user_id, email: null },
      { ...metadataOf(commandContext()), version: LATER },
    ];
    const registered = { id: randomUUID(), type: 'UserRegistered', data, metadata };
    await stores.log.append(userStream(user_id), 'no_stream', [registered]);
  }
  await project(older);
  t.is((await parked(stores)).filter(({ projection }) => projection === 'user_list').length, 2);
  await stores.log.deleteStream(userStream('first'));
  await project({ ...stores, log: coded(stores.log, LATER_TYPES) });
  t.true(await knows(stores, 'second'));
});

test('no decision is made on a stream with a type that this version does not know', async (t) => {
  const { log: store } = await openTestStores(t);
  const log = coded(store);
  for (const category of Object.keys(VOCABULARY)) {
    const stream = `${category}-alice`;
    const event = { id: randomUUID(), type: 'Renamed', data: {}, metadata: metadataOf(commandContext()) };
    await store.append(stream, 'no_stream', [event]);
    await t.throwsAsync(Array.fromAsync(log.readStream(stream)), {
      instanceOf: EventFromLater,
      code: 'unavailable',
      message: `${stream} 0: Renamed is a type that this service does not know: start the later service`,
    });
  }
  await t.throwsAsync(seen(log, 'alice'), { code: 'unavailable' });
});

test('the audit counts what a later version wrote, and calls it no violation', async (t) => {
  const { log } = await openTestStores(t);
  await addLaterEvents(log);
  for (const category of AUDITED) {
    const stream = `${category}-${randomUUID()}${category === 'checks' ? '-0' : ''}`;
    await log.append(stream, 'no_stream', [
      hashed(stream, { id: randomUUID(), type: 'Renamed', data: {}, metadata: metadataOf(commandContext()) }),
    ]);
  }
  const audit = openLedgerAudit({ found: (violation) => t.fail(JSON.stringify(violation)) });
  let events = 0;
  for await (const event of log.readAll({ filter: { categories: AUDITED } })) {
    audit.take(event);
    events += 1;
  }
  t.like(audit.finish(), { later: events, violations: 0 });
  audit.close();
});
