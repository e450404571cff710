// The sandbox's portal: what a user changes at a payment provider, and what such a provider reports by itself, as buttons. Each sends a
// signed event on the way of the provider's webhook.
import { randomUUID } from 'node:crypto';
import { openPayments, stands } from '../../commands/billing/payment.ts';
import { CURRENCY, PLANS } from '../../commands/billing/plans.ts';
import { openSubscriptions } from '../../commands/billing/subscription.ts';
import { Type } from '../../events/schema.ts';
import type { SubscriptionChanged } from '../../events/subscription.ts';
import { subscriptionAt } from '../../events/subscription-state.ts';
import { creditLots } from '../../readmodels/billing/credits.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { HttpError } from '../frame/errors.ts';
import { asThrown, routeOf } from '../frame/route.ts';
import { groupOf, type Parts } from '../group.ts';
import { openPaymentEvents } from './payment-events.ts';
import { isSandbox, type PaymentNotice } from './payments.ts';
import { periodNotices } from './sandbox-notices.ts';
import { leadingPage, PAGE_HEADERS, type PortalPayment, portalPage } from './sandbox-pages.ts';

function wire(parts: Parts) {
  const { payments, log, now, read } = parts;
  const commands = { payments: openPayments(log), subscriptions: openSubscriptions(log) };
  const sandbox = isSandbox(payments) ? payments : null;
  return { sandbox, events: openPaymentEvents(parts), ...commands, read: read({ creditLots }), now };
}
type Deps = ReturnType<typeof wire>;
const route = routeOf<Deps>(GATEWAY, 'billing');

const html = { content_type: 'text/html; charset=utf-8', schema: Type.String(), example: '<!doctype html>' };
const SessionId = Type.String({
  minLength: 1,
  maxLength: 8000,
  description: 'The id of the portal.',
  examples: ['eyJ…'],
});
const noPortal = () => new HttpError(404, 'portal_not_found', 'There is no such portal, or it has expired.');
const nothingToChange = () => new HttpError(409, 'nothing_to_change', 'There is no subscription or payment to change.');
const GONE = {
  404: asThrown('There is no such portal, or it has expired.', noPortal()),
};

const show = route({
  id: 'showSandboxPortal',
  method: 'GET',
  path: '/sandbox/portal/{session_id}',
  access: 'none',
  summary: "Show the sandbox's portal",
  params: Type.Object({ session_id: SessionId }),
  responses: { 200: { description: 'The page, without scripts. It moves no money.', ...html } },
  errors: GONE,
  async handler({ params: { session_id } }, deps) {
    const { user_id, return_url } = opened(session_id, deps);
    const current = subscriptionAt(await deps.subscriptions.read(user_id), deps.now());
    const plan = current && !current.is_trial ? current : null;
    return { body: portalPage(session_id, return_url, plan, await paymentsOf(user_id, deps)), headers: PAGE_HEADERS };
  },
});

const ACTIONS = ['cancel', 'renew', 'fail', 'refund', 'dispute', 'win'] as const;
type Action = (typeof ACTIONS)[number];

const act = route({
  id: 'actInSandboxPortal',
  method: 'POST',
  path: '/sandbox/portal/{session_id}/{action}',
  access: 'none',
  summary: "Change a subscription or take back a payment in the sandbox's portal",
  description: 'The sandbox sends signed events, as a payment provider would.',
  params: Type.Object({
    session_id: SessionId,
    action: Type.Enum(ACTIONS, {
      description:
        '`cancel`: the subscription ends with its period. `renew`: the next period begins and is paid; `fail`: it is not paid. `refund`: the ' +
        'payment goes back; `dispute`: the holder of the card has it taken back; `win`: the operator gets it again.',
    }),
  }),
  query: Type.Object({
    payment_id: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description: 'The payment that goes back, for `refund`, `dispute` and `win`.',
        examples: ['sandbox_2f1c9f2e-5d0c-4b7b-9a43-0c5c5f4b7d11'],
      }),
    ),
  }),
  responses: { 200: { description: 'A page that leads back to the portal.', ...html } },
  errors: {
    ...GONE,
    409: asThrown('There is no such subscription or payment.', nothingToChange()),
  },
  async handler({ params: { session_id, action }, query, command }, deps) {
    const { user_id } = opened(session_id, deps);
    const at = new Date(deps.now()).toISOString();
    const notices = query.payment_id
      ? await aboutPayment(action, query.payment_id, user_id, at, deps)
      : await aboutPlan(action, user_id, at, deps);
    if (notices.length === 0) throw nothingToChange();
    const { raw, headers } = deps.sandbox!.signed(`sandbox_event_${randomUUID()}`, notices);
    const position = await deps.events.take(raw, (name) => headers[name] ?? '', command());
    const body = leadingPage(`../${session_id}`);
    return { body, headers: PAGE_HEADERS, ...(position !== null && { position }) };
  },
});

function opened(session_id: string, { sandbox }: Deps) {
  const portal = sandbox?.openedPortal(session_id);
  if (portal) return portal;
  throw noPortal();
}

/** The ids of lots name the payments that opened them. */
async function paymentsOf(user_id: string, { read, payments }: Deps): Promise<PortalPayment[]> {
  const lots = await read.creditLots.find({ user_id }, { sort: { created_at: 1 }, limit: 100 });
  const ids = lots
    .filter(({ transaction_type }) => transaction_type === 'purchase' || transaction_type === 'subscription')
    .map(({ lot_id }) => lot_id.slice(lot_id.indexOf(':') + 1));
  const found = await Promise.all(ids.map(async (id) => ({ id, state: (await payments.read(id)).state })));
  return found.flatMap(({ id, state }) => {
    const is_reversed = state.reversals.values().some((reversal) => stands(reversal, state));
    return state.received ? [{ payment_id: id, ...state.received, is_reversed }] : [];
  });
}

async function aboutPlan(action: Action, user_id: string, at: string, deps: Deps): Promise<PaymentNotice[]> {
  const state = await deps.subscriptions.read(user_id);
  // The one that the page shows, or else the one that ended last, which a renewal brings back.
  const shown = subscriptionAt(state, deps.now())?.subscription_id;
  const open = state.subscriptions.filter(({ status }) => status === 'active' || status === 'past_due');
  const newest = open.toSorted((a, b) => (a.period_end < b.period_end ? 1 : -1))[0];
  const current = open.find(({ subscription_id }) => subscription_id === shown) ?? newest;
  if (!current) return [];
  const { changed_at: _, ...subscription } = current;
  const { subscription_id, plan, interval, period_end } = current;
  switch (action) {
    case 'cancel':
      return [changed({ ...subscription, cancel_at: period_end })];
    case 'renew': {
      const paid = {
        at,
        user_id,
        customer_id: null,
        currency: CURRENCY,
        amount_cents: PLANS[plan].price_cents[interval],
      };
      // A period that nobody paid is not made up for.
      const period_start = shown === subscription_id ? period_end : at;
      // Of the period, so that it is paid once, however often the button is pressed.
      const payment_id = `${subscription_id}_${Date.parse(period_start)}`;
      return periodNotices({ subscription_id, plan, interval, period_start }, { ...paid, payment_id });
    }
    case 'fail':
      return [
        changed({ ...subscription, status: 'past_due' }),
        { type: 'period_failed', at, user_id, subscription_id, payment_id: `sandbox_${randomUUID()}` },
      ];
    default:
      return [];
  }
  function changed(state: Omit<SubscriptionChanged, 'changed_at'>): PaymentNotice {
    return { type: 'subscription_changed', at, user_id, subscription: state };
  }
}

async function aboutPayment(
  action: Action,
  payment_id: string,
  user_id: string,
  at: string,
  { payments }: Deps,
): Promise<PaymentNotice[]> {
  const { state } = await payments.read(payment_id);
  const { received, reversals } = state;
  if (received?.user_id !== user_id) return [];
  const standing = [...reversals.values()].filter((each) => stands(each, state)).map(({ reversal_id }) => reversal_id);
  if (action === 'win') return standing.map((reversal_id) => ({ type: 'lifted', at, payment_id, reversal_id }));
  if ((action !== 'refund' && action !== 'dispute') || standing.length > 0) return [];
  const { amount_cents, currency } = received;
  const reversal_id = `${action}_${payment_id}_${reversals.size}`;
  const reversal = { reversal_id, kind: action, amount_cents, currency };
  return [{ type: 'reversed', at, payment_id, reversal }];
}

export const group = groupOf(wire, [show, act]);
