// Commands believe a snapshot of a ledger, so that the audit holds it to the entries; and what is owed is paid off before anything else.
import test, { type ExecutionContext } from 'ava';
import { openLedgerAudit } from '../../audit/ledger-audit.ts';
import { type CreditsCommand, openCredits } from '../../commands/ledger/credits.ts';
import { entryHash, type LedgerSnapshot } from '../../events/credits.ts';
import type { RecordedEvent } from '../../events/event-store.ts';
import { creditsStream } from '../../events/streams.ts';
import { commandContext, openTestStores } from '../support/stores.ts';

const START = Date.parse('2026-01-31T09:00:00.000Z');
const key = { key_id: 'key-1', credit_limit: 1_000_000 };

/** A ledger past its first snapshot, with lots of both kinds, what a key has used, and credits owed. */
async function longLedger(t: ExecutionContext): Promise<RecordedEvent[]> {
  const { log } = await openTestStores(t);
  const credits = openCredits(log);
  const run = (command: CreditsCommand) => credits.run('alice', command, commandContext(START));
  const expires_at = '2027-01-31T09:00:00.000Z';
  await run({ type: 'grant', transaction_type: 'trial', reference_id: 't', amount: 100, expires_at });
  await run({ type: 'adjust', adjustment_id: 'a', amount: 600, reason: 'a gift' });
  for (let n = 0; n < 510; n += 1)
    await run({ type: 'reserve', reservation_id: `j${n}:0`, job_id: `j${n}`, up_to: 1, ...(n % 2 && { key }) });
  return Array.fromAsync(log.readStream(creditsStream('alice')));
}

function auditOf(events: readonly RecordedEvent[]) {
  const found: { rule: string; revision: number; message: string }[] = [];
  const audit = openLedgerAudit({ found: (violation) => void found.push(violation as never) });
  let previous = '';
  for (const event of events) {
    // Whoever holds the store computes every hash anew.
    previous = entryHash(previous, event);
    audit.take({ ...event, data: { ...(event.data as object), hash: previous } });
  }
  audit.close();
  return found;
}

const snapshotIn = ({ data }: RecordedEvent) => (data as { snapshot?: LedgerSnapshot }).snapshot;

test('a snapshot that says other than the entries is found, whatever of it was changed', async (t) => {
  const events = await longLedger(t);
  t.deepEqual(auditOf(events), []);
  const n = events.findIndex((event) => snapshotIn(event));
  const snapshot = snapshotIn(events[n]!)!;
  t.true(n > 400 && snapshot.lots.length === 2 && snapshot.keys?.length === 1);
  const [first, second] = snapshot.lots as [LedgerSnapshot['lots'][number], LedgerSnapshot['lots'][number]];
  const forged: Record<string, Partial<LedgerSnapshot>> = {
    'credits of another lot': {
      lots: [
        { ...first, remaining: first.remaining + 1 },
        { ...second, remaining: second.remaining - 1 },
      ],
    },
    'a lot that never expires': {
      lots: [
        { ...first, remaining: 1, expires_at: null },
        { ...second, remaining: second.remaining - 1 },
      ],
    },
    'a lot that is not there': {
      lots: [
        { ...first, lot_id: 'purchase:x', remaining: 1 },
        { ...second, remaining: second.remaining - 1 },
      ],
    },
    'more that is owed': { owed: 7 },
    'less that a key has used': { keys: [{ key_id: 'key-1', amount: 1 }] },
    'another key': { keys: [...snapshot.keys!, { key_id: 'key-2', amount: 1 }] },
  };
  for (const [what, change] of Object.entries(forged)) {
    const data = { ...(events[n]!.data as object), snapshot: { ...snapshot, ...change } };
    const found = auditOf(events.with(n, { ...events[n]!, data }));
    t.true(
      found.length === 1 && found[0]!.rule === 'lots' && found[0]!.revision === n,
      `${what}: ${JSON.stringify(found)}`,
    );
  }
});

test('credits that come while others are owed pay these off, and nothing comes before that', async (t) => {
  const { log } = await openTestStores(t);
  const credits = openCredits(log);
  const run = (command: CreditsCommand) => credits.run('alice', command, commandContext(START));
  const bought = { type: 'grant', transaction_type: 'purchase', expires_at: null } as const;
  await run({ ...bought, reference_id: 'p1', amount: 100 });
  await run({ type: 'reserve', reservation_id: 'j:0', job_id: 'j', up_to: 60 });
  await run({ type: 'reverse', payment_id: 'p1', lot_id: 'purchase:p1', target: 100 });
  await run({ ...bought, reference_id: 'p2', amount: 200 });
  await run({ type: 'adjust', adjustment_id: 'a', amount: 5, reason: 'a gift' });
  const events = await Array.fromAsync(log.readStream(creditsStream('alice')));
  const broken = (of: readonly RecordedEvent[]) => auditOf(of).filter(({ rule }) => rule === 'lots');
  t.deepEqual(broken(events), []);
  const n = events.findIndex(({ type }) => type === 'CreditsRecovered');
  t.is(n, 4);
  // Without the entry, and every balance after it as it would be.
  const rest = events.slice(n + 1).map((event) => {
    const data = event.data as { balance_after: number };
    return { ...event, revision: event.revision - 1, data: { ...data, balance_after: data.balance_after + 60 } };
  });
  t.like(
    broken([...events.slice(0, n), ...rest]),
    [{ revision: n, message: /owed/ as never }].map(({ revision }) => ({ revision })),
  );
});
