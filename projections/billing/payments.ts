// The read model of payments. Their facts may come in any order.
import { idOf } from '../../events/streams.ts';
import type { LogEvent } from '../../events/vocabulary.ts';
import { type PaymentDocument, payments } from '../../readmodels/billing/payments.ts';
import { isoOf } from '../../readmodels/growth/calendar.ts';
import { type Projection, projection } from '../projection.ts';
import { readAll, replaceAll } from '../slices.ts';

type Page = Map<string, PaymentDocument>;

export const paymentsProjection: Projection = projection({
  name: 'payments',
  version: 2,
  collections: [payments],
  covers: ['payment'],
  ignores: ['PaymentDeclined'],
  begin: async (open, events): Promise<Page> => readAll(await open(payments), events.map(paymentIdOf)),
  on: {
    PaymentReceived({ stream, data }, page) {
      const { user_id, provider, paid_at, package_id, period, credits, currency, amount_cents } = data;
      const { tax_cents = 0, paid_cents = amount_cents } = data;
      const { plan = null, interval = null, period_start = null, period_end = null } = period ?? {};
      change(page, stream, (payment) => ({
        ...payment,
        ...{ user_id, provider, paid_at: isoOf(paid_at), package_id, plan, interval, period_start, period_end },
        ...{ credits, currency, amount_cents, tax_cents, paid_cents },
        is_sandbox_untold: provider === 'sandbox',
      }));
    },
    PaymentReversed({ stream, data: { reversal_id, kind, currency, amount_cents, reversed_at } }, page) {
      const reversal = { reversal_id, kind, currency, amount_cents, at: isoOf(reversed_at) };
      change(page, stream, (payment) => ({ ...payment, reversals: withNewest(payment.reversals, reversal) }));
    },
    PaymentReversalLifted({ stream, data: { reversal_id, lifted_at } }, page) {
      const lifted = { reversal_id, at: isoOf(lifted_at) };
      change(page, stream, (payment) => ({ ...payment, lifted: withNewest(payment.lifted, lifted) }));
    },
    PaymentIssueRaised({ data: { reason, subject } }, page) {
      const payment = reason === 'sandbox_data' && page.get(subject);
      if (payment) page.set(subject, { ...payment, is_sandbox_untold: false });
    },
  },
  async end(page, open) {
    await replaceAll(await open(payments), page.values());
  },
});

const NOTHING = {
  is_sandbox_untold: false,
  ...{ user_id: null, provider: null, paid_at: null, package_id: null, plan: null, interval: null },
  ...{ period_start: null, period_end: null, credits: 0, currency: '', amount_cents: 0, tax_cents: 0, paid_cents: 0 },
};

const paymentIdOf = ({ type, stream, data }: LogEvent): string =>
  type === 'PaymentIssueRaised' ? data.subject : idOf(stream);

function change(page: Page, stream: string, by: (payment: PaymentDocument) => PaymentDocument): void {
  const _id = idOf(stream);
  page.set(_id, by(page.get(_id) ?? { _id, ...NOTHING, reversals: [], lifted: [] }));
}

function withNewest<News extends { reversal_id: string; at: string }>(known: readonly News[], news: News): News[] {
  const before = known.find(({ reversal_id }) => reversal_id === news.reversal_id);
  if (before && before.at >= news.at) return [...known];
  return [...known.filter((each) => each !== before), news];
}
