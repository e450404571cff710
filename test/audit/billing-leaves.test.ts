// Whoever changes an event of a payment or a subscription, under a head that an outsider has kept, is found out: every field of every type.
import test, { type ExecutionContext } from 'ava';
import { keptHead } from '../../audit/heads.ts';
import { AUDITED, openLedgerAudit } from '../../audit/ledger-audit.ts';
import { openNoteSigner } from '../../audit/signed-note.ts';
import { type SignedHead, sourceOfLog } from '../../audit/source.ts';
import { openSubscriptions } from '../../commands/billing/subscription.ts';
import { openLedgerHeads } from '../../commands/ledger/ledger-heads.ts';
import type { RecordedEvent } from '../../events/event-store.ts';
import { openHeadSigning } from '../../processes/ledger-heads.ts';
import { fillLedger, openFiller } from '../support/audited-ledger.ts';
import { openTestStores } from '../support/stores.ts';

const signer = openNoteSigner('ledger/one', Buffer.alloc(32));
const AT = '2026-01-31T09:00:00.000Z';

async function signedLedger(t: ExecutionContext) {
  const { log } = await openTestStores(t);
  const { context } = openFiller(log);
  await openSubscriptions(log).run(
    'carol',
    {
      type: 'change',
      subscription: {
        ...{ subscription_id: 'sub_1', customer_id: null, plan: 'pro', interval: 'month', status: 'active' },
        ...{ period_start: AT, period_end: '2026-02-28T09:00:00.000Z', cancel_at: null, changed_at: AT },
      },
    },
    context(),
  );
  await fillLedger(log);
  const heads = openLedgerHeads(log, 'ledger/one', signer);
  const signing = openHeadSigning({ stored_log: log, heads, interval_ms: 0, context, now: () => 0 });
  await signing.pass();
  const head = (await heads.last())!;
  const kept = keptHead(head.note)!;
  const events = async () => {
    const read = await Array.fromAsync(log.readAll({ filter: { categories: AUDITED } }));
    return read.map((event) => structuredClone(event));
  };
  return { log, head, kept, signing, heads, events: await events(), readEvents: events };
}

function violationsOf(events: readonly RecordedEvent[], heads: readonly SignedHead[]): string[] {
  const found: string[] = [];
  const audit = openLedgerAudit({ found: ({ rule }) => found.push(rule), heads });
  for (const event of events) audit.take(event);
  audit.finish();
  audit.close();
  return found;
}

/** The event with each of its fields changed in turn, however deep. */
function* forgeriesOf(event: RecordedEvent): Generator<{ field: string; forged: RecordedEvent }> {
  const copy = structuredClone(event);
  function* each(object: Record<string, unknown>, path: string): Generator<{ field: string; forged: RecordedEvent }> {
    for (const [key, value] of Object.entries(object)) {
      if (value !== null && typeof value === 'object') yield* each(value as Record<string, unknown>, `${path}${key}.`);
      else {
        object[key] = typeof value === 'number' ? value + 1 : `${value}x`;
        yield { field: `${path}${key}`, forged: structuredClone(copy) };
        object[key] = value;
      }
    }
  }
  yield* each(copy.data as Record<string, unknown>, 'data.');
  yield* each(copy.metadata as unknown as Record<string, unknown>, 'metadata.');
}

test('every changed field of a payment or a subscription is found under a kept head', async (t) => {
  const { events, kept } = await signedLedger(t);
  t.deepEqual(violationsOf(events, [kept]), []);
  const billed = events.filter(({ stream }) => /^(payment|subscription)-/.test(stream));
  t.is(billed.length, kept.billing!.size);
  const types = new Set<string>();
  for (const event of billed) {
    if (types.has(event.type)) continue;
    types.add(event.type);
    for (const { field, forged } of forgeriesOf(event)) {
      const others = events.map((each) => (each === event ? forged : each));
      t.true(violationsOf(others, [kept]).includes('head'), `${event.type} ${field}`);
    }
  }
  t.deepEqual([...types].sort(), ['PaymentReceived', 'PaymentReversed', 'SubscriptionChanged']);
});

test('a payment that is added or removed before a kept head is found', async (t) => {
  const { events, kept } = await signedLedger(t);
  const payment = events.find(({ type }) => type === 'PaymentReceived')!;
  const data = { ...(payment.data as object), credits: 0 };
  const added = { ...payment, data, stream: 'payment-added', id: crypto.randomUUID() };
  t.deepEqual(violationsOf([added, ...events], [kept]), ['head']);
  const without = events.filter(({ stream }) => stream !== 'subscription-carol');
  t.deepEqual(violationsOf(without, [kept]), ['head'], 'its head is of more events');
  // Behind the head it is shown, and not found: whoever may write the log may append.
  t.deepEqual(violationsOf([...events, added], [kept]), []);
});

test('heads of earlier services, which are of entries alone, stay valid beside new ones', async (t) => {
  const { log, head, heads, signing, readEvents } = await signedLedger(t);
  const { billing: _, ...before } = head;
  const note = signer.sign(head.note.slice(0, head.note.indexOf('\n\n') + 1).replace(/^billing .*\n/m, ''));
  const early = { ...before, note };
  t.deepEqual(keptHead(note)!.billing, undefined);
  const other = await openTestStores(t);
  for (const { stream, revision, position: _p, ...event } of await Array.fromAsync(log.readAll())) {
    const stored = event.type === 'LedgerHeadSigned' ? { ...event, data: early } : event;
    await other.log.append(stream, revision === 0 ? 'no_stream' : revision - 1, [stored]);
  }
  const { context } = openFiller(other.log);
  const upgraded = openLedgerHeads(other.log, 'ledger/one', signer);
  await openHeadSigning({ stored_log: other.log, heads: upgraded, interval_ms: 0, context, now: () => 1 }).pass();
  const listed = await Array.fromAsync(sourceOfLog(other.log).heads(null));
  t.deepEqual(
    listed.map(({ tree_size, billing }) => [tree_size, billing?.size]),
    [
      [head.tree_size, undefined],
      [head.tree_size, head.billing!.size],
    ],
    'the payments of before are signed now',
  );
  t.deepEqual(violationsOf(await readEvents(), listed), []);
  // A new payment is signed although the ledger has no new entry.
  await openFiller(log).reverse('pi-unknown', 5);
  await signing.pass();
  const last = (await heads.last())!;
  t.deepEqual([last.tree_size, last.billing!.size], [head.tree_size, head.billing!.size + 1]);
});
