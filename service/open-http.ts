// Opens the application that a process serves over HTTP: its stores, and for the http role the identity provider, the rate counters
// and the keys.
import type { Logger } from 'pino';
import type { SignBlobLink } from '../adapters/blobs/files/file-blobs.ts';
import { openIdentity } from '../adapters/identity/index.ts';
import { openMemoryRates } from '../adapters/rate-counters/memory.ts';
import { createAddressGuard } from '../checkers/engine/addresses.ts';
import { openProxyListReader } from '../checkers/proxies/proxies.ts';
import type { RateCounters } from '../http/frame/limits/rate-counters.ts';
import { openSignedLinks } from '../http/frame/signed-links.ts';
import { type OpenedApp, type OpeningParts, openApp, openProbes } from '../http/open-app.ts';
import { blobLink } from '../http/results/files.ts';
import type { Config } from '../settings/config.ts';
import { keyOf } from './local-key.ts';
import { openPayments } from './open-payments.ts';
import { tlsFilesOf } from './store-tls.ts';
import { type OpenBlobs, type OpeningOptions, openBlobs, openStores, whenThere } from './stores.ts';
import { watchedCertificates } from './watched-certificates.ts';

type Own = Pick<OpeningParts, 'public_url' | 'registry' | 'fault'>;

/** Opens the http role's application, or the probes alone. Starts again when a store goes away meanwhile. */
export function openHttp(config: Config, logger: Logger, own: Own, opening: OpeningOptions): Promise<OpenedApp> {
  const open = async () => {
    const stores = await openStores(config, logger, opening);
    let blobs: OpenBlobs | null = null;
    const close = async () => void (await Promise.allSettled([stores.close(), blobs?.close()]));
    try {
      if (opening.of !== 'http') {
        const opened = await openProbes(config, { ...own, stores }, logger);
        return { ...opened, close: () => opened.close().then(close) };
      }
      const keys = await openKeys(config);
      const links = openSignedLinks({ secret: keys.links, base_url: own.public_url, now: Date.now });
      const sign: SignBlobLink = (key, link) => blobLink(links, key, link);
      blobs = await openBlobs(config, logger, { ...opening, sign });
      const outside = await openOutside(config, logger, own);
      const opened = await openApp(config, logger, { ...own, ...outside, keys, stores: { ...stores, blobs } });
      return { ...opened, close: () => opened.close().then(close) };
    } catch (error) {
      await close();
      throw error;
    }
  };
  return whenThere('a store', open, logger, opening);
}

async function openOutside(config: Config, logger: Logger, { public_url }: Own) {
  const { identity_jwks_url, identity_issuer, identity_audience, identity_client_id: client_id, data_dir } = config;
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
            ...(client_id !== null && {
              client: { client_id, client_secret: config.identity_client_secret, scope: config.identity_client_scope },
            }),
          }
        : { local: data_dir },
    ),
    payments: await openPayments(config, public_url),
    readProxyList: config.proxy_list_url === null ? null : openProxyListReader(config.proxy_list_url),
    certificates: watchedCertificates(config, 'http'),
    checker_guard: createAddressGuard(config.checker_allow_addresses),
    webhook_guard: createAddressGuard(config.webhook_allow_addresses),
  };
}

async function openKeys({ link_signing_key, webhook_signing_key, data_dir }: Config): Promise<OpeningParts['keys']> {
  return {
    links: await keyOf(link_signing_key, data_dir, 'link-key'),
    webhooks: await keyOf(webhook_signing_key, data_dir, 'webhook-key'),
  };
}

/** Opens the counters of rate limits. With MongoDB all processes share them, else each counts alone. */
async function openRateCounters(config: Config, logger: Logger): Promise<RateCounters> {
  const { mongodb_url } = config;
  if (!mongodb_url) return openMemoryRates();
  const { openMongoRates } = await import('../adapters/rate-counters/mongodb.ts');
  return openMongoRates({ url: mongodb_url, tls: tlsFilesOf(config, 'MONGODB'), log: logger });
}
