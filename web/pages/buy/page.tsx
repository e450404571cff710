// What can be bought: packages of credits, and plans. The payment provider takes the money on a page of its own and leads back.
import { useAnswer } from '../../api/use-answer.ts';
import { SELLS } from '../../app/selling.ts';
import { AccountTabs } from '../../ui/account-tabs.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Failure } from '../../ui/failure.tsx';
import { Packages } from './packages.tsx';
import { Plans } from './plans.tsx';

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
