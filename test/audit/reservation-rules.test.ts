import test from 'ava';
import { ReservationRules } from '../../audit/reservation-rules.ts';
import type { Spill } from '../../audit/spill.ts';

test('what goes back to API keys names each of them, and none twice in the place of another', (t) => {
  const found: string[] = [];
  const in_memory = { map: () => new Map() } as unknown as Spill;
  const rules = new ReservationRules(in_memory, 10, (rule) => void found.push(rule));
  const of = { user_id: 'alice', at: 0, place: {} } as never;
  const reserve = (id: string, amount: number, key_id: string) =>
    rules.entries.CreditsReserved!({ reservation_id: id, reference_id: 'job', amount: -amount, key_id } as never, of);
  const settle = (of_keys: readonly { key_id: string; amount: number }[]) => {
    reserve('one', 5, 'a');
    reserve('two', 5, 'b');
    for (const id of ['one', 'two']) rules.use(id, 5, { job_id: 'job', user_id: 'alice', place: {} as never });
    rules.refunded(['one', 'two'], { amount: 10, of_keys } as never, {} as never);
    return found.splice(0);
  };
  const [a, b] = [
    { key_id: 'a', amount: 5 },
    { key_id: 'b', amount: 5 },
  ];
  t.deepEqual(settle([a, b]), []);
  t.deepEqual(settle([b, a]), []);
  t.deepEqual(settle([a, a]), ['refund']);
  t.deepEqual(settle([a]), ['refund']);
  t.deepEqual(settle([a, { ...b, amount: 4 }]), ['refund']);
});
