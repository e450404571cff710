// Credits whose payment went back: taken from their lot, then from others, and owed when none are left.
import test from 'ava';
import { type CreditsCommand, decide } from '../../../commands/ledger/credits.ts';
import { type Credits, evolve, initial } from '../../../commands/ledger/ledger.ts';
import type { CreditsEvent } from '../../../events/credits.ts';

const NOW = Date.parse('2026-01-10T00:00:00.000Z');
const DAY = 86_400_000;
const at = (days: number) => new Date(NOW + days * DAY).toISOString();

function run(credits: Credits, command: CreditsCommand, now = NOW): CreditsEvent[] {
  const decision = decide(credits, command, now);
  if ('refused' in decision) throw new Error(decision.refused.message);
  for (const event of decision.events) evolve(credits, event);
  return [...decision.events];
}
const grant = (id: string, amount: number, expires_at: string | null = null): CreditsCommand => ({
  type: 'grant',
  transaction_type: expires_at === null ? 'purchase' : 'subscription',
  reference_id: id,
  amount,
  expires_at,
});
const reverse = (id: string, target: number, type = 'purchase'): CreditsCommand => ({
  type: 'reverse',
  payment_id: id,
  lot_id: `${type}:${id}`,
  target,
});
const reserve = (job_id: string, up_to: number): CreditsCommand => ({
  type: 'reserve',
  reservation_id: `${job_id}:0`,
  job_id,
  up_to,
});
const refund = (job_id: string, amount: number): CreditsCommand => ({
  type: 'refund',
  job_id,
  reservation_ids: [`${job_id}:0`],
  amount,
});
const amounts = (events: CreditsEvent[]) => events.map(({ type, data }) => [type.slice('Credits'.length), data.amount]);
const state = ({ balance, owed }: Credits) => ({ balance, owed });

test('a refunded payment takes its own credits back, once', (t) => {
  const credits = initial();
  run(credits, grant('other', 50));
  run(credits, grant('p', 100));
  t.deepEqual(amounts(run(credits, reverse('p', 60))), [['Reversed', -60]]);
  t.deepEqual(run(credits, reverse('p', 60)), []);
  t.deepEqual(amounts(run(credits, reverse('p', 100))), [['Reversed', -40]]);
  t.deepEqual(state(credits), { balance: 50, owed: 0 });
});

test('spent credits are taken from other lots, and what these lack is owed and paid off by the next credits', (t) => {
  const credits = initial();
  run(credits, grant('p', 100));
  run(credits, reserve('j', 100));
  run(credits, grant('other', 30));
  t.deepEqual(amounts(run(credits, reverse('p', 100))), [['Reversed', -30]]);
  t.deepEqual(state(credits), { balance: 0, owed: 70 });
  t.deepEqual(amounts(run(credits, grant('q', 50))), [
    ['Granted', 50],
    ['Recovered', -50],
  ]);
  t.deepEqual(amounts(run(credits, { type: 'adjust', adjustment_id: 'a', amount: 25, reason: '' })), [
    ['Adjusted', 25],
    ['Recovered', -20],
  ]);
  t.deepEqual(state(credits), { balance: 5, owed: 0 });
});

test('credits that a job gives back pay off what is owed, so that nobody keeps refunded credits by a job', (t) => {
  const credits = initial();
  run(credits, grant('p', 100));
  run(credits, reserve('j', 100));
  run(credits, reverse('p', 100));
  t.deepEqual(amounts(run(credits, refund('j', 90))), [
    ['Refunded', 90],
    ['Recovered', -90],
  ]);
  t.deepEqual(state(credits), { balance: 0, owed: 10 });
});

test('credits that have expired are not taken back from other lots', (t) => {
  const credits = initial();
  run(credits, grant('s', 100, at(20)));
  run(credits, grant('p', 100));
  run(credits, reserve('j', 10));
  t.deepEqual(amounts(run(credits, reverse('s', 100, 'subscription'), NOW + 21 * DAY)), [
    ['Expired', -90],
    ['Reversed', -10],
  ]);
  t.deepEqual(state(credits), { balance: 90, owed: 0 });
});

test('a refund that failed gives back what it took, and forgives what is owed', (t) => {
  const credits = initial();
  run(credits, grant('p', 100));
  run(credits, reserve('j', 80));
  run(credits, grant('q', 30));
  run(credits, reverse('p', 100));
  t.deepEqual(state(credits), { balance: 0, owed: 50 });
  const [restored] = run(credits, reverse('p', 0));
  t.like(restored?.data, { own: 20, others: 30, forgiven: 50, amount: 50 });
  t.deepEqual(run(credits, reverse('p', 0)), []);
  t.deepEqual(state(credits), { balance: 50, owed: 0 });
});

test('credits that come back after their period expire at once; those of other lots never do', (t) => {
  const credits = initial();
  run(credits, grant('s', 100, at(20)));
  run(credits, reserve('j', 40));
  run(credits, grant('p', 100));
  run(credits, reverse('s', 100, 'subscription'));
  t.deepEqual(state(credits), { balance: 60, owed: 0 });
  t.deepEqual(amounts(run(credits, reverse('s', 0, 'subscription'), NOW + 21 * DAY)), [
    ['Restored', 100],
    ['Expired', -60],
  ]);
  t.deepEqual(state(credits), { balance: 100, owed: 0 });
});

test('a payment that comes after its period is recorded and expires at once', (t) => {
  const credits = initial();
  t.deepEqual(amounts(run(credits, grant('s', 100, at(-1)))), [
    ['Granted', 100],
    ['Expired', -100],
  ]);
});

test('the first restorations, which said nothing of lots, count as they did', (t) => {
  const credits = initial();
  run(credits, grant('p', 100));
  run(credits, grant('r', 60));
  run(credits, reserve('j', 160));
  run(credits, reverse('p', 100));
  run(credits, reverse('r', 60));
  run(credits, grant('q', 30));
  t.deepEqual(state(credits), { balance: 0, owed: 130 });
  // It forgave all that was owed before anything else, also what was owed for the other payment.
  const data = { ...{ lot_id: 'purchase:p', own: 0, expired: 0, others: 0, forgiven: 100 }, hash: '', amount: 0 };
  const id = { transaction_id: 'restoration:p@9', transaction_type: 'restoration' as const, reference_id: 'p' };
  evolve(credits, { type: 'CreditsRestored', data: { ...data, ...id, balance_after: 0 } });
  t.deepEqual(state(credits), { balance: 0, owed: 30 });
  run(credits, refund('j', 160));
  t.deepEqual(state(credits), { balance: 130, owed: 0 });
  t.deepEqual(
    credits.lots.map(({ lot_id, remaining }) => [lot_id, remaining]),
    [
      ['purchase:p', 100],
      ['purchase:r', 0],
      ['purchase:q', 30],
    ],
  );
});
