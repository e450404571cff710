// Two projectors over one store count every event once, wherever one of them stops and however long it sleeps.
// A store's test enrols with one line.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext, TestFn } from 'ava';
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import type { EventStore } from '../../events/event-store.ts';
import type { OpenCollection, Projection } from '../../projections/projection.ts';
import { insertInside } from '../../projections/projector/insert.ts';
import { type Document, kept, readById, TransactionTooLarge } from '../../readmodels/documents.ts';
import { parkedEvents, requestRebuild } from '../../readmodels/projection-state.ts';
import { openReadModels } from '../../readmodels/read-models.ts';
import { until } from '../support/behind.ts';
import { stoppedAt } from '../support/stopped-documents.ts';
import { project, silent, type TestStores } from '../support/stores.ts';
import { count, counting, startProjector, tallies, tally } from '../support/tallies.ts';
import { type Fixture, sentences } from './documents/fixture.ts';

const EVENTS_BEFORE = 3;
const EVENTS_MEANWHILE = 2;
const EVENTS_AFTER = 1;
const ALL_EVENTS = EVENTS_BEFORE + EVENTS_MEANWHILE + EVENTS_AFTER;

/** One for each event that is applied; its id is the event's revision. */
const rows = readById<Document>('rows', kept('1 kB', 'never', 'none'));

/** Counts events, and inserts a row for each. */
function listing(version: number, weight: number): Projection {
  const { collections, apply, ...all } = counting(version, weight);
  return {
    ...all,
    collections: [...collections, rows],
    async retract({ revision }, open) {
      await (await open(rows)).write([{ delete: String(revision) }]);
    },
    async apply(events, open, _urls_of, inserts = insertInside(open)) {
      await inserts.insert(
        rows,
        events.map(({ revision }) => ({ _id: String(revision) })),
      );
      await inserts.stored();
      await apply(events, open);
    },
  };
}

const rowsOf = async ({ documents }: TestStores) => {
  const found = await openReadModels(documents).collection(rows).find({});
  return found.map(({ _id }) => Number(_id));
};

/** The rows that are left when all events are applied: those of the last two. */
const LEFT = [ALL_EVENTS - 2, ALL_EVENTS - 1];

/**
 * Each event has its own transaction, so that a projector can sleep between any two. It deletes the row of the event before the last
 * one: a projector that writes too late would bring it back.
 */
function oneByOne(version: number, weight: number): Projection {
  const { apply, ...all } = listing(version, weight);
  return {
    ...all,
    isHeavy: () => true,
    async apply(events, open, urls_of, inserts) {
      await apply(events, open, urls_of, inserts);
      await (await open(rows)).write(events.map(({ revision }) => ({ delete: String(revision - 2) })));
    },
  };
}

interface Interleaving {
  /** The projections of the projector that sleeps. */
  sleeper: Projection;
  /** The projections that the other projector runs to its end while the first one sleeps. */
  other: Projection;
  /** Prepares the documents before both start. */
  before?: (stores: TestStores) => Promise<void>;
  /** Whether the sleeper is stopped while it sleeps. Else it goes on as if nothing had happened. */
  wakes: 'to stop' | 'to go on';
}

export function projectorContract(test: TestFn, name: string, fixture: Fixture): void {
  const sentence = sentences(test, name, fixture);

  /** Opens the log of a place, with empty documents after `before`. */
  async function interleave(t: ExecutionContext, how: Interleaving): Promise<void> {
    for (let place = 0; ; place++) {
      const opened = await fixture.open();
      const folder = await mkdtemp(join(tmpdir(), 'url-checker-interleaving-'));
      const log = await openSqliteEventStore({ path: join(folder, 'events.db') });
      try {
        const stores: TestStores = { log, documents: opened.documents };
        await count(log, EVENTS_BEFORE);
        await how.before?.(stores);
        const was_reached = await sleepAt(place, stores, how);
        await project(stores, [how.other]);
        t.is(await tally(stores), ALL_EVENTS, `stopped at place ${place}`);
        t.deepEqual(await rowsOf(stores), LEFT, `stopped at place ${place}`);
        if (!was_reached) {
          t.true(place > 2 * EVENTS_BEFORE, 'there are places to stop at');
          return;
        }
      } finally {
        await log.close();
        await opened.close();
        await rm(folder, { recursive: true, force: true });
      }
    }
  }

  /** False when the sleeper completes its work before it reaches the place. */
  async function sleepAt(place: number, stores: TestStores, how: Interleaving): Promise<boolean> {
    const { log } = stores;
    let end = await log.head();
    const stop = new AbortController();
    const overtaken = Promise.withResolvers<void>();
    let finished = Promise.withResolvers<void>();
    const sleeper = stoppedAt(stores.documents, place);
    const running = startProjector({ log, documents: sleeper.documents }, [how.sleeper], stop.signal, {
      logger: Object.assign(Object.create(silent), {
        info: (text: unknown) => String(text).startsWith('another projector') && overtaken.resolve(),
      }),
      advanced: (position, is_building) => position >= end && !is_building && finished.resolve(),
    });
    const was_reached = await Promise.race([sleeper.stopped.then(() => true), finished.promise.then(() => false)]);
    await count(log, EVENTS_MEANWHILE);
    await project(stores, [how.other]);
    if (how.wakes === 'to stop') stop.abort();
    sleeper.goOn();
    await count(log, EVENTS_AFTER);
    // Only a sleeper that had not begun may write, as soon as it gets the last event.
    end = await log.head();
    finished = Promise.withResolvers();
    if (how.wakes === 'to go on') await Promise.race([overtaken.promise, finished.promise]);
    stop.abort();
    await running;
    return was_reached;
  }

  const rebuilt = async (stores: TestStores) => {
    await project(stores, [oneByOne(1, 1)]);
    await requestRebuild(stores.documents, 'tallies');
  };
  const both = { sleeper: oneByOne(1, 1), other: oneByOne(1, 1) };

  sentence('a projector that sleeps at any point of its live run counts every event once', async (t) => {
    await interleave(t, { ...both, wakes: 'to go on' });
  });
  sentence('a projector that sleeps at any point of a build counts every event once', async (t) => {
    await interleave(t, { ...both, before: rebuilt, wakes: 'to go on' });
  });
  sentence('the next projector continues a build that was stopped at any point', async (t) => {
    await interleave(t, { ...both, before: rebuilt, wakes: 'to stop' });
  });
  sentence('a projector of an older version that sleeps past a flip loses nothing', async (t) => {
    await interleave(t, { sleeper: oneByOne(1, 10), other: oneByOne(2, 1), wakes: 'to go on' });
  });

  sentence(
    'a collection that an event makes again after a drop is rebuilt from the whole log',
    async (t, { documents }) => {
      const folder = await mkdtemp(join(tmpdir(), 'url-checker-dropped-'));
      const log = await openSqliteEventStore({ path: join(folder, 'events.db') });
      const stores: TestStores = { log, documents };
      const stop = new AbortController();
      const clock = { ms: 0 };
      try {
        await count(log, EVENTS_BEFORE);
        await project(stores, [listing(1, 1)]);
        const running = startProjector(stores, [listing(1, 1)], stop.signal, { monotonic: () => clock.ms });
        await count(log, EVENTS_MEANWHILE);
        await until(async () => (await tally(stores)) === EVENTS_BEFORE + EVENTS_MEANWHILE);
        for (const { name } of [tallies, rows]) await documents.drop(`${name}_1`);
        await count(log, EVENTS_AFTER);
        await until(async () => (await tally(stores)) === EVENTS_AFTER);
        t.deepEqual(await rowsOf(stores), [ALL_EVENTS - 1]);
        await until(async () => {
          clock.ms += 10_000;
          return (await tally(stores)) === ALL_EVENTS;
        });
        t.is((await rowsOf(stores)).length, ALL_EVENTS);
        stop.abort();
        await running;
      } finally {
        stop.abort();
        await log.close();
        await rm(folder, { recursive: true, force: true });
      }
    },
  );

  for (const [when, taken_at_once] of Object.entries(STOPS)) {
    sentence(`no event is parked after a projector that was stopped ${when}`, async (t, { documents }) => {
      const folder = await mkdtemp(join(tmpdir(), 'url-checker-catching-up-'));
      const log = await openSqliteEventStore({ path: join(folder, 'events.db') });
      try {
        await count(log, EVENTS_BEFORE);
        const head = await log.head();
        await count(log, ALL_EVENTS - EVENTS_BEFORE);
        const all = listing(1, 1);
        const stop = new AbortController();
        const stopped: Projection = {
          ...all,
          async apply(events, open, urls_of, inserts) {
            await all.apply(events, open, urls_of, inserts);
            if (events.length > taken_at_once) throw new TransactionTooLarge('the cache is full');
            if (events.at(-1)!.revision === ALL_EVENTS - 1) stop.abort();
            stop.signal.throwIfAborted();
          },
        };
        // The events after the first ones come while the documents catch up with those.
        const earlier: EventStore = { ...inBatchesOf(ALL_EVENTS, log), head: async () => head };
        await startProjector({ log: earlier, documents }, [stopped], stop.signal);
        await project({ log: inBatchesOf(1, log), documents }, [all]);
        t.is(await tally({ documents }), ALL_EVENTS);
        t.is((await rowsOf({ log, documents })).length, ALL_EVENTS);
        t.deepEqual(await documents.reading(parkedEvents).find({}), []);
      } finally {
        await log.close();
        await rm(folder, { recursive: true, force: true });
      }
    });
  }

  for (const [what, fails] of Object.entries(POISONS)) {
    sentence(`an event is parked with its error when ${what}, and the others go on`, async (t) => {
      const opened = await fixture.open();
      const folder = await mkdtemp(join(tmpdir(), 'url-checker-poison-'));
      const log = await openSqliteEventStore({ path: join(folder, 'events.db') });
      try {
        const stores: TestStores = { log, documents: opened.documents };
        await count(log, ALL_EVENTS);
        const all = listing(1, 1);
        const picky: Projection = {
          ...all,
          async apply(events, open, urls_of, inserts) {
            await all.apply(events, open, urls_of, inserts);
            if (events.some(({ revision }) => revision === POISON)) await fails(open);
          },
        };
        const neighbour: Projection = { ...counting(1, 1), name: 'neighbours', collections: [], apply: async () => {} };
        await project(stores, [picky, neighbour]);
        t.is(await tally(stores), ALL_EVENTS - 1);
        t.deepEqual(await rowsOf(stores), [0, 1, 3, 4, 5]);
        const [parked, ...more] = await opened.documents.reading(parkedEvents).find({});
        t.like(parked, { projection: 'tallies', stream: 'count-1', revision: POISON });
        t.regex(parked!.error, /poison|n: not a number|non-numeric type/);
        t.deepEqual(more, []);
      } finally {
        await log.close();
        await opened.close();
        await rm(folder, { recursive: true, force: true });
      }
    });
  }
}

/** The most events that the projector which is stopped can take at once. */
const STOPS = {
  'before it committed events that came while the documents caught up': ALL_EVENTS,
  'between two halves of a transaction that was too large': EVENTS_BEFORE,
};

const through = (log: EventStore): EventStore => ({
  append: (...all) => log.append(...all),
  readStream: (...all) => log.readStream(...all),
  readAll: (...all) => log.readAll(...all),
  subscribe: (...all) => log.subscribe(...all),
  deleteStream: (...all) => log.deleteStream(...all),
  head: () => log.head(),
  close: () => log.close(),
});

/** A log whose batches end elsewhere: each has `length` events, but the first one has one. */
const inBatchesOf = (length: number, log: EventStore): EventStore => ({
  ...through(log),
  async *subscribe(range) {
    for await (const { events, position } of log.subscribe(range)) {
      for (let from = 0, to = 1; from < events.length; from = to, to += length) {
        const batch = events.slice(from, to);
        yield { events: batch, position: to < events.length ? batch.at(-1)!.position : position };
      }
    }
  },
});

const POISON = 2;

/** The ways in which a projection fails because of an event. */
const POISONS: Record<string, (open: OpenCollection) => Promise<void>> = {
  'its projection throws': async () => {
    throw new Error('poison');
  },
  async 'the store refuses what its projection writes'(open) {
    const collection = await open({ ...tallies, fields: {}, indexes: [] });
    await collection.write([{ replace: { _id: 'poison', n: 'a text' as unknown as number } }]);
    await collection.write([{ update: 'poison', set: { $inc: { n: 1 } } }]);
  },
};
