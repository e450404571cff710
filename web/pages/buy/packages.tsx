// The packages of credits, which never expire.
import { type AnswerOf, ask, type Given } from '../../api/ask.ts';
import { counted, money } from '../../ui/numbers.ts';
import { Offer, RETURN_URLS } from './offer.tsx';

type Package = AnswerOf<'GET /credits/packages'>['items'][number];
type PackageId = Given<'POST /credits/purchase'>['package_id'];

export function Packages({ packages }: { packages: readonly Package[] }) {
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
