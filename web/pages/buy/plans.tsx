// The plans, by the month or by the year; who has one changes it in the portal of the payment provider.
import { type AnswerOf, ask } from '../../api/ask.ts';
import { to, useAddress } from '../../app/address.ts';
import { type Profile, useMe } from '../../app/session.tsx';
import { useAction } from '../../ui/action.ts';
import { FailureText } from '../../ui/failure.tsx';
import { Filters } from '../../ui/filters.tsx';
import { grouped, money } from '../../ui/numbers.ts';
import { Time } from '../../ui/time.tsx';
import { Offer, RETURN_URLS } from './offer.tsx';

type Plan = AnswerOf<'GET /v2/subscription/plans'>['items'][number];
type PaidPlan = Exclude<Plan['plan'], 'free'>;
type Subscription = NonNullable<Profile['subscription']>;

const INTERVALS = ['month', 'year'] as const;
const MONTHS = { month: 1, year: 12 };

export function Plans({ plans }: { plans: readonly Plan[] }) {
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
