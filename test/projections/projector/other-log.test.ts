// The projector notices a log that is not the source of the documents, at the start and while it runs, and rebuilds the
// documents from it.
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { openSqliteDocuments } from '../../../adapters/documents/sqlite/sqlite-documents.ts';
import { openSqliteEventStore } from '../../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { identifyLog } from '../../../commands/log-identity.ts';
import { BEGINNING, type EventStore } from '../../../events/event-store.ts';
import { checksStream, jobStream } from '../../../events/streams.ts';
import type { Documents } from '../../../readmodels/documents.ts';
import { PROJECTOR, projectionStates, projectorStates } from '../../../readmodels/projection-state.ts';
import { openReadModels } from '../../../readmodels/read-models.ts';
import { over } from '../../support/over.ts';
import { project, silent } from '../../support/stores.ts';
import { count, counting, startProjector, tallies, tally } from '../../support/tallies.ts';

interface World {
  documents: Documents;
  /** Closes the open log, and opens the log of that file. */
  open(name: string): Promise<EventStore>;
  /** Copies the closed log of a file. */
  copy(from: string, to: string): Promise<void>;
}

async function openWorld(t: ExecutionContext): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-other-log-'));
  const documents = await openSqliteDocuments({ path: join(folder, 'documents.db') });
  let log: EventStore | null = null;
  t.teardown(async () => {
    await log?.close();
    await documents.close();
    await rm(folder, { recursive: true, force: true });
  });
  return {
    documents,
    async open(name) {
      await log?.close();
      log = await openSqliteEventStore({ path: join(folder, name) });
      return log;
    },
    async copy(from, to) {
      await log?.close();
      await copyFile(join(folder, from), join(folder, to));
    },
  };
}

const idOf = (log: EventStore) => identifyLog(log, 'process:test', Date.now());
const logIdOf = async (documents: Documents) => (await documents.reading(projectorStates).get(PROJECTOR))?.log_id;

/** A projection that shows when an event is applied twice. */
const assertMadeAnew = async (t: ExecutionContext, { documents }: World, log: EventStore, expected: number) => {
  await project({ log, documents }, [counting(1, 1)]);
  t.is(await tally({ documents }), expected);
  t.is(await logIdOf(documents), await idOf(log));
  await count(log, 1);
  await project({ log, documents }, [counting(1, 1)]);
  t.is(await tally({ documents }), expected + 1, 'what comes then is seen');
};

test('a log has one id, whichever of many processes asks first', async (t) => {
  const world = await openWorld(t);
  const log = await world.open('events.db');
  const ids = await Promise.all(Array.from({ length: 5 }, () => idOf(log)));
  t.is(new Set(ids).size, 1);
  t.not(await idOf(await world.open('other.db')), ids[0]);
});

test('an unchanged log keeps its documents', async (t) => {
  const world = await openWorld(t);
  const log = await world.open('events.db');
  await count(log, 3);
  const applied: number[] = [];
  for (let starts = 0; starts < 3; starts++) {
    await project({ log, documents: world.documents }, [counting(1, 1, (n) => applied.push(n))]);
  }
  t.deepEqual(applied, [3]);
});

test('a replaced log gets new documents', async (t) => {
  const world = await openWorld(t);
  const before = await world.open('events.db');
  await count(before, 5);
  await project({ log: before, documents: world.documents }, [counting(1, 1)]);
  const after = await world.open('other.db');
  await count(after, 7);
  await assertMadeAnew(t, world, after, 7);
});

test('an emptied log leaves no documents', async (t) => {
  const world = await openWorld(t);
  const before = await world.open('events.db');
  await count(before, 5);
  await project({ log: before, documents: world.documents }, [counting(1, 1)]);
  const after = await world.open('empty.db');
  await project({ log: after, documents: world.documents }, [counting(1, 1)]);
  t.is(await tally(world), undefined);
});

for (const dropped of [projectorStates.name, projectionStates.name, 'tallies_1']) {
  test(`the next start rebuilds the documents when ${dropped} was dropped, and counts no event twice`, async (t) => {
    const world = await openWorld(t);
    const log = await world.open('events.db');
    await count(log, 5);
    await project({ log, documents: world.documents }, [counting(1, 1)]);
    await world.documents.drop(dropped);
    await assertMadeAnew(t, world, log, 5);
  });
}

test('the next start begins a build again of which a collection was dropped', async (t) => {
  const world = await openWorld(t);
  const log = await world.open('events.db');
  await count(log, 5);
  await project({ log, documents: world.documents }, [counting(1, 1)]);
  const states = await world.documents.collection(projectionStates);
  const [built] = await states.find({});
  const next = { version: 1, generation: 2, checkpoint: await log.head(), parked: 0 };
  await states.write([{ update: built!._id, set: { $set: { next } } }]);
  await assertMadeAnew(t, world, log, 5);
});

for (const grown of [0, 1, 4]) {
  test(`the projector notices a restored log that has grown by ${grown} since`, async (t) => {
    const world = await openWorld(t);
    const log = await world.open('events.db');
    await idOf(log);
    await count(log, 2);
    await world.copy('events.db', 'backup.db');
    const again = await world.open('events.db');
    await count(again, 2);
    await project({ log: again, documents: world.documents }, [counting(1, 1)]);
    const restored = await world.open('backup.db');
    await count(restored, grown);
    await assertMadeAnew(t, world, restored, 2 + grown);
  });
}

test('the purged results of a deleted job do not count as another log', async (t) => {
  const world = await openWorld(t);
  const log = await world.open('events.db');
  const metadata = {
    command_id: '5d6f0a52-51f5-4c55-8f0f-6f6f5b0f7c1e',
    causation_id: 'test',
    actor: 'test',
    at: '2026-01-01T00:00:00Z',
  };
  const event = (type: string, n: number) => ({
    id: `5d6f0a52-51f5-4c55-8f0f-6f6f5b0f7c0${n}`,
    type,
    data: {},
    metadata,
  });
  await log.append(jobStream('a'), 'no_stream', [event('JobDeleted', 1)]);
  await log.append(checksStream('a', 0), 'no_stream', [event('Counted', 2)]);
  await project({ log, documents: world.documents }, [counting(1, 1)]);
  await log.deleteStream(checksStream('a', 0));
  const applied: number[] = [];
  await project({ log, documents: world.documents }, [counting(1, 1, (n) => applied.push(n))]);
  t.deepEqual(applied, []);
});

test('the projector notices a log that is replaced while it runs', async (t) => {
  const world = await openWorld(t);
  const { documents } = world;
  const log = await world.open('events.db');
  await count(log, 3);
  let log_id = await idOf(log);
  const clock = { ms: 0 };
  const stop = new AbortController();
  const noticed = Promise.withResolvers<void>();
  const logger = Object.assign(Object.create(silent), { warn: () => noticed.resolve() });
  const running = startProjector({ log, documents }, [counting(1, 1)], stop.signal, {
    log_id: async () => log_id,
    monotonic: () => (clock.ms += 10_000),
    logger,
  });
  await openReadModels(documents).passed(await log.head(), 10_000);
  log_id = '5d6f0a52-51f5-4c55-8f0f-6f6f5b0f7c1e';
  await noticed.promise;
  stop.abort();
  await running;
  t.pass();
});

test('nobody reads documents of another log, or incomplete documents', async (t) => {
  const world = await openWorld(t);
  const { documents } = world;
  const log = await world.open('events.db');
  await count(log, 3);
  await project({ log, documents }, [counting(1, 1)]);
  let log_id = await idOf(log);
  const readmodels = openReadModels(documents, {
    log_id: async () => log_id,
    monotonic: () => performance.now() * 1e6,
  });
  const found = readmodels.collection(tallies);
  t.is((await found.get('all'))?.n, 3);
  log_id = 'another';
  const unaware = openReadModels(documents, { log_id: async () => log_id });
  await t.throwsAsync(unaware.collection(tallies).get('all'), { code: 'unavailable' });
  await t.throwsAsync(unaware.position(), { code: 'unavailable' });
  t.false(await unaware.passed(BEGINNING, 0));

  log_id = (await logIdOf(documents))!;
  const states = await documents.collection(projectorStates);
  await states.write([{ update: PROJECTOR, set: { $set: { catching_up_to: 'z' } } }]);
  await t.throwsAsync(found.get('all'), { code: 'unavailable' });
  await project({ log, documents }, [counting(1, 1)]);
  t.is((await found.get('all'))?.n, 3, 'the projector sees that nothing is missing');
});

test('a projector that takes over at the first events of a log lets everybody read on', async (t) => {
  const { documents, open } = await openWorld(t);
  const log = await open('events.db');
  await project({ log, documents }, [counting(1, 1)]);
  const readmodels = openReadModels(documents, { log_id: () => idOf(log) });
  t.is(await readmodels.position(), BEGINNING);
  await count(log, 3);
  const [began, going_on] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const slow = over(log, {
    async *subscribe(options) {
      began.resolve();
      await going_on.promise;
      yield* log.subscribe(options);
    },
  });
  const stop = new AbortController();
  const running = startProjector({ log: slow, documents }, [counting(1, 1)], stop.signal, { log_id: () => idOf(log) });
  await began.promise;
  t.is(await readmodels.collection(tallies).get('all'), null, 'as it was before these events');
  going_on.resolve();
  t.true(await readmodels.passed(await log.head(), 10_000));
  t.is((await readmodels.collection(tallies).get('all'))?.n, 3);
  stop.abort();
  await running;
});
