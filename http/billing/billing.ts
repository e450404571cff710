// The gateway's routes that sell: the catalogue, checkouts of credits and of plans, and the portal of the payment provider.
import type { CommandContext } from '../../commands/aggregate.ts';
import {
  CURRENCY,
  creditsOf,
  PACKAGES,
  PAID_PLANS,
  PLANS,
  type Plan,
  packageOf,
} from '../../commands/billing/plans.ts';
import { openSubscriptions } from '../../commands/billing/subscription.ts';
import { Type } from '../../events/schema.ts';
import { BILLING_INTERVALS, type BillingInterval, PLAN_NAMES, type PlanName } from '../../events/subscription.ts';
import { subscriptions } from '../../readmodels/billing/subscriptions.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { HttpError, retryLater } from '../frame/errors.ts';
import { jsonBody } from '../frame/request-bodies.ts';
import { asThrown, type Caller, routeOf } from '../frame/route.ts';
import { Count, listOf } from '../frame/schemas.ts';
import { groupOf, type Parts } from '../group.ts';
import { alreadySubscribed, customersIn, openCheckouts } from './checkouts.ts';
import { asked, providerAway } from './payment-events.ts';
import type { OrderItem } from './payments.ts';
import { openReturnUrls } from './return-urls.ts';

const wire = ({ log, logger, read, payments, now, public_url, config }: Parts) => ({
  logger,
  payments,
  read: read({ subscriptions }),
  commands: openSubscriptions(log),
  urls: openReturnUrls(public_url, config.payment_return_origins),
  now,
  signup_credits: config.signup_credits,
});
type Deps = ReturnType<typeof wire>;
const route = routeOf<Deps>(GATEWAY, 'billing');

const Cents = (description: string) => Type.Integer({ minimum: 0, description });
const Currency = Type.String({ description: 'ISO 4217, in lower case.', examples: [CURRENCY] });
const ReturnUrl = (description: string) => Type.Optional(Type.String({ minLength: 1, maxLength: 1000, description }));
const SUCCESS_URL = ReturnUrl(
  'Where the page leads after a payment: a path of this service, or a URL of an allowed origin.',
);
const CANCEL_URL = ReturnUrl(
  'Where the page leads without a payment: a path of this service, or a URL of an allowed origin.',
);

const PackageView = Type.Object(
  {
    package_id: Type.String(),
    name: Type.String(),
    credits: Count('Credits, which never expire.'),
    price_cents: Cents('The price in cents, without taxes.'),
    currency: Currency,
  },
  { $id: 'CreditPackage' },
);
const packageViews = PACKAGES.map((each) => ({ ...each, currency: CURRENCY }));

const packages = route({
  id: 'listCreditPackages',
  method: 'GET',
  path: '/credits/packages',
  access: 'none',
  summary: 'List the packages of credits to buy',
  responses: { 200: listOf('All packages.', PackageView, packageViews[0]!, PACKAGES.length) },
  handler: () => ({ body: whole(packageViews) }),
});

const PlanView = Type.Object(
  {
    plan: Type.Enum(PLAN_NAMES),
    name: Type.String(),
    credits_per_month: Count(
      'Credits of a month, which expire with the paid period; those of `free` are granted once.',
    ),
    price_cents: Type.Object(
      {
        month: Cents('The price of a month in cents.'),
        year: Cents('The price of a year in cents: that of ten months.'),
      },
      { $id: 'PlanPrices' },
    ),
    currency: Currency,
  },
  { $id: 'Plan' },
);
const planView = ({ credits, ...plan }: Plan) => ({ ...plan, credits_per_month: credits, currency: CURRENCY });

const plans = route({
  id: 'listPlans',
  method: 'GET',
  path: '/v2/subscription/plans',
  access: 'none',
  summary: 'List the plans to subscribe to',
  description:
    'A yearly subscription gets the credits of twelve months with each payment. They expire at the end of the year.',
  responses: { 200: listOf('All plans, the smallest first.', PlanView, planView(PLANS.starter), PLAN_NAMES.length) },
  handler: (_request, { signup_credits }) => {
    const all = { ...PLANS, free: { ...PLANS.free, credits: signup_credits } };
    return { body: whole(PLAN_NAMES.map((name) => planView(all[name]))) };
  },
});

const whole = <Item>(items: readonly Item[]) => ({ items, total: items.length, limit: items.length, offset: 0 });

const CheckoutView = Type.Object(
  {
    checkout_url: Type.String({ format: 'uri', description: 'The page on which to pay.' }),
    session_id: Type.String(),
  },
  { $id: 'Checkout' },
);
const checkoutExample = {
  checkout_url: 'https://checkout.stripe.com/c/pay/cs_test_a1b2c3',
  session_id: 'cs_test_a1b2c3',
};
const noCustomer = () => new HttpError(409, 'no_customer', 'You have no payments yet, and so nothing to change.');
const AWAY = {
  503: asThrown('The operator has set up no payment provider, or the provider does not answer.', providerAway()),
};

const purchase = route({
  id: 'purchaseCredits',
  makes: true,
  method: 'POST',
  path: '/credits/purchase',
  access: 'user',
  summary: 'Buy a package of credits',
  description:
    'The answer names a page on which to pay. The credits come when the payment provider confirms the payment.',
  body: jsonBody(
    Type.Object(
      {
        package_id: Type.Enum(PACKAGES.map(({ package_id }) => package_id)),
        success_url: SUCCESS_URL,
        cancel_url: CANCEL_URL,
      },
      { $id: 'CreditPurchase' },
    ),
    { example: { package_id: 'credits_5000' } },
  ),
  responses: { 200: { description: 'The checkout.', schema: CheckoutView, example: checkoutExample } },
  errors: AWAY,
  async handler({ body, caller, command }, deps) {
    const { package_id, name, credits, price_cents } = packageOf(body.package_id)!;
    return checkout({ kind: 'package', package_id, name, credits, price_cents }, body, caller, command(), deps);
  },
});

const PlanOrder = Type.Object(
  {
    plan: Type.Enum(PAID_PLANS),
    interval: Type.Enum(BILLING_INTERVALS, { default: 'month' }),
    success_url: SUCCESS_URL,
    cancel_url: CANCEL_URL,
  },
  { $id: 'CreateCheckoutRequest' },
);

const subscribing = {
  method: 'POST',
  access: 'user',
  responses: { 200: { description: 'The checkout.', schema: CheckoutView, example: checkoutExample } },
  errors: {
    ...AWAY,
    409: asThrown('You have a subscription. The portal changes it.', alreadySubscribed()),
  },
} as const;
const description =
  'The answer names a page on which to pay. The plan begins when the payment provider confirms the payment, and renews itself.';

const subscribe = route({
  ...subscribing,
  id: 'createCheckout',
  makes: true,
  path: '/checkout/create',
  summary: 'Subscribe to a plan',
  description,
  body: jsonBody(PlanOrder, { example: { plan: 'pro', interval: 'month' } }),
  handler: ({ body, caller, command }, deps) => subscribeTo(body, caller, command(), deps),
});

const subscribeV2 = route({
  ...subscribing,
  id: 'createSubscriptionCheckout',
  makes: true,
  path: '/v2/subscription/checkout',
  summary: 'Subscribe to a plan from the list of plans',
  description: `${description} The same as \`POST /checkout/create\`.`,
  body: jsonBody(PlanOrder, { example: { plan: 'starter', interval: 'year' } }),
  handler: ({ body, caller, command }, deps) => subscribeTo(body, caller, command(), deps),
});

const portal = route({
  id: 'createPortal',
  makes: true,
  method: 'POST',
  path: '/portal/create',
  access: 'user',
  summary: 'Open the portal in which you change or cancel your subscription',
  body: jsonBody(
    Type.Object({ return_url: ReturnUrl('Where the portal leads back to.') }, { $id: 'CreatePortalRequest' }),
    { optional: true, example: { return_url: '/docs' } },
  ),
  responses: {
    200: {
      description: 'The portal.',
      schema: Type.Object({ portal_url: Type.String({ format: 'uri' }), session_id: Type.String() }, { $id: 'Portal' }),
      example: { portal_url: 'https://billing.stripe.com/p/session/test_a1b2c3', session_id: 'bps_a1b2c3' },
    },
  },
  errors: {
    ...AWAY,
    409: asThrown('You have never paid.', noCustomer()),
  },
  async handler({ body, caller }, deps) {
    const return_url = deps.urls.of('return_url', body.return_url, '/checkouts/done');
    const { user_id } = caller;
    const provider = providerOf(deps);
    const known = customersIn(await deps.commands.read(user_id), await heardOf(user_id, deps), deps.now());
    const paid_before = known.length > 0 ? known : [null];
    for (const customer_id of paid_before) {
      const opened = await asked(() => provider.portal({ user_id, customer_id, return_url }), deps);
      if (opened !== null) return { body: opened };
    }
    throw noCustomer();
  },
});

interface Wanted {
  success_url?: string;
  cancel_url?: string;
}

async function checkout(
  item: OrderItem,
  wanted: Wanted,
  { user_id, email }: Caller,
  context: CommandContext,
  deps: Deps,
) {
  const success_url = deps.urls.of('success_url', wanted.success_url, '/checkouts/done');
  const cancel_url = deps.urls.of('cancel_url', wanted.cancel_url, '/checkouts/cancelled');
  const order = { user_id, email, item, currency: CURRENCY, success_url, cancel_url };
  const heard = await heardOf(user_id, deps);
  const checkouts = openCheckouts(providerOf(deps), deps.commands);
  return { body: await asked(() => checkouts.open({ order, heard, context }), deps) };
}

function subscribeTo(
  wanted: Wanted & { plan: PlanName; interval: BillingInterval },
  caller: Caller,
  context: CommandContext,
  deps: Deps,
) {
  const { plan, interval } = wanted;
  const { name, price_cents } = PLANS[plan];
  const price = { price_cents: price_cents[interval], credits: creditsOf(plan, interval) };
  return checkout({ kind: 'plan', plan, interval, name, ...price }, wanted, caller, context, deps);
}

/** The provider's id of the user in the last payment. */
const heardOf = async (user_id: string, { read }: Deps) => (await read.subscriptions.get(user_id))?.customer_id ?? null;

function providerOf({ payments }: Deps) {
  if (payments) return payments;
  throw retryLater(503, 'payments_unavailable', 'The operator has set up no payment provider.', 3600);
}

export const group = groupOf(wire, [packages, purchase, plans, subscribe, subscribeV2, portal]);
