// The catalogue: the plans to subscribe to, and the packages of credits to buy. Prices are in cents of `CURRENCY`, without taxes.
import { BILLING_INTERVALS, type BillingInterval, PLAN_NAMES, type PlanName } from '../../events/subscription.ts';

export const CURRENCY = 'usd';

export interface Plan {
  plan: PlanName;
  name: string;
  /** The credits of a month; those of `free` are granted once. */
  credits: number;
  price_cents: Readonly<Record<BillingInterval, number>>;
}
export type PaidPlan = Exclude<PlanName, 'free'>;

/** The months of an interval. A period's credits are those of all its months, and expire with it. */
export const MONTHS: Readonly<Record<BillingInterval, number>> = { month: 1, year: 12 };
/** A year costs as much as this many months. */
const MONTHS_OF_YEARLY_PRICE = 10;

const paid = (plan: PaidPlan, name: string, credits: number, month: number): Plan => ({
  plan,
  name,
  credits,
  price_cents: { month, year: MONTHS_OF_YEARLY_PRICE * month },
});

export const PLANS: Readonly<Record<PlanName, Plan>> = {
  free: { plan: 'free', name: 'Free', credits: 300, price_cents: { month: 0, year: 0 } },
  starter: paid('starter', 'Starter', 15_000, 900),
  pro: paid('pro', 'Pro', 50_000, 2_900),
  agency: paid('agency', 'Agency', 200_000, 9_900),
};
export const PAID_PLANS = PLAN_NAMES.filter((plan): plan is PaidPlan => plan !== 'free');

export const PLAN_PRICES = PAID_PLANS.flatMap((plan) =>
  BILLING_INTERVALS.map((interval) => {
    const { name, price_cents } = PLANS[plan];
    return { plan, interval, name, price_cents: price_cents[interval], currency: CURRENCY };
  }),
);

/** The credits that one period of a plan has. */
export const creditsOf = (plan: PlanName, interval: BillingInterval): number => PLANS[plan].credits * MONTHS[interval];

/** The first job of an API key to complete begins a month of this plan, once for each user. */
export const TRIAL_PLAN = 'pro';

export interface Package {
  package_id: string;
  name: string;
  credits: number;
  price_cents: number;
}

/** Bought credits never expire. */
export const PACKAGES: readonly Package[] = [
  { package_id: 'credits_5000', name: '5,000 credits', credits: 5_000, price_cents: 500 },
  { package_id: 'credits_25000', name: '25,000 credits', credits: 25_000, price_cents: 2_000 },
  { package_id: 'credits_100000', name: '100,000 credits', credits: 100_000, price_cents: 6_000 },
  { package_id: 'credits_500000', name: '500,000 credits', credits: 500_000, price_cents: 25_000 },
];
export const packageOf = (package_id: string): Package | undefined =>
  PACKAGES.find((each) => each.package_id === package_id);
