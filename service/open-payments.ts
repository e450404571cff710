// The payment provider that the settings choose.
import { openSandbox } from '../adapters/payments/sandbox.ts';
import { PLAN_PRICES } from '../commands/billing/plans.ts';
import { derivedKey } from '../events/derived-key.ts';
import type { ChargingProvider, PaymentProvider } from '../http/billing/payments.ts';
import type { Config } from '../settings/config.ts';
import { keyOf } from './local-key.ts';

/** The sandbox grants credits for nothing, so it serves one machine, unless the operator wants it. */
export async function openPayments(config: Config, base_url: () => string): Promise<PaymentProvider | null> {
  const { payment_secret_key, payment_webhook_secret, payment_sandbox, identity_jwks_url, data_dir } = config;
  if (payment_secret_key !== null) return openProvider(payment_secret_key, config);
  const is_sandbox = payment_sandbox === 'on' || (payment_sandbox === 'local' && identity_jwks_url === null);
  if (!is_sandbox) return null;
  const secret = await keyOf(payment_webhook_secret, data_dir, 'payment-key');
  const keys = {
    checkout: derivedKey(secret, 'sandbox: checkouts'),
    portal: derivedKey(secret, 'sandbox: portals'),
    event: derivedKey(secret, 'sandbox: events'),
  };
  return openSandbox({ keys, base_url, now: Date.now });
}

/** The provider that takes money; null without its key. The sandbox takes none. */
export async function openChargingProvider(config: Config): Promise<ChargingProvider | null> {
  return config.payment_secret_key === null ? null : openProvider(config.payment_secret_key, config);
}

async function openProvider(secret_key: string, config: Config) {
  const { payment_webhook_secret, payment_api_url: api_url } = config;
  const selling = {
    automatic_tax: config.payment_automatic_tax === 'on',
    invoices: config.payment_invoices === 'on',
    promotion_codes: config.payment_promotion_codes === 'on',
  };
  const { openStripe } = await import('../adapters/payments/stripe.ts');
  // Only http, which does not start without it, reads the provider's events.
  return openStripe({
    ...{ secret_key, webhook_secret: payment_webhook_secret ?? '', api_url, prices: PLAN_PRICES, selling },
  });
}
