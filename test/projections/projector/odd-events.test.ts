// Events of every type in shapes that another program wrote, and events whose bytes were changed: the projections park what they cannot take,
// and every other event counts.
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test, { type ExecutionContext } from 'ava';
import { openSqliteEventStore } from '../../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { metadataOf } from '../../../commands/aggregate.ts';
import { identifyLog } from '../../../commands/log-identity.ts';
import { openUserAggregate, see } from '../../../commands/users/user.ts';
import type { EventStore, Metadata, RecordedEvent } from '../../../events/event-store.ts';
import { userStream } from '../../../events/streams.ts';
import { setTracer } from '../../../events/tracing.ts';
import { VOCABULARY } from '../../../events/vocabulary.ts';
import { jobs } from '../../../readmodels/jobs/jobs.ts';
import { parkedEvents } from '../../../readmodels/projection-state.ts';
import { openReadModels } from '../../../readmodels/read-models.ts';
import { userList } from '../../../readmodels/users/user-list.ts';
import { appendCheckedJob } from '../../support/checked-job.ts';
import { coded, commandContext, openTestStores, project, type TestStores } from '../../support/stores.ts';

// The causes of a step are the metadata of its events.
setTracer({ run: (_, work) => work({ rename() {}, set() {}, fail() {} }), traceparent: () => undefined });

const metadata = metadataOf({ ...commandContext(), command_id: 'odd' });
const ODD: readonly { data: unknown; metadata: Metadata }[] = [
  ...[null, [], {}, { job_id: 'odd', from_index: 0, response_times_ms: 7, urls: [7], domains: null }].map((data) => ({
    data,
    metadata,
  })),
  ...[null, 'text'].map((odd) => ({ data: { urls: ['http://a.example/'] }, metadata: odd as unknown as Metadata })),
];

/** Appends an event of each type in each odd shape, each to a stream of its own. */
async function addOddEvents(log: EventStore): Promise<void> {
  for (const [category, types] of Object.entries(VOCABULARY))
    for (const type of Object.keys(types))
      for (const [n, odd] of ODD.entries()) {
        const stream = `${category}-odd-${type}${n}${category === 'checks' ? '-0' : ''}`;
        await log.append(stream, 'no_stream', [{ id: randomUUID(), type, ...odd }]);
      }
}

const seen = (log: EventStore, user_id: string) =>
  openUserAggregate(coded(log)).handle(userStream(user_id), commandContext(), (user) =>
    see(user, { user_id, email: `${user_id}@example.com` }),
  );

const listed = async ({ documents }: TestStores) =>
  (
    await openReadModels(documents)
      .collection(userList)
      .find({}, { sort: { _id: 1 } })
  )
    .map(({ _id }) => _id)
    .filter((id) => !id.startsWith('odd'));

for (const [mode, is_live] of [
  ['built', false],
  ['live', true],
] as const) {
  test(`odd events of every type stop no ${mode} read model`, async (t) => {
    const stores = await openTestStores(t);
    const projected = { ...stores, log: coded(stores.log) };
    await seen(stores.log, 'alice');
    if (is_live) await project(projected);
    await addOddEvents(stores.log);
    await seen(stores.log, 'bob');
    await project(projected);
    t.deepEqual(await listed(stores), ['alice', 'bob']);
    const parked = await stores.documents.reading(parkedEvents).find({}, { limit: 10_000 });
    t.true(parked.length > 0);
    t.deepEqual(
      parked.filter(({ stream }) => !/-odd-/.test(stream)),
      [],
    );
    for (const type of ['DomainsChecked', 'UserUpdated', 'JobCreated'])
      t.true(
        parked.some((event) => event.type === type),
        type,
      );
  });
}

/** The documents of a log in which the data of a checked job's events are changed. */
async function changedJob(t: ExecutionContext, changed: (event: RecordedEvent) => unknown) {
  const { log } = await openTestStores(t);
  const job_id = await appendCheckedJob(log, { urls: 30, hosts: 3, owner_id: 'alice' });
  const stores = await openTestStores(t);
  for await (const event of log.readAll()) {
    const { stream, revision, id, type, metadata } = event;
    const expected = revision === 0 ? 'no_stream' : revision - 1;
    await stores.log.append(stream, expected, [{ id, type, data: changed(event), metadata }]);
  }
  await project({ ...stores, log: coded(stores.log) });
  return { job_id, stores };
}

test('a damaged range is parked, and the other ranges of its job count', async (t) => {
  const { job_id, stores } = await changedJob(t, ({ stream, data }) => (/^checks-.*-1$/.test(stream) ? null : data));
  t.like(await openReadModels(stores.documents).collection(jobs).get(job_id), { completed_urls: 20 });
  const parked = await stores.documents.reading(parkedEvents).find({ projection: 'jobs' });
  t.deepEqual(
    parked.map(({ type, stream }) => [type, stream]),
    [['URLChecked', `checks-${job_id}-1`]],
  );
});

for (const odd of [{ batch_size: 0 }, { batch_size: null }, { total_urls: 1e308 }, { credits_allocated: -1 }]) {
  test(`a job with ${JSON.stringify(odd)} is parked, because nothing could count its batches`, async (t) => {
    const { job_id, stores } = await changedJob(t, ({ type, data }) =>
      type === 'JobCreated' ? { ...(data as object), ...odd } : data,
    );
    t.is(await openReadModels(stores.documents).collection(jobs).get(job_id), null);
    const parked = await stores.documents.reading(parkedEvents).find({ projection: 'jobs' });
    t.deepEqual(
      parked.map(({ type }) => type),
      ['JobCreated'],
    );
  });
}

test('events with a changed byte are parked', async (t) => {
  const stores = await openTestStores(t);
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-odd-'));
  const path = join(folder, 'events.db');
  const log = await openSqliteEventStore({ path });
  t.teardown(async () => {
    await log.close();
    await rm(folder, { recursive: true });
  });
  const log_id = await identifyLog(log, 'process:test', 0);
  for (const user of ['alice', 'eve', 'mallory', 'bob']) await seen(log, user);
  const db = new DatabaseSync(path);
  db.exec(`UPDATE events SET data = '{' WHERE type = 'LogIdentified' OR data LIKE '%"eve"%'`);
  db.exec(`UPDATE events SET metadata = '{' WHERE data LIKE '%"mallory"%'`);
  db.close();
  await project({ documents: stores.documents, log: coded(log) });
  t.is(await identifyLog(coded(log), 'process:test', 0), log_id);
  t.deepEqual(await listed(stores), ['alice', 'bob']);
  const parked = await stores.documents.reading(parkedEvents).find({ projection: 'users' });
  t.deepEqual(parked.map(({ stream }) => stream).sort(), ['user-eve', 'user-mallory']);
});
