// Opens the application that a process serves over HTTP: its stores, and for the http role the identity provider, the rate counters
// and the keys.
import type { Logger } from 'pino';
import { openIdentity } from '../adapters/identity/index.ts';
import { openMemoryRates } from '../adapters/rate-counters/memory.ts';
import { createAddressGuard } from '../checkers/engine/addresses.ts';
import type { RateCounters } from '../http/limits/rate-counters.ts';
import { type OpenedApp, type OpeningParts, openApp, openProbes } from '../http/open-app.ts';
import type { Config } from '../settings/config.ts';
import { keyOf } from './local-key.ts';
import { openPayments } from './open-payments.ts';
import { type OpeningOptions, openStores, whenThere } from './stores.ts';

type Own = Pick<OpeningParts, 'public_url' | 'registry' | 'fault'>;

/** Opens the http role's application, or the probes alone. Starts again when a store goes away meanwhile. */
export function openHttp(config: Config, logger: Logger, own: Own, opening: OpeningOptions): Promise<OpenedApp> {
  const open = async () => {
    const stores = await openStores(config, logger, opening);
    try {
      const opened =
        opening.of === 'http'
          ? await openApp(config, logger, { ...own, stores, ...(await openOutside(config, logger, own)) })
          : openProbes({ ...own, stores }, logger);
      return { ...opened, close: () => opened.close().then(stores.close) };
    } catch (error) {
      await stores.close();
      throw error;
    }
  };
  return whenThere('a store', open, logger, opening);
}

async function openOutside(config: Config, logger: Logger, { public_url }: Own) {
  const { identity_jwks_url, identity_issuer, identity_audience, data_dir } = config;
  return {
    rates: { shared: await openRateCounters(config, logger), own: openMemoryRates() },
    identity: await openIdentity(
      identity_jwks_url
        ? {
            ...{ jwks_url: identity_jwks_url, issuer: identity_issuer!, audience: identity_audience! },
            claims: {
              user: config.identity_user_claim,
              email: config.identity_email_claim,
              admin: config.identity_admin_claim,
              admin_value: config.identity_admin_value,
            },
          }
        : { local: data_dir },
    ),
    keys: {
      links: await keyOf(config.link_signing_key, data_dir, 'link-key'),
      webhooks: await keyOf(config.webhook_signing_key, data_dir, 'webhook-key'),
    },
    payments: await openPayments(config, public_url),
    webhook_guard: createAddressGuard(config.webhook_allow_addresses),
  };
}

/** Opens the counters of rate limits. With MongoDB all processes share them, else each counts alone. */
async function openRateCounters({ mongodb_url }: Config, logger: Logger): Promise<RateCounters> {
  if (!mongodb_url) return openMemoryRates();
  const { openMongoRates } = await import('../adapters/rate-counters/mongodb.ts');
  return openMongoRates({ url: mongodb_url, log: logger });
}
