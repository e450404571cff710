// The account: what can be spent, where it comes from, how much of the limits is used, and every change of the balance.
import { useEffect } from 'preact/hooks';
import { ask } from '../../api/ask.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { to, useAddress } from '../../app/address.ts';
import { SELLS } from '../../app/selling.ts';
import { useMe, useSession } from '../../app/session.tsx';
import { AccountTabs } from '../../ui/account-tabs.tsx';
import { Failure } from '../../ui/failure.tsx';
import { counted } from '../../ui/numbers.ts';
import { OtherPlans } from '../../ui/other-plans.tsx';
import { Ledger } from './ledger.tsx';
import { Lots } from './lots.tsx';
import { Usage } from './usage.tsx';

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
