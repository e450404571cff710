// Long ledgers: loaded from a snapshot and what came since, never trusted over the entries, and as exact as short ones.
import test from 'ava';
import { stamp } from '../../../commands/aggregate.ts';
import { type Credits, decide, evolve, initial, openCredits } from '../../../commands/ledger/credits.ts';
import { KNOWN_ENTRIES } from '../../../commands/ledger/ledger.ts';
import type { CreditsEvent } from '../../../events/credits.ts';
import { type EventStore, eventBytes, MAX_APPEND_BYTES } from '../../../events/event-store.ts';
import { creditsStream } from '../../../events/streams.ts';
import { appendLongLedger, counting, jobId } from '../../support/long-ledger.ts';
import { commandContext, openTestStores } from '../../support/stores.ts';

const ENTRIES = 12_000;
/** The newest entries by name, and the way to a snapshot. */
const FEW = KNOWN_ENTRIES + 600;

async function replayed(log: EventStore, user_id: string): Promise<Credits> {
  const credits = initial();
  for await (const event of log.readStream(creditsStream(user_id))) evolve(credits, event as unknown as CreditsEvent);
  return credits;
}

const loaded = async (log: EventStore, user_id: string) =>
  (await openCredits(log).aggregate.read(creditsStream(user_id))).state;

const refund = (n: number) =>
  ({ type: 'refund', job_id: jobId(n), reservation_ids: [`${jobId(n)}:0`], amount: 4 }) as const;

test('a long ledger loads from a snapshot and few entries', async (t) => {
  const { log } = await openTestStores(t);
  const { user_id, entries } = await appendLongLedger(log, ENTRIES);
  const counted = counting(log);
  t.deepEqual(await loaded(counted.log, user_id), await replayed(log, user_id));
  t.true(entries >= ENTRIES);
  t.true(counted.read() <= FEW, `${counted.read()} events`);
});

const damages: Record<string, (event: CreditsEvent) => CreditsEvent> = {
  'of another version': (event) => withSnapshot(event, { version: 99 }),
  'of another place': (event) => withSnapshot(event, { entries: 7 }),
  'with more in its lots than the balance': (event) =>
    withSnapshot(event, { lots: [{ lot_id: 'purchase:p0', remaining: 999_999, expires_at: null }] }),
  'with another lot of the same amount': (event) =>
    withSnapshot(event, { lots: [{ lot_id: 'purchase:x', remaining: event.data.balance_after, expires_at: null }] }),
  'that was cut off': ({ type, data: { snapshot, ...data } }) =>
    ({
      type,
      data: snapshot ? { ...data, snapshot: { version: 1, entries: snapshot.entries } } : data,
    }) as CreditsEvent,
  'that is null': ({ type, data: { snapshot, ...data } }) =>
    ({ type, data: snapshot ? { ...data, snapshot: null } : data }) as unknown as CreditsEvent,
  'with lots that are none': (event) => withSnapshot(event, { lots: [null], adjustments: 'a' }),
  'with another adjustment': (event) => withSnapshot(event, { adjustments: ['adjustment:x'] }),
};

function withSnapshot(event: CreditsEvent, changed: object): CreditsEvent {
  if (!event.data.snapshot) return event;
  return { ...event, data: { ...event.data, snapshot: { ...event.data.snapshot, ...changed } } } as CreditsEvent;
}

for (const [damage, change] of Object.entries(damages)) {
  test(`the loader ignores a snapshot ${damage}`, async (t) => {
    const { log } = await openTestStores(t);
    // The newest ones are damaged: an older one, and the entries after it, make up for them.
    const { user_id } = await appendLongLedger(log, 3_000, (event) =>
      (event.data.snapshot?.entries ?? 0) > 2_000 ? change(event) : event,
    );
    const counted = counting(log);
    t.deepEqual(await loaded(counted.log, user_id), { ...(await replayed(log, user_id)) });
    t.true(counted.read() > 800 && counted.read() < 3_000, `${counted.read()} events`);
  });
}

test('a long ledger without snapshots loads whole, and gets one with its next entry', async (t) => {
  const { log } = await openTestStores(t);
  const { user_id, entries } = await appendLongLedger(
    log,
    6_000,
    ({ type, data: { snapshot: _, ...data } }) => ({ type, data }) as CreditsEvent,
  );
  const state = await loaded(log, user_id);
  t.is(state.snapshot_at, 0);
  t.is(state.entries, entries);
  await openCredits(log).run(
    user_id,
    { type: 'reserve', reservation_id: 'new:0', job_id: 'new', up_to: 1 },
    commandContext(),
  );
  const counted = counting(log);
  t.deepEqual(await loaded(counted.log, user_id), await replayed(log, user_id));
  t.true(counted.read() <= FEW, `${counted.read()} events`);
});

test('the ledger does not repeat a refund of long ago', async (t) => {
  const { log } = await openTestStores(t);
  const { user_id, entries } = await appendLongLedger(log, ENTRIES);
  for (let n = 1; n < 1_000; n += 333) {
    const again = await openCredits(log).run(user_id, refund(n), commandContext());
    t.true(again.ok && again.appended === 0);
  }
  t.is((await loaded(log, user_id)).entries, entries);
});

test('the ledger refunds a job after thousands of other entries, once', async (t) => {
  const { log } = await openTestStores(t);
  const { user_id } = await appendLongLedger(log, ENTRIES);
  const credits = openCredits(log);
  const { balance } = await loaded(log, user_id);
  const first = await credits.run(user_id, refund(0), commandContext());
  t.true(first.ok && first.appended === 1 && first.state.balance === balance + 4);
  for (const ledger of [credits, openCredits(log)]) {
    const again = await ledger.run(user_id, refund(0), commandContext());
    t.true(again.ok && again.appended === 0);
  }
  t.deepEqual(await loaded(log, user_id), await replayed(log, user_id));
});

test('the search for a reservation ends when it has found enough', async (t) => {
  const { log } = await openTestStores(t);
  const { user_id, entries } = await appendLongLedger(log, ENTRIES);
  const counted = counting(log);
  const credits = openCredits(counted.log);
  await credits.aggregate.read(creditsStream(user_id));
  const before = counted.read();
  // Three entries are made for two jobs: this one reserved some 2,000 entries ago.
  const n = Math.floor(((entries - 2_000) * 3) / 4 / 3) * 3;
  const given = await credits.run(
    user_id,
    { type: 'refund', job_id: jobId(n), reservation_ids: ['never:0', `${jobId(n)}:0`], amount: 10 },
    commandContext(),
  );
  t.true(given.ok && given.appended === 1);
  t.true(counted.read() - before < 1_500, `${counted.read() - before} events`);
});

test('the ledger releases a reservation of long ago, once', async (t) => {
  const { log } = await openTestStores(t);
  const { user_id, first_reserved } = await appendLongLedger(log, 4_000);
  const release = { type: 'release', reservation_id: `${jobId(0)}:0` } as const;
  const { balance } = await loaded(log, user_id);
  const [one, two] = [openCredits(log), openCredits(log)];
  const results = await Promise.all([one, two].map((credits) => credits.run(user_id, release, commandContext())));
  t.is(
    results.reduce((sum, result) => sum + (result.ok ? result.appended : 0), 0),
    1,
  );
  t.is((await loaded(log, user_id)).balance, balance + first_reserved);
  const never = await one.run(user_id, { type: 'release', reservation_id: 'never:0' }, commandContext());
  t.true(never.ok && never.appended === 0);
});

test('the ledger knows grants of any age', async (t) => {
  const { log } = await openTestStores(t);
  const { user_id } = await appendLongLedger(log, 4_000);
  const grant = {
    type: 'grant',
    transaction_type: 'purchase',
    reference_id: 'p0',
    amount: 5,
    expires_at: null,
  } as const;
  const again = await openCredits(log).run(user_id, grant, commandContext());
  t.true(again.ok && again.appended === 0);
});

test("an entry fits an append, however long its lots' names", (t) => {
  for (const name_chars of [1, 150, 255, 5_000]) {
    const lots = Array.from({ length: 4_000 }, (_, n) => ({
      lot_id: `purchase:${String(n).padStart(name_chars, 'x')}`,
      remaining: 1,
      expires_at: null,
      expired: 0,
      reversed: { own: 0, expired: 0, others: 0 },
    }));
    const state: Credits = { ...initial(), balance: lots.length, hash: 'f'.repeat(64), entries: 5_000, lots };
    const decision = decide(state, { type: 'reserve', reservation_id: 'a:0', job_id: 'a', up_to: 1 }, Date.now());
    if ('refused' in decision) throw new Error(decision.refused.message);
    const [reserved] = stamp(decision.events, commandContext(), 'credits-a', 5_000);
    t.true(eventBytes(reserved!) <= MAX_APPEND_BYTES, `${eventBytes(reserved!)} bytes for names of ${name_chars}`);
    t.is((reserved!.data as CreditsEvent['data']).snapshot !== undefined, name_chars <= 150);
  }
});
