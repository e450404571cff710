// The account: what can be spent, where it comes from, how much of the limits is used, and every change of the balance.
import { useEffect, useState } from 'preact/hooks';
import { type AnswerOf, ask, useAnswer } from '../../api/ask.ts';
import { to, useAddress } from '../../app/address.ts';
import { SELLS } from '../../app/selling.ts';
import { type Profile, useMe, useSession } from '../../app/session.tsx';
import { AccountTabs } from '../../ui/account-tabs.tsx';
import { say, sayFailure, useAction } from '../../ui/actions.tsx';
import { Failure } from '../../ui/failure.tsx';
import { Figure, Figures, UsedFigure } from '../../ui/figures.tsx';
import { Form, TextField } from '../../ui/form.tsx';
import { OtherPlans } from '../../ui/other-plans.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { bytes, counted, grouped, percent, Time } from '../../ui/values.tsx';
import { CreditMails } from './credit-mails.tsx';
import { Ledger } from './ledger.tsx';
import { TRANSACTION_LABELS } from './transaction-types.ts';

export function Page() {
  const me = useMe();
  const { query } = useAddress();
  const { again } = useSession();
  const credits = useAnswer('GET /users/me/credits', {}, String(me.credit_balance));
  // The balance of the frame is as old as the document; this page is where it has to be right.
  useEffect(again, [again]);
  return (
    <>
      <header class="title">
        <h1>Account</h1>
        {SELLS && (
          <a class="button primary" href={to('/account/buy')}>
            Buy credits
          </a>
        )}
      </header>
      <AccountTabs />
      {query.get('checkout') === 'done' && <Paid onLook={again} />}
      {me.credits_owed > 0 && (
        <p class="notice">
          You owe {counted(me.credits_owed, 'credit')}: a payment was taken back after its credits were spent. The next
          credits pay them off.
        </p>
      )}
      <OtherPlans others={me.other_subscriptions} onEnd={again} end={endOwn} />
      <Usage me={me} />
      <Failure of={credits} />
      {credits.value && <Lots lots={credits.value.lots} />}
      <CreditMails />
      <Ledger version={String(me.credit_balance)} />
    </>
  );
}

const endOwn = (subscription_id: string) => ask('POST /subscriptions/{subscription_id}/end', { subscription_id });

/** The payment provider leads here after a checkout; its confirmation comes on a way of its own. */
function Paid({ onLook }: { onLook(): void }) {
  return (
    <p class="notice paid" role="status">
      <span>Thank you. Your credits are added as soon as the payment provider confirms the payment.</span>
      <button type="button" onClick={onLook}>
        Look again
      </button>
    </p>
  );
}

// The balance, and how much of the plan and of the limits is used.
const REASONS = {
  credit_ceiling: 'You have no credits left: jobs wait until you buy some.',
  usage_limit: 'Your usage limit is reached: jobs wait until the next period.',
};

function Usage({ me }: { me: Profile }) {
  const quota = useAnswer('GET /users/me/quota', {}, String(me.credit_balance));
  if (!quota.value) return <Failure of={quota} />;
  const { plan, usage, limits, exhausted_by, trial } = quota.value;
  return (
    <section class="card">
      <Failure of={quota} />
      <Figures>
        <Figure label="Balance" note="credits, one for each URL">
          {grouped(me.credit_balance)}
        </Figure>
        <UsedFigure usage={usage} />
        <Figure label="Plan" note={trial.is_active ? 'on trial' : `${grouped(limits.plan_credits)} credits`}>
          <span class="plan-name">{plan}</span>
        </Figure>
        <Figure label="Largest job" note={`URLs, or a file of ${bytes(limits.max_file_bytes)}`}>
          {grouped(limits.max_urls_per_job)}
        </Figure>
      </Figures>
      {usage.limit !== null && (
        <p class="progress wide">
          <progress value={usage.credits_used} max={Math.max(usage.limit, 1)} aria-label="Used of your limit" />
          {percent(usage.credits_used, usage.limit)} of your limit of {grouped(usage.limit)} credits
        </p>
      )}
      <SpendingLimit limit={limits.spending_limit} onDone={quota.again} />
      {exhausted_by && <p class="notice">{REASONS[exhausted_by]}</p>}
    </section>
  );
}

// The user's own limit on the credits of a period.
function SpendingLimit({ limit, onDone }: { limit: number | null; onDone(): void }) {
  const [text, setText] = useState(limit === null ? '' : String(limit));
  const save = useAction(async () => {
    try {
      const set = await ask('PUT /users/me/spending-limit', { limit: text === '' ? null : Number(text) });
      say(set.limit === null ? 'Your limit is removed.' : `Your limit is ${grouped(set.limit)} credits a period.`);
      onDone();
    } catch (error) {
      sayFailure(error);
    }
  });
  return (
    <Form class="filters" onSubmit={() => void save.run()}>
      <TextField
        label="Your limit of credits a period"
        hint="Jobs wait when it is reached. Leave it empty for no limit."
        type="number"
        min={0}
        value={text}
        onInput={setText}
      />
      <button type="submit" disabled={save.is_running}>
        Save
      </button>
    </Form>
  );
}

// The grants that the balance consists of, in the order in which jobs spend them.
type Lot = AnswerOf<'GET /users/me/credits'>['lots'][number];

const COLUMNS: readonly Column<Lot>[] = [
  { label: 'From', cell: (lot) => TRANSACTION_LABELS[lot.transaction_type] },
  { label: 'Received', cell: (lot) => <Time at={lot.created_at} /> },
  { label: 'Expires', cell: (lot) => (lot.expires_at === null ? 'never' : <Time at={lot.expires_at} />) },
  { label: 'At first', is_number: true, cell: (lot) => grouped(lot.credits) },
  { label: 'Left', is_number: true, cell: (lot) => <b>{grouped(lot.remaining)}</b> },
];

function Lots({ lots }: { lots: readonly Lot[] }) {
  if (lots.length === 0) return null;
  return (
    <>
      <header class="title">
        <h2>Your credits</h2>
        <small>Jobs spend them from the top.</small>
      </header>
      <Table
        caption="Your credits by where they came from"
        columns={COLUMNS}
        items={lots}
        keyOf={(lot) => lot.lot_id}
      />
    </>
  );
}
