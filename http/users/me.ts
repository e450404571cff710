// The gateway's routes for the signed-in user: the profile, the usage and its limits, and the fingerprint.
import { creditsOf } from '../../commands/billing/plans.ts';
import { openUsageLimits } from '../../commands/users/usage-limits.ts';
import { Nullable, Type } from '../../events/schema.ts';
import { subscriptionAt } from '../../events/subscription-state.ts';
import { balances } from '../../readmodels/billing/credits.ts';
import { subscriptions } from '../../readmodels/billing/subscriptions.ts';
import { users } from '../../readmodels/users/users.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { Credits } from '../billing/credits.ts';
import { invalidToken } from '../callers/access.ts';
import { openClientHash } from '../callers/client-hash.ts';
import { accepted } from '../frame/errors.ts';
import { jsonBody } from '../frame/request-bodies.ts';
import { anError, type Caller, routeOf } from '../frame/route.ts';
import { Count, Time } from '../frame/schemas.ts';
import { groupOf, type Parts } from '../group.ts';
import {
  OtherSubscriptions,
  otherSubscriptions,
  PlanName,
  SubscriptionView,
  subscriptionExample,
  subscriptionView,
  UsageView,
  usageExample,
  usageView,
} from './profile-view.ts';

const wire = ({ read, credits, accounts, keys, config, now }: Parts) => ({
  ...{ accounts, config, now, limits: openUsageLimits(credits) },
  client: openClientHash(keys.links),
  read: read({ users, balances, subscriptions }),
});
type Deps = ReturnType<typeof wire>;
const route = routeOf<Deps>(GATEWAY, 'account');

/** Reads what the views of one user need. */
async function accountOf({ user_id }: Caller, { read, now }: Deps) {
  const [user, balance, of_plans] = await Promise.all([
    read.users.get(user_id),
    read.balances.get(user_id),
    read.subscriptions.get(user_id),
  ]);
  const subscription = of_plans && subscriptionAt(of_plans, now());
  const others = otherSubscriptions(of_plans, now());
  return { user, balance, subscription, others, usage: usageView(balance, user, now()) };
}

const BONUSES = ['pending', 'granted', 'withheld', 'none'] as const;
const SignupBonus = Type.Enum(BONUSES, {
  $id: 'SignupBonusStatus',
  description:
    'The credits of a new account. `pending`: the first fingerprint brings them. `withheld`: too many new accounts came from your address. ' +
    '`none`: new accounts get none.',
});

const me = route({
  id: 'getProfile',
  method: 'GET',
  path: '/users/me',
  access: 'user',
  summary: 'Show your profile, plan, balance and usage',
  responses: {
    200: {
      description: 'The profile.',
      schema: Type.Object({
        user_id: Type.String({ description: "The identity provider's id." }),
        email: Nullable(Type.String()),
        registered_at: Nullable(Time('When the service first saw you. Null for a moment after that.')),
        plan: PlanName,
        subscription: Nullable(SubscriptionView),
        other_subscriptions: OtherSubscriptions,
        ...Credits.properties,
        credits_owed: Count('Credits of a refunded payment that were spent before: the next credits pay them off.'),
        usage: UsageView,
        jobs_created: Count('Jobs that you created, deleted ones included.'),
        last_job_at: Nullable(Time('When you created the last job.')),
        signup_bonus: SignupBonus,
        flags: Type.Object({
          is_admin: Type.Boolean(),
          is_trial: Type.Boolean(),
          has_fingerprint: Type.Boolean(),
          has_custom_limit: Type.Boolean({ description: 'An administrator limited your usage.' }),
        }),
      }),
      example: {
        ...{ user_id: 'alice', email: 'alice@example.com', registered_at: '2026-01-17T08:00:00.000Z' },
        plan: 'pro',
        ...{ subscription: subscriptionExample, other_subscriptions: [] },
        credit_balance: 280,
        available_credits: 280,
        credits_owed: 0,
        ...{ usage: usageExample, jobs_created: 3, last_job_at: '2026-01-31T09:00:00.000Z', signup_bonus: 'granted' },
        flags: { is_admin: false, is_trial: false, has_fingerprint: true, has_custom_limit: false },
      },
    },
  },
  async handler({ caller }, deps) {
    const { user, balance, subscription, others, usage } = await accountOf(caller, deps);
    const credit_balance = balance?.balance ?? 0;
    return {
      body: {
        user_id: caller.user_id,
        email: user ? user.email : caller.email,
        registered_at: user?.registered_at ?? null,
        plan: subscription?.plan ?? 'free',
        ...{ subscription: subscriptionView(subscription), other_subscriptions: others },
        ...{ credit_balance, available_credits: credit_balance, credits_owed: balance?.owed ?? 0 },
        usage,
        jobs_created: user?.jobs_created ?? 0,
        last_job_at: user?.last_job_at ?? null,
        signup_bonus: bonusOf(user?.bonus.status ?? 'pending', deps),
        flags: {
          is_admin: caller.is_admin,
          is_trial: subscription?.is_trial ?? false,
          has_fingerprint: user?.fingerprint != null,
          has_custom_limit: user?.custom_limit != null,
        },
      },
    };
  },
});

const bonusOf = (status: (typeof BONUSES)[number], { config }: Deps) =>
  config.signup_credits === 0 && status !== 'granted' ? 'none' : status;

const quota = route({
  id: 'getQuota',
  method: 'GET',
  path: '/users/me/quota',
  access: 'user',
  summary: 'Show your usage, limits and trial',
  responses: {
    200: {
      description: 'The quota.',
      schema: Type.Object({
        plan: PlanName,
        usage: UsageView,
        limits: Type.Object({
          plan_credits: Count('Credits that the plan grants for its period; `free` grants them once.'),
          custom_limit: Nullable(Count('The limit of an administrator on your usage of a period.')),
          spending_limit: Nullable(Count('Your own limit on it. The lower one of both holds.')),
          max_urls_per_job: Count('URLs in one job.'),
          max_file_bytes: Count('Bytes of an uploaded file.'),
        }),
        is_exhausted: Type.Boolean({ description: 'No job can use a credit now.' }),
        exhausted_by: Nullable(
          Type.Enum(['credit_ceiling', 'usage_limit'], { description: 'What a job would wait for.' }),
        ),
        trial: Type.Object({
          is_active: Type.Boolean(),
          is_available: Type.Boolean({
            description:
              'The first job of an API key to complete would begin it, once the first fingerprint was taken. It happens once for each ' +
              'user, where the operator gives trials, and not for users whose signup bonus was withheld.',
          }),
          ends_at: Nullable(Time('When the active trial ends.')),
        }),
      }),
      example: {
        ...{ plan: 'free', usage: usageExample, is_exhausted: false, exhausted_by: null },
        limits: {
          ...{ plan_credits: 300, custom_limit: null, spending_limit: null },
          ...{ max_urls_per_job: 1_000_000, max_file_bytes: 104_857_600 },
        },
        trial: { is_active: false, is_available: true, ends_at: null },
      },
    },
  },
  async handler({ caller }, deps) {
    const { user, balance, subscription, usage } = await accountOf(caller, deps);
    const { max_urls_per_job, max_file_bytes, signup_credits, trial_credits } = deps.config;
    const document = await deps.read.subscriptions.get(caller.user_id);
    const is_exhausted = usage.remaining === 0;
    const by = (balance?.balance ?? 0) > 0 ? 'usage_limit' : 'credit_ceiling';
    const is_active = subscription?.is_trial ?? false;
    const paid_credits = subscription && creditsOf(subscription.plan, subscription.interval);
    const plan_credits = is_active ? document!.trial!.credits : (paid_credits ?? signup_credits);
    return {
      body: {
        plan: subscription?.plan ?? 'free',
        usage,
        limits: {
          plan_credits,
          custom_limit: user?.custom_limit ?? null,
          spending_limit: user?.spending_limit ?? null,
          ...{ max_urls_per_job, max_file_bytes },
        },
        is_exhausted,
        exhausted_by: is_exhausted ? by : null,
        trial: {
          is_active,
          is_available: trial_credits > 0 && !document?.trial && document?.bonus !== 'withheld',
          ends_at: is_active ? subscription!.period_end : null,
        },
      },
    };
  },
});

const periodUsage = route({
  id: 'getPeriodUsage',
  method: 'GET',
  path: '/users/me/period-usage',
  access: 'user',
  summary: 'Show the credits used in the current period',
  responses: {
    200: {
      description: 'The usage.',
      schema: Type.Object({ plan: PlanName, subscription: Nullable(SubscriptionView), ...UsageView.properties }),
      example: { plan: 'free', subscription: null, ...usageExample },
    },
  },
  async handler({ caller }, deps) {
    const { subscription, usage } = await accountOf(caller, deps);
    return {
      body: { plan: subscription?.plan ?? 'free', subscription: subscriptionView(subscription), ...usage },
    };
  },
});

const MOST = 1_000_000_000;

const spendingLimit = route({
  id: 'setSpendingLimit',
  method: 'PUT',
  path: '/users/me/spending-limit',
  access: 'user',
  summary: 'Limit the credits that your jobs use in a period',
  description:
    'A job that reaches the limit pauses with `usage_limit`. You can resume it when you have raised the limit, or when the next period begins. It holds for ' +
    'all your API keys. Jobs that run keep what they have reserved.',
  body: jsonBody(
    Type.Object(
      {
        limit: Nullable(
          Type.Integer({ minimum: 0, maximum: MOST, description: 'Credits in a period. Null: no limit.' }),
        ),
      },
      { $id: 'SpendingLimit' },
    ),
    { example: { limit: 10_000 } },
  ),
  responses: {
    200: {
      description: 'The limit is set.',
      schema: Type.Object({ limit: Nullable(Count('Credits in a period.')) }),
      example: { limit: 10_000 },
    },
  },
  async handler({ caller: { user_id }, body: { limit }, command }, { limits }) {
    const done = await limits.setOwn(user_id, limit, command());
    if (!done.ok && done.refused.code === 'user_erased') throw invalidToken();
    return { body: { limit }, position: accepted(done, 409).position };
  },
});

const Detail = (description: string, example: string) =>
  Nullable(Type.String({ maxLength: 200, description, examples: [example] }));
const Fingerprint = Type.Object({
  os: Detail('The operating system.', 'Linux'),
  device_type: Detail('The kind of device.', 'desktop'),
  screen_size: Detail('Width and height of the screen.', '1920x1080'),
});
const fingerprint = route({
  id: 'recordFingerprint',
  method: 'POST',
  path: '/users/me/fingerprint',
  access: 'user',
  summary: 'Record the machine that you use',
  description:
    'The first call brings the credits of a new account, unless three accounts at your address, or one on the same machine there, had ' +
    'theirs within 24 hours. Fields that you could not detect are null.',
  body: jsonBody(Type.Partial(Fingerprint), {
    example: { os: 'Linux', device_type: 'desktop', screen_size: '1920x1080' },
  }),
  responses: {
    200: {
      description: 'The fingerprint is recorded.',
      schema: Type.Object({ fingerprint: Fingerprint, signup_bonus: SignupBonus }),
      example: {
        fingerprint: { os: 'Linux', device_type: 'desktop', screen_size: '1920x1080' },
        signup_bonus: 'granted',
      },
    },
  },
  errors: {
    429: anError(
      'The fingerprint has changed too often within 24 hours.',
      'too_many_fingerprints',
      'The fingerprint changed 20 times within 24 hours; it is not recorded again.',
    ),
  },
  async handler({ caller: { user_id }, body, ip, command }, { accounts, client }) {
    const { os = null, device_type = null, screen_size = null } = body;
    const recorded = { os, device_type, screen_size };
    const claim = {
      address: client.address(ip),
      site: client.site(ip),
      user: client.text('user', user_id),
      fingerprint: client.text('fingerprint', JSON.stringify([os, device_type, screen_size])),
    };
    const done = await accounts.recordFingerprint({ user_id, fingerprint: recorded, claim }, command());
    if (!done.ok && done.refused.code === 'user_erased') throw invalidToken();
    const { bonus, position } = accepted(done, 429);
    return { body: { fingerprint: recorded, signup_bonus: bonus.status }, position };
  },
});

export const group = groupOf(wire, [me, quota, periodUsage, fingerprint, spendingLimit]);
