// What a user's subscription events amount to: the fold that the aggregate and the read model share, and the plan that follows from it
// at a time. The fold keeps the newest state of each subscription by the provider's clock, so the order of arrival makes no difference.
import type {
  BillingInterval,
  CheckoutOpened,
  PlanName,
  SubscriptionChanged,
  SubscriptionPeriodPaid,
  SubscriptionStatus,
  TrialStarted,
} from './subscription.ts';
import { PLAN_NAMES, SUBSCRIPTION_STATUSES, type SubscriptionEvent } from './subscription.ts';

/** After a failed payment the plan stays for this long. */
export const GRACE_MS = 7 * 86_400_000;
/** Until when a plan stays that was not paid at this time. */
export const afterGrace = (time: string) => new Date(Date.parse(time) + GRACE_MS).toISOString();

export interface UnpaidPeriod {
  payment_id: string;
  subscription_id: string;
  failed_at: string;
  grace_until: string;
  /** Whether the log has the end of the grace. */
  is_downgraded: boolean;
}

export interface SubscriptionState {
  /** Each subscription of the user, in order of their ids. A user has one; two checkouts that were paid at the same time make two. */
  subscriptions: SubscriptionChanged[];
  unpaid: UnpaidPeriod[];
  /** The ids of the payments made, because the news of an earlier failure may come after them. */
  paid: string[];
  /** What was last paid of each subscription. Read models of earlier versions lack it. */
  paid_plans?: PaidPlan[];
  trial: TrialStarted | null;
  /** The provider's id of the user that the service had made; absent without one. */
  assigned_customer_id?: string | null;
  /** How many checkouts were opened, and the last one of each kind; absent before the first. */
  checkouts?: { opened: number } & Partial<Record<CheckoutOpened['kind'], CheckoutOpened>>;
}

interface PaidPlan {
  subscription_id: string;
  plan: PlanName;
  interval: BillingInterval;
  paid_at: string;
}

export const noSubscription = (): SubscriptionState => ({ subscriptions: [], unpaid: [], paid: [], trial: null });

/** Returns the state after the event, and leaves the state before it as it is. */
export function afterSubscriptionEvent(state: SubscriptionState, { type, data }: SubscriptionEvent): SubscriptionState {
  switch (type) {
    case 'SubscriptionChanged': {
      const others = state.subscriptions.filter(({ subscription_id }) => subscription_id !== data.subscription_id);
      const unpaid = state.unpaid.filter((each) => !isSettledBy(data, each));
      return { ...state, subscriptions: [...others, data].sort(byId), unpaid };
    }
    case 'SubscriptionPeriodPaid': {
      const { payment_id } = data;
      const paid = state.paid.includes(payment_id) ? state.paid : [...state.paid, payment_id];
      const unpaid = state.unpaid.filter((each) => each.payment_id !== payment_id);
      return { ...state, paid, unpaid, paid_plans: withPaid(state.paid_plans, data) };
    }
    case 'SubscriptionPaymentFailed': {
      const { payment_id } = data;
      const before = state.unpaid.find((each) => each.payment_id === payment_id);
      const others = state.unpaid.filter((each) => each !== before);
      return { ...state, unpaid: [...others, { ...data, is_downgraded: before?.is_downgraded ?? false }] };
    }
    case 'SubscriptionDowngraded': {
      const { payment_id } = data;
      const unpaid = state.unpaid.map((each) =>
        each.payment_id === payment_id ? { ...each, is_downgraded: true } : each,
      );
      return { ...state, unpaid };
    }
    case 'TrialStarted':
      return { ...state, trial: data };
    case 'CustomerAssigned':
      return { ...state, assigned_customer_id: data.customer_id };
    case 'CheckoutOpened':
      return {
        ...state,
        checkouts: { ...state.checkouts, [data.kind]: data, opened: (state.checkouts?.opened ?? 0) + 1 },
      };
    default:
      return state;
  }
}

/** Payments come in any order: the newest counts, and of two of one second the larger plan. */
function withPaid(
  known: readonly PaidPlan[] = [],
  { subscription_id, plan, interval, paid_at }: SubscriptionPeriodPaid,
) {
  const before = known.find((each) => each.subscription_id === subscription_id);
  if (plan === undefined || interval === undefined) return [...known];
  const next = { subscription_id, plan, interval, paid_at };
  if (
    before &&
    compareBy(Date.parse(next.paid_at) - Date.parse(before.paid_at), rankOf(plan) - rankOf(before.plan)) <= 0
  )
    return [...known];
  return [...known.filter((each) => each !== before), next].sort(byId);
}
const compareBy = (...differences: readonly number[]) => differences.find((difference) => difference !== 0) ?? 0;
const rankOf = (plan: PlanName) => PLAN_NAMES.indexOf(plan);

/** Whether the subscription went on after a failed payment: another payment was made, or the provider gave that one up. */
export const isSettledBy = (
  { subscription_id, status, changed_at }: SubscriptionChanged,
  failure: Pick<UnpaidPeriod, 'subscription_id' | 'failed_at'>,
): boolean =>
  subscription_id === failure.subscription_id &&
  status === 'active' &&
  Date.parse(changed_at) > Date.parse(failure.failed_at);

const byId = (a: { subscription_id: string }, b: { subscription_id: string }) =>
  a.subscription_id < b.subscription_id ? -1 : 1;

/** Whether `next` is newer than `known`. The provider's clock counts seconds: of two states of a second the later step wins. */
export function isNewer(next: SubscriptionChanged, known: SubscriptionChanged): boolean {
  if (known.status === 'canceled') return false;
  if (next.status === 'canceled') return true;
  const rank = ({ changed_at, period_end, cancel_at, status, plan }: SubscriptionChanged) =>
    [changed_at, period_end, cancel_at ?? '', SUBSCRIPTION_STATUSES.indexOf(status), PLAN_NAMES.indexOf(plan)].join(
      ' ',
    );
  return rank(next) > rank(known);
}

/** The plan of a user. */
export interface Subscription {
  plan: PlanName;
  status: SubscriptionStatus;
  interval: BillingInterval;
  period_start: string;
  period_end: string;
  /** The month that the first job of an API key began. */
  is_trial: boolean;
  /** The plan ends then and is not renewed; null while it is renewed. */
  cancel_at: string | null;
  /** A payment failed, and the plan stays until then; null otherwise. */
  grace_until: string | null;
  /** The provider's id; null for the trial. */
  subscription_id: string | null;
}

/** Returns the plan at `now`, in milliseconds since the epoch; null for the free plan. A subscription wins over the trial. */
export function subscriptionAt(state: SubscriptionState, now: number): Subscription | null {
  const at = new Date(now).toISOString();
  const [first] = paidSubscriptionsAt(state, now);
  if (first) return first;
  const { trial } = state;
  if (!trial || trial.period_end <= at) return null;
  const { plan, period_start, period_end } = trial;
  const none = { grace_until: null, subscription_id: null };
  return {
    ...{ plan, status: 'trialing', interval: 'month', period_start, period_end, is_trial: true },
    cancel_at: period_end,
    ...none,
  };
}

/** Returns the subscriptions that bring a plan at `now`: the first one is the user's plan, and the others were bought beside it. */
export function paidSubscriptionsAt(state: SubscriptionState, now: number): Subscription[] {
  const at = new Date(now).toISOString();
  return state.subscriptions
    .flatMap((each) => standing(each, state, at))
    .sort((a, b) => rankOf(b.plan) - rankOf(a.plan) || (a.period_end < b.period_end ? 1 : -1));
}

/**
 * Returns the subscriptions for which the provider takes money, or would with the next payment that succeeds: also those whose grace has ended,
 * and those that are paused. The user's plan is the first.
 */
export function openSubscriptionsAt(state: SubscriptionState, now: number): SubscriptionChanged[] {
  const shown = paidSubscriptionsAt(state, now).map(({ subscription_id }) => subscription_id);
  const open = state.subscriptions.filter(
    ({ subscription_id, status }) => shown.includes(subscription_id) || KEPT.includes(status),
  );
  const placeOf = ({ subscription_id }: SubscriptionChanged) => {
    const place = shown.indexOf(subscription_id);
    return place === -1 ? shown.length : place;
  };
  return open.sort((a, b) => placeOf(a) - placeOf(b));
}

/** A subscription of the sandbox: no provider that takes money knows it. */
export const isOfSandbox = (subscription_id: string): boolean => subscription_id.startsWith('sandbox_');

/** The provider keeps them until somebody ends them. */
const KEPT: readonly SubscriptionStatus[] = ['past_due', 'unpaid', 'paused'];

const LIVE: readonly SubscriptionStatus[] = ['active', 'trialing', 'past_due'];

/** When the user's plans end unless the state changes: the paid ones, and those that are tried; null for none. */
export function planEnds(state: SubscriptionState): { paid_until: string | null; trial_until: string | null } {
  const ends = state.subscriptions.flatMap((each) => {
    const { ends_at } = endOf(each, state);
    return LIVE.includes(each.status) ? [{ is_trial: each.status === 'trialing', ends_at }] : [];
  });
  if (state.trial) ends.push({ is_trial: true, ends_at: state.trial.period_end });
  const last = (is_trial: boolean) =>
    ends
      .filter((each) => each.is_trial === is_trial)
      .map(({ ends_at }) => ends_at)
      .sort()
      .at(-1) ?? null;
  return { paid_until: last(false), trial_until: last(true) };
}

function endOf(subscription: SubscriptionChanged, { unpaid }: SubscriptionState) {
  const { subscription_id, status, period_end, cancel_at, changed_at } = subscription;
  const graces = unpaid
    .filter((each) => each.subscription_id === subscription_id)
    .map(({ grace_until }) => grace_until)
    .sort();
  // The news of the failure itself may be lost, and so may be the news of a renewal.
  const grace_until = graces[0] ?? (status === 'past_due' ? afterGrace(changed_at) : null);
  const ends = [cancel_at, grace_until ?? afterGrace(period_end)].filter((time) => time !== null).sort();
  return { grace_until, ends_at: ends[0]! };
}

function standing(subscription: SubscriptionChanged, state: SubscriptionState, at: string): Subscription[] {
  const { subscription_id, status, period_start, period_end, cancel_at } = subscription;
  const { grace_until, ends_at } = endOf(subscription, state);
  if (!LIVE.includes(status) || ends_at <= at) return [];
  const shown = grace_until === null ? status : 'past_due';
  // The grace is for the plan that was paid before: an upgrade begins when it is paid.
  const paid = state.paid_plans?.find((each) => each.subscription_id === subscription_id);
  const is_unpaid_upgrade = grace_until !== null && paid && rankOf(subscription.plan) > rankOf(paid.plan);
  const { plan, interval } = is_unpaid_upgrade ? paid : subscription;
  const facts = { plan, interval, period_start, period_end, cancel_at, grace_until, subscription_id };
  return [{ ...facts, status: shown, is_trial: false }];
}
