// The invoice of a payment at Stripe, or else the receipt of its charge.
import type Stripe from 'stripe';
import type { PaymentPaper } from '../../http/billing/payments.ts';
import { idOf } from './stripe-events.ts';

/** Null for a payment without one, such as of nothing. */
export async function documentOf(stripe: Stripe, payment_id: string): Promise<PaymentPaper | null> {
  if (payment_id.startsWith('in_')) return invoiceOf(stripe, payment_id);
  if (!payment_id.startsWith('pi_')) return null;
  const payment = { type: 'payment_intent', payment_intent: payment_id } as const;
  const { data } = await stripe.invoicePayments.list({ payment, limit: 1 });
  const invoice = data[0] ? await invoiceOf(stripe, idOf(data[0].invoice)) : null;
  if (invoice !== null) return invoice;
  const { latest_charge } = await stripe.paymentIntents.retrieve(payment_id, { expand: ['latest_charge'] });
  if (latest_charge === null || typeof latest_charge === 'string' || !latest_charge.receipt_url) return null;
  return { number: latest_charge.receipt_number, url: latest_charge.receipt_url, pdf_url: null };
}

async function invoiceOf(stripe: Stripe, invoice_id: string): Promise<PaymentPaper | null> {
  const { number, hosted_invoice_url, invoice_pdf } = await stripe.invoices.retrieve(invoice_id);
  if (!hosted_invoice_url) return null;
  return { number, url: hosted_invoice_url, pdf_url: invoice_pdf ?? null };
}
