import test from 'ava';
import { correctedUsage, type Usage, usageAfter, usageAt } from '../../events/usage.ts';

const NOVEMBER = { period_start: '2026-11-01T00:00:00.000Z', period_end: '2026-12-01T00:00:00.000Z' };
const reserved = (amount: number) => ({ transaction_type: 'reservation', amount: -amount }) as const;
const refunded = (amount: number) => ({ transaction_type: 'refund', amount }) as const;
const renewed = (expires_at: string) => ({ transaction_type: 'subscription', amount: 15_000, expires_at }) as const;

/** The usage after entries at their times. */
const after = (...entries: [at: string, entry: Parameters<typeof usageAfter>[1]][]) =>
  entries.reduce<Usage | null>((usage, [at, entry]) => usageAfter(usage, entry, at), null);

test('usage is what jobs reserved in the calendar month, less its refunds', (t) => {
  const used = after(['2026-11-03T10:00:00.000Z', reserved(50)], ['2026-11-30T23:59:59.999Z', refunded(20)]);
  t.deepEqual(used, { ...NOVEMBER, used: 30 });
  t.is(usageAt(used, '2026-11-30T23:59:59.999Z').used, 30);
  t.deepEqual(usageAt(used, '2026-12-01T00:00:00.000Z'), {
    period_start: '2026-12-01T00:00:00.000Z',
    period_end: '2027-01-01T00:00:00.000Z',
    used: 0,
  });
});

test("a refund in the month after lowers no month's usage below zero", (t) => {
  t.is(after(['2026-11-03T10:00:00.000Z', reserved(50)], ['2026-12-01T00:00:01.000Z', refunded(20)])!.used, 0);
});

test("a subscription's grant opens its own period", (t) => {
  const [start, end] = ['2026-11-17T08:00:00.000Z', '2026-12-17T08:00:00.000Z'];
  const used = after(
    ['2026-11-03T10:00:00.000Z', reserved(50)],
    [start, renewed(end)],
    ['2026-12-02T00:00:00.000Z', reserved(7)],
  );
  t.deepEqual(used, { period_start: start, period_end: end, used: 7 });
});

test('more credits for the same period keep its usage', (t) => {
  const end = '2026-12-17T08:00:00.000Z';
  const first = ['2026-11-17T08:00:00.000Z', renewed(end)] as const;
  const used = after([...first], ['2026-11-20T08:00:00.000Z', reserved(9)], ['2026-11-21T08:00:00.000Z', renewed(end)]);
  t.is(used!.used, 9);
});

test('the rest of the month follows a subscription that was not renewed', (t) => {
  const end = '2026-12-17T08:00:00.000Z';
  const used = after(['2026-11-17T08:00:00.000Z', renewed(end)], ['2026-12-16T00:00:00.000Z', reserved(9)]);
  t.deepEqual(usageAt(used, '2026-12-18T00:00:00.000Z'), {
    period_start: end,
    period_end: '2027-01-01T00:00:00.000Z',
    used: 0,
  });
});

test('a correction holds in its own period', (t) => {
  const used: Usage = { ...NOVEMBER, used: 30 };
  t.is(correctedUsage(used, { period_start: NOVEMBER.period_start, added: -10 }), 20);
  t.is(correctedUsage(used, { period_start: NOVEMBER.period_start, added: -40 }), 0);
  t.is(correctedUsage(used, { period_start: '2026-10-01T00:00:00.000Z', added: -10 }), 30);
  t.is(correctedUsage(used, null), 30);
});

test('after a clock that was a year ahead is set back, the period is that of the right time, with the usage so far', (t) => {
  const used = after(['2026-11-03T10:00:00.000Z', reserved(5)], ['2027-11-03T10:00:00.000Z', reserved(50)]);
  t.deepEqual(usageAt(used, '2026-11-04T10:00:00.000Z'), { ...NOVEMBER, used: 50 });
  const renewal = after(['2026-11-17T08:00:00.000Z', renewed('2026-12-17T08:00:00.000Z')]);
  t.is(usageAt(renewal, '2026-11-17T07:59:59.900Z'), renewal!, 'clocks of processes differ');
});

test('the late news of a payment for a former period keeps the usage', (t) => {
  const used = after(
    ['2026-11-17T08:00:00.000Z', renewed('2026-12-17T08:00:00.000Z')],
    ['2026-11-18T00:00:00.000Z', reserved(7)],
    ['2026-11-18T00:00:01.000Z', renewed('2026-11-17T08:00:00.000Z')],
  );
  t.is(used!.used, 7);
  t.is(used!.period_end, '2026-12-17T08:00:00.000Z');
});
