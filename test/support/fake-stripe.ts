// A small part of Stripe's API on loopback, and the events that Stripe would send, signed by its own library.
import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import Stripe from 'stripe';
import { closeHttp, listenOnLoopback } from './loopback.ts';

export const WEBHOOK_SECRET = 'whsec_of_the_tests';

export interface FakeStripe {
  url: string;
  /** Every request that changed something: its path, and its form. */
  posted: { path: string; form: Record<string, string>; idempotency_key: string | undefined }[];
  /** Checkouts by id; `status` as Stripe has it. */
  checkouts: Map<string, { status: 'open' | 'complete' | 'expired' }>;
  /** The events that it keeps. */
  events: object[];
  /** The invoice that a payment intent paid. */
  invoices: Map<string, string>;
  /** The subscriptions that it has, as it answers them. */
  subscriptions: Map<string, object>;
  /** The subscriptions that were ended. */
  ended: string[];
  /** While true, every request is answered 500. */
  is_down: boolean;
  /** A customer that Stripe does not have. */
  unknown_customer: string | null;
  close(): Promise<void>;
}

const NO_CUSTOMER = {
  error: { type: 'invalid_request_error', code: 'resource_missing', param: 'customer', message: 'No such customer' },
};

interface Made {
  id: string;
  [field: string]: unknown;
}

export async function openFakeStripe(): Promise<FakeStripe> {
  const prices = new Map<string, Made>();
  const configurations: Made[] = [];
  const fake: Omit<FakeStripe, 'url' | 'close'> = {
    posted: [],
    checkouts: new Map(),
    events: [],
    invoices: new Map(),
    subscriptions: new Map(),
    ended: [],
    is_down: false,
    unknown_customer: null,
  };
  /** What was made, by idempotency key. */
  const made = new Map<string, object>();
  let count = 0;
  const urlOf = (id: string) => `https://stripe.example/${id}`;
  const list = (data: readonly unknown[]) => ({ object: 'list', data, has_more: false });

  async function answer(request: IncomingMessage): Promise<object | null> {
    const { pathname: path, searchParams: query } = new URL(request.url!, 'http://stripe');
    if (request.method === 'GET') {
      if (path === '/v1/prices') {
        return list([...prices.values()].filter(({ lookup_key }) => lookup_key === query.get('lookup_keys[0]')));
      }
      if (path.startsWith('/v1/prices/')) return prices.get(path.split('/').at(-1)!)!;
      if (path === '/v1/invoice_payments') {
        const invoice = fake.invoices.get(query.get('payment[payment_intent]')!);
        return list(invoice === undefined ? [] : [{ id: 'inpay_1', invoice }]);
      }
      if (path.startsWith('/v1/invoices/')) {
        const id = path.split('/').at(-1)!;
        const of_plan = { subscription_details: { subscription: 'sub_1' } };
        const paper = { number: 'A1-1', hosted_invoice_url: urlOf(id), invoice_pdf: urlOf(`${id}/pdf`) };
        return { id, parent: id.startsWith('in_package') ? null : of_plan, ...paper };
      }
      if (path.startsWith('/v1/payment_intents/')) {
        const id = path.split('/').at(-1)!;
        const latest_charge = { id: 'ch_1', receipt_number: '1234-5678', receipt_url: urlOf(`receipt/${id}`) };
        return { id, latest_charge };
      }
      if (path === '/v1/events') {
        const from_s = Number(query.get('created[gte]'));
        return list(fake.events.filter((event) => (event as { created: number }).created >= from_s));
      }
      if (path.startsWith('/v1/customers/')) {
        const id = path.split('/').at(-1)!;
        return id === fake.unknown_customer ? { id, deleted: true } : { id };
      }
      if (path.startsWith('/v1/checkout/sessions/')) {
        const id = path.split('/').at(-1)!;
        const checkout = fake.checkouts.get(id);
        return checkout ? { id, ...checkout, url: checkout.status === 'open' ? urlOf(id) : null } : null;
      }
      if (path.startsWith('/v1/subscriptions/')) return fake.subscriptions.get(path.split('/').at(-1)!) ?? null;
      return list(configurations);
    }
    if (request.method === 'DELETE') {
      const id = path.split('/').at(-1)!;
      if (fake.ended.includes(id)) return null;
      fake.ended.push(id);
      return { id, status: 'canceled' };
    }
    const form = Object.fromEntries(new URLSearchParams(await text(request)));
    const idempotency_key = request.headers['idempotency-key'] as string | undefined;
    const known = idempotency_key !== undefined && made.get(idempotency_key);
    if (known) return known;
    fake.posted.push({ path, form, idempotency_key });
    const answered = make(path, form);
    if (answered && idempotency_key !== undefined) made.set(idempotency_key, answered);
    return answered;
  }

  function make(path: string, form: Record<string, string>): object | null {
    const [, of_checkout] = /^\/v1\/checkout\/sessions\/([^/]+)\/expire$/.exec(path) ?? [];
    if (of_checkout !== undefined) {
      const checkout = fake.checkouts.get(of_checkout);
      if (checkout?.status !== 'open') return null;
      checkout.status = 'expired';
      return { id: of_checkout, ...checkout };
    }
    if (form.customer !== undefined && form.customer === fake.unknown_customer) return null;
    const id = `fake_${++count}`;
    if (path === '/v1/prices') {
      const metadata = { plan: form['metadata[plan]'], interval: form['metadata[interval]'] };
      const euros = form['currency_options[eur][unit_amount]'];
      const options = euros !== undefined && { currency_options: { eur: { unit_amount: Number(euros) } } };
      const price = { ...form, ...options, id, product: `prod_${id}`, unit_amount: Number(form.unit_amount), metadata };
      prices.set(id, price);
      return price;
    }
    if (path === '/v1/billing_portal/configurations') {
      configurations.push({ id, metadata: { version: form['metadata[version]'] } });
    }
    if (path === '/v1/checkout/sessions') fake.checkouts.set(id, { status: 'open' });
    return { id, url: urlOf(id) };
  }

  const server = createServer(async (request, response) => {
    response.setHeader('content-type', 'application/json');
    if (fake.is_down) {
      request.resume();
      response.statusCode = 500;
      response.setHeader('stripe-should-retry', 'false');
      response.end('{"error":{"type":"api_error","message":"down"}}');
      return;
    }
    const answered = await answer(request);
    if (answered === null) response.statusCode = 400;
    response.end(JSON.stringify(answered ?? NO_CUSTOMER));
  });
  const port = await listenOnLoopback(server);
  return Object.assign(fake, {
    url: `http://127.0.0.1:${port}`,
    close: () => closeHttp(server),
  });
}

const stripe = new Stripe('sk_test_unused');
let events = 0;

/** An event of Stripe's as it comes: the raw body and its signature. `created`: seconds since the epoch. */
export function stripeEvent(type: string, object: object, created = Math.floor(Date.now() / 1000), more: object = {}) {
  const event = {
    id: `evt_${++events}`,
    object: 'event',
    api_version: Stripe.API_VERSION,
    type,
    created,
    data: { object },
    ...more,
  };
  const payload = JSON.stringify(event);
  const signature = stripe.webhooks.generateTestHeaderString({ payload, secret: WEBHOOK_SECRET });
  return { id: event.id, event, raw: Buffer.from(payload), headers: { 'stripe-signature': signature } };
}
