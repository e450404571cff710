// What can be bought: packages of credits, and plans. The payment provider takes the money on a page of its own and leads back.

import { type AnswerOf, ask, type Given, useAnswer } from '../../api/ask.ts';
import { to, useAddress } from '../../app/address.ts';
import { SELLS } from '../../app/selling.ts';
import { type Profile, useMe } from '../../app/session.tsx';
import { AccountTabs } from '../../ui/account-tabs.tsx';
import { useAction } from '../../ui/actions.tsx';
import { Empty, Failure, FailureText } from '../../ui/failure.tsx';
import { Filters } from '../../ui/filters.tsx';
import { counted, grouped, money, Time } from '../../ui/values.tsx';
import { Offer, RETURN_URLS } from './offer.tsx';

export function Page() {
  return (
    <>
      <header class="title">
        <h1>Buy credits</h1>
      </header>
      <AccountTabs />
      {SELLS ? <Offers /> : <Empty title="This service sells nothing">An administrator grants credits.</Empty>}
    </>
  );
}

function Offers() {
  const packages = useAnswer('GET /credits/packages', {});
  const plans = useAnswer('GET /v2/subscription/plans', {});
  return (
    <>
      <Failure of={packages} />
      {packages.value && <Packages packages={packages.value.items} />}
      <Failure of={plans} />
      {plans.value && <Plans plans={plans.value.items} />}
    </>
  );
}

// The packages of credits, which never expire.
type Package = AnswerOf<'GET /credits/packages'>['items'][number];
type PackageId = Given<'POST /credits/purchase'>['package_id'];

function Packages({ packages }: { packages: readonly Package[] }) {
  return (
    <>
      <header class="title">
        <h2>Packages</h2>
        <small>You pay once, and the credits never expire.</small>
      </header>
      <ul class="offers">
        {packages.map(({ package_id, credits, price_cents, currency }) => (
          <Offer
            key={package_id}
            name={counted(credits, 'credit')}
            price={money(price_cents, currency)}
            note={`${money((price_cents / credits) * 1000, currency)} for 1,000 URLs`}
            action="Buy"
            label={`Buy ${counted(credits, 'credit')}`}
            order={() => ask('POST /credits/purchase', { package_id: package_id as PackageId, ...RETURN_URLS })}
          />
        ))}
      </ul>
    </>
  );
}

// The plans, by the month or by the year; who has one changes it in the portal of the payment provider.
type Plan = AnswerOf<'GET /v2/subscription/plans'>['items'][number];
type PaidPlan = Exclude<Plan['plan'], 'free'>;
type Subscription = NonNullable<Profile['subscription']>;

const INTERVALS = ['month', 'year'] as const;
const MONTHS = { month: 1, year: 12 };

function Plans({ plans }: { plans: readonly Plan[] }) {
  const { query } = useAddress();
  const { subscription } = useMe();
  const interval = INTERVALS.find((name) => name === query.get('interval')) ?? 'month';
  if (subscription && !subscription.is_trial) return <YourPlan of={subscription} />;
  return (
    <>
      <header class="title">
        <h2>Plans</h2>
        <small>New credits with each payment. They expire when the next ones come.</small>
        <Filters
          label="Paid by"
          choices={INTERVALS}
          chosen={interval}
          hrefOf={(name) => to('/account/buy', { interval: name === 'month' ? undefined : name })}
          textOf={(name) => (name === 'month' ? 'monthly' : 'yearly, two months free')}
        />
      </header>
      <ul class="offers">
        {plans
          .filter(({ plan }) => plan !== 'free')
          .map(({ plan, name, credits_per_month, price_cents, currency }) => (
            <Offer
              key={plan}
              name={name}
              price={`${money(price_cents[interval], currency)} a ${interval}`}
              note={`${grouped(credits_per_month * MONTHS[interval])} credits a ${interval}`}
              action="Subscribe"
              label={`Subscribe to ${name}`}
              order={() => ask('POST /checkout/create', { plan: plan as PaidPlan, interval, ...RETURN_URLS })}
            />
          ))}
      </ul>
    </>
  );
}

function YourPlan({ of: { plan, interval, status, period_end, cancel_at } }: { of: Subscription }) {
  const change = useAction(async () =>
    location.assign((await ask('POST /portal/create', { return_url: to('/account') })).portal_url),
  );
  return (
    <>
      <h2>Your plan</h2>
      <section class="card">
        <p>
          <b class="plan-name">{plan}</b>, paid by the {interval}.{' '}
          {cancel_at ? (
            <>
              It ends <Time at={cancel_at} />.
            </>
          ) : (
            <>
              The next payment is due <Time at={period_end} />.
            </>
          )}
          {status === 'past_due' && ' The last payment failed.'}
        </p>
        <div>
          <button type="button" disabled={change.is_running} onClick={change.run}>
            Change or cancel
          </button>
        </div>
        {change.error && (
          <p class="is-error" role="alert">
            <FailureText error={change.error} />
          </p>
        )}
      </section>
    </>
  );
}
