// The gateway's routes for the payments of a user, and their documents at the provider.
import { Nullable, Type } from '../../events/schema.ts';
import { BILLING_INTERVALS, PLAN_NAMES } from '../../events/subscription.ts';
import {
  type PaymentDocument,
  payments as paymentDocuments,
  returnedCents,
} from '../../readmodels/billing/payments.ts';
import { pageOf } from '../../readmodels/pages.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { HttpError } from '../frame/errors.ts';
import { asThrown, routeOf } from '../frame/route.ts';
import { Count, listOf, listReply, Time } from '../frame/schemas.ts';
import { groupOf, type Parts } from '../group.ts';
import { paging } from '../results/result-view.ts';
import { asked, providerAway } from './payment-events.ts';
import { isCharging } from './payments.ts';

const wire = ({ read, payments, logger }: Parts) => ({
  ...{ provider: payments, logger },
  read: read({ payments: paymentDocuments }),
});
const route = routeOf<ReturnType<typeof wire>>(GATEWAY, 'billing');

const Payment = Type.Object(
  {
    payment_id: Type.String({ description: "The provider's id." }),
    paid_at: Time(),
    package_id: Nullable(Type.String({ description: 'The package; null for a plan.' })),
    plan: Nullable(Type.Enum(PLAN_NAMES, { description: 'The plan; null for a package.' })),
    interval: Nullable(Type.Enum(BILLING_INTERVALS)),
    period_start: Nullable(Time()),
    period_end: Nullable(Time()),
    credits: Count('Credits that it brought.'),
    currency: Type.String({ description: 'ISO 4217, in lower case.' }),
    amount_cents: Count("What was to pay, with taxes, in the currency's smallest unit."),
    tax_cents: Count('The taxes in it, where they are known.'),
    paid_cents: Count('Money that came; your balance at the provider paid the rest.'),
    returned_cents: Count('Money that went back, by refunds and disputes.'),
    has_document: Type.Boolean({ description: 'The provider has an invoice or a receipt of it.' }),
  },
  { $id: 'Payment' },
);
const example = {
  ...{ payment_id: 'in_1PqQ2r', paid_at: '2026-01-31T09:00:00.000Z', package_id: null, plan: 'pro', interval: 'month' },
  ...{ period_start: '2026-01-31T09:00:00.000Z', period_end: '2026-02-28T09:00:00.000Z', credits: 50_000 },
  ...{ currency: 'usd', amount_cents: 2900, tax_cents: 0, paid_cents: 2900, returned_cents: 0, has_document: true },
};

function viewOf(payment: PaymentDocument) {
  const { _id: payment_id, user_id: _, provider, reversals: _r, lifted: _l, is_sandbox_untold: _s, ...facts } = payment;
  return { payment_id, ...facts, returned_cents: returnedCents(payment), has_document: provider !== 'sandbox' };
}

const list = route({
  id: 'listPayments',
  method: 'GET',
  path: '/users/me/payments',
  access: 'user',
  summary: 'List your payments, the newest first',
  query: Type.Object(paging(20)),
  responses: { 200: listOf('A page of payments.', Payment, example, 20) },
  async handler({ caller: { user_id }, query }, { read }) {
    return listReply(await pageOf(read.payments, { user_id }, { paid_at: -1, _id: -1 }, query), viewOf, query);
  },
});

const noDocument = () => new HttpError(404, 'document_not_found', 'There is no such payment, or it has no document.');

const document = route({
  id: 'getPaymentDocument',
  method: 'GET',
  path: '/users/me/payments/{payment_id}/document',
  access: 'user',
  summary: 'Find the invoice or the receipt of a payment',
  description:
    'The addresses are those of the payment provider, and lead to the document without signing in: keep them to yourself.',
  params: Type.Object({
    payment_id: Type.String({ minLength: 1, maxLength: 200, description: 'The payment.', examples: ['in_1PqQ2r'] }),
  }),
  responses: {
    200: {
      description: 'The document.',
      schema: Type.Object(
        {
          number: Nullable(Type.String({ description: 'The number of the invoice or receipt.' })),
          url: Type.String({ format: 'uri', description: 'A page that shows it.' }),
          pdf_url: Nullable(Type.String({ format: 'uri' })),
        },
        { $id: 'PaymentDocument' },
      ),
      example: {
        number: 'A1B2C3-0001',
        url: 'https://invoice.stripe.com/i/acct_1/test_a1b2c3',
        pdf_url: 'https://pay.stripe.com/invoice/acct_1/test_a1b2c3/pdf',
      },
    },
  },
  errors: {
    404: asThrown('You have no such payment, or the provider no document of it.', noDocument()),
    503: asThrown('The payment provider does not answer.', providerAway()),
  },
  async handler({ caller: { user_id }, params: { payment_id } }, { read, provider, logger }) {
    const payment = await read.payments.get(payment_id);
    if (payment?.user_id !== user_id || !isCharging(provider) || payment.provider !== provider.name) throw noDocument();
    const found = await asked(() => provider.documentOf(payment_id), { logger }, { payment_id });
    if (found === null) throw noDocument();
    return { body: found };
  },
});

export const group = groupOf(wire, [list, document]);
