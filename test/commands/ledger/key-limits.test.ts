// The limit of an API key in credits: exact whoever submits at once, given back with what its jobs did not use, and kept by snapshots.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import fc from 'fast-check';
import { move, newAccount, openLots, type Taken } from '../../../audit/account.ts';
import { openSpill } from '../../../audit/spill.ts';
import { type CreditsCommand, type CreditsLedger, openCredits } from '../../../commands/ledger/credits.ts';
import { loadLedger } from '../../../commands/ledger/ledger-snapshots.ts';
import { type CreditsEvent, entryHash } from '../../../events/credits.ts';
import type { EventStore, RecordedEvent } from '../../../events/event-store.ts';
import { creditsStream } from '../../../events/streams.ts';
import { coded, commandContext, openTestStores } from '../../support/stores.ts';

const key = { key_id: 'k', credit_limit: 100 };
const reserve = (job_id: string, up_to: number, more = {}): CreditsCommand => ({
  ...{ type: 'reserve', reservation_id: `${job_id}:0`, job_id, up_to, key },
  ...more,
});
const refund = (job_id: string, amount: number): CreditsCommand => ({
  ...{ type: 'refund', job_id, reservation_ids: [`${job_id}:0`], amount },
});
async function open(log: EventStore, balance: number): Promise<CreditsLedger> {
  const credits = openCredits(log);
  const bought = { transaction_type: 'purchase', reference_id: 'p', amount: balance, expires_at: null } as const;
  await credits.run('alice', { type: 'grant', ...bought }, commandContext());
  return credits;
}
const usedIn = async (credits: CreditsLedger) =>
  (await credits.aggregate.read(creditsStream('alice'))).state.keys.get('k') ?? 0;

test('a job that would pass the limit of its key is refused whole, and others of the user are not', async (t) => {
  const credits = await open((await openTestStores(t)).log, 1000);
  t.true((await credits.run('alice', reserve('a', 60), commandContext())).ok);
  const refused = await credits.run('alice', reserve('b', 41), commandContext());
  t.like(refused, { ok: false, refused: { code: 'key_limit', details: { credit_limit: 100, credits_left: 40 } } });
  t.true((await credits.run('alice', reserve('c', 500, { key: undefined }), commandContext())).ok);
  t.true((await credits.run('alice', reserve('d', 40), commandContext())).ok);
  t.is(await usedIn(credits), 100);
});

test('two processes that submit at once get no more than the limit', async (t) => {
  const log = coded((await openTestStores(t)).log);
  const both = [await open(log, 1000), openCredits(log)];
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, (_, n) => both[n % 2]!.run('alice', reserve(`j${n}`, 30), commandContext())),
  );
  t.is(outcomes.filter(({ ok }) => ok).length, 3);
  t.is(await usedIn(openCredits(log)), 90);
});

test('what a job did not use, and a reservation that no job used, is the key’s again', async (t) => {
  const credits = await open((await openTestStores(t)).log, 1000);
  await credits.run('alice', reserve('a', 60), commandContext());
  await credits.run('alice', reserve('b', 40), commandContext());
  await credits.run('alice', refund('a', 25), commandContext());
  await credits.run('alice', refund('a', 25), commandContext());
  t.is(await usedIn(credits), 75);
  await credits.run('alice', { type: 'release', reservation_id: 'b:0' }, commandContext());
  t.is(await usedIn(credits), 35);
  t.true((await credits.run('alice', reserve('c', 65), commandContext())).ok);
});

test('a job that its owner resumed gives back to the key what the key reserved', async (t) => {
  const credits = await open((await openTestStores(t)).log, 1000);
  await credits.run('alice', reserve('a', 60), commandContext());
  await credits.run('alice', reserve('a', 50, { reservation_id: 'a:1', key: undefined }), commandContext());
  const reservation_ids = ['a:0', 'a:1'];
  await credits.run('alice', { type: 'refund', job_id: 'a', reservation_ids, amount: 70 }, commandContext());
  t.is(await usedIn(credits), 40, 'the last reservation is refunded first');
});

test('a balance below the job counts what was reserved alone', async (t) => {
  const credits = await open((await openTestStores(t)).log, 30);
  await credits.run('alice', reserve('a', 60), commandContext());
  t.is(await usedIn(credits), 30);
});

test('a snapshot of a service that knows no limits is not believed', async (t) => {
  const { log } = await openTestStores(t);
  const credits = await open(log, 1_000_000);
  for (let n = 0; n < 502; n++)
    await credits.run('alice', reserve(randomUUID(), 1, { key: { ...key, credit_limit: 1000 } }), commandContext());
  const hashes = (await Array.fromAsync(log.readStream(creditsStream('alice')))).map(
    ({ data }) => (data as CreditsEvent['data']).hash,
  );
  const older: EventStore = {
    ...log,
    async *readStream(stream, options) {
      for await (const event of log.readStream(stream, options)) {
        const entry = event as RecordedEvent & CreditsEvent;
        const { snapshot } = entry.data;
        if (snapshot) {
          const { keys: _, ...lacking } = snapshot;
          entry.data = { ...entry.data, snapshot: { ...lacking, version: 3 } };
          entry.data = { ...entry.data, hash: entryHash(hashes[entry.revision - 1]!, entry) };
        }
        yield entry;
      }
    },
  };
  t.is((await openCredits(older).aggregate.read(creditsStream('alice'))).state.keys.get('k'), 502);
});

test('after any jobs and refunds, past snapshots too, the ledger has used what a plain sum says', async (t) => {
  const { log } = await openTestStores(t);
  const credits = await open(log, 1_000_000);
  const own = { key_id: 'k', credit_limit: 10_000 };
  let used = 0;
  let refusals = 0;
  for (const { n, back } of fc.sample(fc.record({ n: fc.nat(90), back: fc.nat(90) }), 700)) {
    const job_id = randomUUID();
    const { ok } = await credits.run('alice', reserve(job_id, n + 1, { key: own }), commandContext());
    t.is(ok, used + n + 1 <= own.credit_limit);
    if (!ok) {
      refusals += 1;
      continue;
    }
    const given = Math.min(n + 1, back);
    await credits.run('alice', refund(job_id, given), commandContext());
    used += n + 1 - given;
  }
  const loaded = await loadLedger(log, creditsStream('alice'));
  t.is(loaded?.state.keys.get('k'), used);
  t.true((loaded?.state.snapshot_at ?? 0) > 500);
  t.true(refusals > 0);
  // The audit computes the same, and so believes the snapshots.
  const spill = openSpill();
  const [account, lots, taken] = [newAccount(), openLots(spill, 1000), [] as Taken[]];
  for await (const event of log.readStream(creditsStream('alice'))) {
    const entry = event as RecordedEvent & CreditsEvent;
    move({ user_id: 'alice', account, lots }, entry, Date.parse(event.metadata.at), taken);
    if (entry.type === 'CreditsReserved') taken.push(entry.data);
  }
  spill.close();
  t.deepEqual(account.keys, { k: used });
});
