// The pages of the payment sandbox, which moves no money, and the page after a checkout. A session id opens a page; its buttons send a
// signed event on the way of the provider's webhook.
import { randomUUID } from 'node:crypto';
import type { CommandContext } from '../../commands/aggregate.ts';
import type { PaymentNotice } from '../../commands/billing/billing.ts';
import { openPayments } from '../../commands/billing/payment.ts';
import { BEGINNING } from '../../events/event-store.ts';
import { Type } from '../../events/schema.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { HttpError } from '../frame/errors.ts';
import { asThrown, type Reply, routeOf } from '../frame/route.ts';
import { groupOf, type Parts } from '../group.ts';
import { openPaymentEvents } from './payment-events.ts';
import { isSandbox, type Sandbox, type SandboxCheckout } from './payments.ts';
import { paidNotices } from './sandbox-notices.ts';
import { checkoutPage, leadingPage, outcomePage, PAGE_HEADERS } from './sandbox-pages.ts';

function wire(parts: Parts) {
  const { payments, log, now } = parts;
  const sandbox = isSandbox(payments) ? payments : null;
  return { sandbox, events: openPaymentEvents(parts), payments: openPayments(log), now };
}
type Deps = ReturnType<typeof wire>;
const route = routeOf<Deps>(GATEWAY, 'billing');

/** A session id holds the whole order. */
const params = Type.Object({
  session_id: Type.String({
    minLength: 1,
    maxLength: 8000,
    description: 'The id of the checkout.',
    examples: ['eyJ…'],
  }),
});
const HTML = 'text/html; charset=utf-8';
const html = { content_type: HTML, schema: Type.String(), example: '<!doctype html>' };
const noCheckout = () => new HttpError(404, 'checkout_not_found', 'There is no such checkout, or it has expired.');
const checkoutClosed = () => new HttpError(409, 'checkout_closed', 'This checkout was paid or declined already.');
const GONE = {
  404: asThrown('There is no such checkout, it has expired, or a real payment provider is set up.', noCheckout()),
};
const CLOSED = {
  409: asThrown('The checkout was paid or declined already.', checkoutClosed()),
};

const show = route({
  id: 'showSandboxCheckout',
  method: 'GET',
  path: '/sandbox/checkout/{session_id}',
  access: 'none',
  summary: "Show the sandbox's checkout page",
  params,
  responses: { 200: { description: 'The page, without scripts. It moves no money.', ...html } },
  errors: GONE,
  async handler({ params: { session_id } }, deps) {
    const checkout = opened(session_id, deps);
    return page(checkoutPage(session_id, checkout, await stateOf(checkout, deps)));
  },
});

const answering = {
  method: 'POST',
  access: 'none',
  params,
  responses: {
    200: { description: 'A page that leads back to where the checkout was made.', ...html },
  },
  errors: { ...GONE, ...CLOSED },
} as const;

const pay = route({
  ...answering,
  id: 'paySandboxCheckout',
  path: '/sandbox/checkout/{session_id}/pay',
  summary: 'Pay at the sandbox, without money',
  description:
    'The sandbox sends a signed event, as a payment provider would, and then leads back. A checkout can be paid once.',
  async handler({ params: { session_id }, command }, deps) {
    const checkout = opened(session_id, deps);
    await assertOpen(checkout, deps);
    const at = new Date(deps.now()).toISOString();
    const position = await send(paidNotices(checkout, at), command(), deps);
    return { ...page(leadingPage(checkout.success_url)), position };
  },
});

const decline = route({
  ...answering,
  id: 'declineSandboxCheckout',
  path: '/sandbox/checkout/{session_id}/decline',
  summary: 'Decline to pay at the sandbox',
  description:
    'The sandbox sends a signed event, as a payment provider would, and then leads back. The checkout is closed.',
  async handler({ params: { session_id }, command }, deps) {
    const checkout = opened(session_id, deps);
    await assertOpen(checkout, deps);
    const { payment_id, user_id } = checkout;
    const at = new Date(deps.now()).toISOString();
    const notice = { type: 'declined', payment_id, user_id, at } as const;
    const position = await send([notice], command(), deps);
    return { ...page(leadingPage(checkout.cancel_url)), position };
  },
});

const OUTCOMES = ['done', 'cancelled'] as const;

const outcome = route({
  id: 'showCheckoutOutcome',
  method: 'GET',
  path: '/checkouts/{outcome}',
  access: 'none',
  summary: 'Show what follows a checkout that names no page of its own',
  params: Type.Object({ outcome: Type.Enum(OUTCOMES, { description: 'Whether the user has paid.' }) }),
  responses: { 200: { description: 'The page, the same for everybody.', ...html } },
  handler: ({ params }) => page(outcomePage(params.outcome)),
});

function opened(session_id: string, { sandbox }: { sandbox: Sandbox | null }): SandboxCheckout {
  const checkout = sandbox?.opened(session_id);
  if (checkout) return checkout;
  throw noCheckout();
}

async function stateOf({ payment_id }: SandboxCheckout, { payments }: Deps): Promise<'open' | 'paid' | 'declined'> {
  const { state } = await payments.read(payment_id);
  if (state.received) return 'paid';
  return state.is_declined ? 'declined' : 'open';
}

async function assertOpen(checkout: SandboxCheckout, deps: Deps): Promise<void> {
  if ((await stateOf(checkout, deps)) === 'open') return;
  throw checkoutClosed();
}

/** Signs the notices and takes them as if they had come from outside. Returns the position that the answer waits for. */
async function send(notices: readonly PaymentNotice[], context: CommandContext, { sandbox, events }: Deps) {
  const { raw, headers } = sandbox!.signed(`sandbox_event_${randomUUID()}`, notices);
  return (await events.take(raw, (name) => headers[name] ?? '', context)) ?? BEGINNING;
}

const page = (body: string): Reply => ({ body, headers: PAGE_HEADERS });

export const group = groupOf(wire, [show, pay, decline, outcome]);
