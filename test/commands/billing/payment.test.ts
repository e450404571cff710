// Money that goes back: in parts, in any order, and once more after it came back.
import test from 'ava';
import fc from 'fast-check';
import {
  decide,
  evolve,
  initial,
  ledgerCommandsOf,
  type Payment,
  type PaymentCommand,
} from '../../../commands/billing/payment.ts';
import { assertBounded } from '../../support/smaller.ts';

const at = (day: number) => new Date(Date.parse('2028-01-01T00:00:00.000Z') + day * 86_400_000).toISOString();
const receive = (credits: number, amount_cents: number): PaymentCommand => ({
  type: 'receive',
  payment: {
    ...{ user_id: 'alice', provider: 'stripe', customer_id: null, amount_cents, currency: 'usd', credits },
    ...{ expires_at: null, package_id: 'p', period: null, paid_at: at(0) },
  },
});
const reverse = (reversal_id: string, amount_cents: number, day = 1, kind: 'refund' | 'dispute' = 'refund') => ({
  type: 'reverse' as const,
  reversal: { reversal_id, kind, amount_cents, currency: 'usd', reversed_at: at(day) },
});
const lift = (reversal_id: string, day: number) => ({ type: 'lift' as const, reversal_id, lifted_at: at(day) });

function after(commands: readonly PaymentCommand[]): Payment {
  let payment = initial();
  for (const command of commands) {
    const decision = decide(payment, command);
    for (const event of 'events' in decision ? decision.events : []) payment = evolve(payment, event);
  }
  return payment;
}
/** The credits that are taken back. */
function targetOf(commands: readonly PaymentCommand[]): number {
  const last = ledgerCommandsOf('p', after(commands)).at(-1);
  return last?.type === 'reverse' ? last.target : 0;
}

test('parts of the whole take the whole', (t) => {
  t.is(targetOf([receive(100, 300), ...['a', 'b', 'c'].map((id) => reverse(id, 100))]), 100);
  const parts = Array.from({ length: 101 }, (_, n) => reverse(`re_${n}`, 5));
  t.is(targetOf([receive(5_050, 505), ...parts]), 5_050);
  t.is(targetOf([receive(50, 500), ...parts.slice(0, 100)]), 50);
  // Rounded in the user's favour.
  t.is(targetOf([receive(100, 300), reverse('a', 100), reverse('b', 100)]), 66);
});

test('a dispute that is lost after it was won is lost, in whatever order the news come', async (t) => {
  const news: PaymentCommand[] = [
    receive(100, 500),
    ...[1, 2, 3].map((day) => reverse('du', 500, day, 'dispute')),
    ...[10, 11].map((day) => lift('du', day)),
    reverse('du', 500, 20, 'dispute'),
  ];
  t.is(targetOf(news.slice(0, 6)), 0, 'won');
  t.is(targetOf(news), 100);
  const property = fc.asyncProperty(
    fc.shuffledSubarray([...news, ...news], { minLength: 2 * news.length }),
    async (shuffled) => {
      t.is(targetOf(shuffled), 100);
    },
  );
  await assertBounded(property, { numRuns: 300 });
});

test('a refund that failed has failed, and the same news again are no event', (t) => {
  t.is(targetOf([receive(100, 500), reverse('re', 500), lift('re', 1)]), 0);
  t.is(targetOf([receive(100, 500), lift('re', 2), reverse('re', 500)]), 0);
  const payment = after([receive(100, 500), reverse('re', 500), lift('re', 2)]);
  for (const command of [receive(100, 500), reverse('re', 500), reverse('re', 500, 5), lift('re', 2), lift('re', 1)]) {
    t.deepEqual(decide(payment, command), { events: [] });
  }
});
