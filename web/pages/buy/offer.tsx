// Something to buy: its credits, its price, and the button that leads to the payment provider.
import { to } from '../../app/address.ts';
import { useAction } from '../../ui/actions.tsx';
import { FailureText } from '../../ui/failure.tsx';

/** Where the payment provider leads back to. */
export const RETURN_URLS = {
  success_url: to('/account', { checkout: 'done' }),
  cancel_url: to('/account/buy'),
};

interface OfferProps {
  name: string;
  price: string;
  note: string;
  /** What the button says: "Buy". */
  action: string;
  /** The same for who does not see what it belongs to: "Buy 5,000 credits". */
  label: string;
  /** Makes the checkout. */
  order(): Promise<{ checkout_url: string }>;
}

export function Offer({ name, price, note, action, label, order }: OfferProps) {
  const pay = useAction(async () => location.assign((await order()).checkout_url));
  return (
    <li class="card">
      <h3>{name}</h3>
      <p class="price">{price}</p>
      <small>{note}</small>
      <button type="button" class="primary" aria-label={label} disabled={pay.is_running} onClick={pay.run}>
        {action}
      </button>
      {pay.error && (
        <p class="is-error" role="alert">
          <FailureText error={pay.error} />
        </p>
      )}
    </li>
  );
}
