// Whoever changes an entry of the ledger in the store is found out by its hash: every field of every type is forged.
import test from 'ava';
import { move, newAccount, openLots, type Taken } from '../../../audit/account.ts';
import { KIND, openPacker } from '../../../audit/digests.ts';
import { openSpill } from '../../../audit/spill.ts';
import { openCredits } from '../../../commands/ledger/credits.ts';
import { CREDITS_EVENTS, type CreditsEvent, entryHash } from '../../../events/credits.ts';
import type { EventStore, RecordedEvent } from '../../../events/event-store.ts';
import { creditsStream } from '../../../events/streams.ts';
import { balances, creditLots } from '../../../readmodels/billing/credits.ts';
import { openReadModels } from '../../../readmodels/read-models.ts';
import { commandContext, openTestStores, project } from '../../support/stores.ts';

const DAY_MS = 86_400_000;

/** A ledger with an entry of every type. */
async function ledgerOf(log: EventStore, user_id: string): Promise<RecordedEvent[]> {
  const credits = openCredits(log);
  const run = (command: Parameters<typeof credits.run>[1], now = Date.now()) =>
    credits.run(user_id, command, { ...commandContext(), now });
  const expires_at = new Date(Date.now() + DAY_MS).toISOString();
  await run({ type: 'grant', transaction_type: 'subscription', reference_id: 's1', amount: 50, expires_at });
  await run({ type: 'grant', transaction_type: 'purchase', reference_id: 'p1', amount: 100, expires_at: null });
  await run({ type: 'reserve', reservation_id: 'a:0', job_id: 'a', up_to: 60 });
  await run({ type: 'refund', job_id: 'a', reservation_ids: ['a:0'], amount: 15 });
  await run({ type: 'reserve', reservation_id: 'b:0', job_id: 'b', up_to: 3 });
  await run({ type: 'release', reservation_id: 'b:0' });
  await run({ type: 'adjust', adjustment_id: 'x', amount: -7, reason: 'a double charge' });
  await run({ type: 'adjust', adjustment_id: 'y', amount: 9, reason: 'a gift' });
  await run({ type: 'reverse', payment_id: 'p1', lot_id: 'purchase:p1', target: 100 });
  await run({ type: 'reverse', payment_id: 'p1', lot_id: 'purchase:p1', target: 60 });
  await run({ type: 'reserve', reservation_id: 'c:0', job_id: 'c', up_to: 100 });
  await run({ type: 'reverse', payment_id: 'p1', lot_id: 'purchase:p1', target: 100 });
  await run({ type: 'grant', transaction_type: 'trial', reference_id: 't1', amount: 50, expires_at });
  await run({ type: 'expire' }, Date.now() + 2 * DAY_MS);
  return Array.fromAsync(log.readStream(creditsStream(user_id)));
}

/** The revision of the first entry of a user's ledger that its hash gives away; null when the chain holds. */
function firstForged(user_id: string, entries: readonly RecordedEvent[]): number | null {
  let previous = '';
  for (const [n, entry] of entries.entries()) {
    const hash = entryHash(previous, { ...entry, stream: creditsStream(user_id), revision: n });
    if (hash !== (entry as unknown as CreditsEvent).data.hash) return n;
    previous = hash;
  }
  return null;
}

/** The revision of the first entry whose hash the thread that reads ahead of an audit does not confirm; null when it confirms all. */
function firstUnconfirmed(entries: readonly RecordedEvent[]): number | null {
  const pack = openPacker(String);
  const text = JSON.stringify;
  const { kinds } = pack(
    entries.map(({ type, id, metadata, data, stream }, n) => [n, n, type, id, text(metadata), text(data), stream]),
  );
  const unconfirmed = kinds.findIndex((kind) => kind !== KIND.entry);
  return unconfirmed < 0 ? null : unconfirmed;
}

/** Every copy of `value` with one of its fields changed, left out or added, at any depth, and where. */
function* forgeries(value: unknown, path: string): Generator<[path: string, forged: unknown]> {
  if (typeof value === 'string') yield [path, `${value}x`];
  else if (typeof value === 'number') yield [path, value + 1];
  else if (typeof value === 'boolean') yield [path, !value];
  else if (value === null) yield [path, '2030-01-01T00:00:00.000Z'];
  else if (Array.isArray(value)) {
    yield [`${path}[+]`, [...value, 'x']];
    for (const [n, item] of value.entries()) {
      yield [`${path}[-${n}]`, value.toSpliced(n, 1)];
      for (const [at, forged] of forgeries(item, `${path}[${n}]`)) yield [at, value.with(n, forged)];
    }
  } else if (value !== undefined) {
    yield [`${path}.+`, { ...(value as object), added: 1 }];
    for (const [key, field] of Object.entries(value as object)) {
      const { [key]: _, ...rest } = value as Record<string, unknown>;
      yield [`${path}.-${key}`, rest];
      for (const [at, forged] of forgeries(field, `${path}.${key}`)) yield [at, { ...rest, [key]: forged }];
    }
  }
}

test('the hash of an entry covers every field of every type', async (t) => {
  const { log } = await openTestStores(t);
  const entries = await ledgerOf(log, 'alice');
  t.deepEqual([...new Set(entries.map(({ type }) => type))].sort(), Object.keys(CREDITS_EVENTS).sort());
  t.is(firstForged('alice', entries), null);
  t.is(firstUnconfirmed(entries), null);
  let forged_count = 0;
  for (const [n, entry] of entries.entries()) {
    for (const field of ['id', 'type', 'data', 'metadata'] as const) {
      for (const [path, forged] of forgeries(entry[field], `${entry.type}.${field}`)) {
        forged_count++;
        const changed = entries.with(n, { ...entry, [field]: forged } as RecordedEvent);
        t.is(firstForged('alice', changed), n, path);
        t.is(firstUnconfirmed(changed), n, path);
      }
    }
  }
  t.log(`${forged_count} forgeries of ${entries.length} entries`);
});

test('an audit finds foreign, missing, repeated and exchanged entries', async (t) => {
  const { log } = await openTestStores(t);
  const [alice, bob] = [await ledgerOf(log, 'alice'), await ledgerOf(log, 'bob')];
  t.is(firstForged('alice', alice.with(0, bob[0]!)), 0);
  for (let n = 0; n < alice.length - 1; n++) {
    t.is(firstForged('alice', alice.toSpliced(n, 1)), n, `without ${n}`);
    t.is(firstForged('alice', alice.toSpliced(n, 0, alice[n]!)), n + 1, `${n} twice`);
    t.is(firstForged('alice', alice.with(n, alice[n + 1]!).with(n + 1, alice[n]!)), n, `${n} exchanged`);
  }
});

test('an audit and the read models take entries of every type as the ledger does', async (t) => {
  const { log, documents } = await openTestStores(t);
  const entries = await ledgerOf(log, 'alice');
  const { state } = await openCredits(log).aggregate.read(creditsStream('alice'));

  const spill = openSpill();
  const [account, lots_of_all, taken] = [newAccount(), openLots(spill, entries.length), [] as Taken[]];
  for (const entry of entries as unknown as (RecordedEvent & CreditsEvent)[]) {
    move({ user_id: 'alice', account, lots: lots_of_all }, entry, Date.parse(entry.metadata.at), taken);
    if (entry.type === 'CreditsReserved') taken.push(entry.data);
  }
  spill.close();
  t.like(account, { held: state.balance, owed: state.owed });

  await project({ log, documents });
  const readmodels = openReadModels(documents);
  const { balance, owed, usage } = (await readmodels.collection(balances).get('alice'))!;
  t.deepEqual({ balance, owed, usage }, { balance: state.balance, owed: state.owed, usage: state.usage });
  const lots = await readmodels.collection(creditLots).find({ user_id: 'alice' });
  const remaining = (all: readonly { lot_id: string; remaining: number }[]) =>
    Object.fromEntries(all.map((lot) => [lot.lot_id, lot.remaining]));
  t.deepEqual(remaining(lots), remaining(state.lots));
});
