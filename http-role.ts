// The http role: listens at once, opens the stores and what answers over them, and ends both.
import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import { openIdentity } from './adapters/identity/index.ts';
import { openMemoryRates } from './adapters/rate-counters/memory.ts';
import { createAddressGuard } from './checkers/engine/addresses.ts';
import type { Config } from './config.ts';
import { isDamage } from './data-dir.ts';
import { mostConnections, openConnections } from './http/connections.ts';
import { openThreadMetrics } from './http/metrics.ts';
import { type OpenedApp, type OpeningParts, openApp } from './http/open-app.ts';
import { type RunningServer, startServer } from './http/server.ts';
import { openStarting } from './http/starting.ts';
import { keyOf } from './local-key.ts';
import {
  type OpeningOptions,
  openRateCounters,
  openStores,
  type Waiting,
  type WaitingOptions,
  whenThere,
} from './stores.ts';
import { pause } from './time/pause.ts';

/** How long an end waits for stores that are being opened. */
const CLOSE_MS = 500;

export interface Http {
  url: string;
  /** Resolves when it could not begin to answer for a reason that time does not mend, or when a store is damaged. */
  failed: Promise<Error>;
  close(): Promise<void>;
}

export interface HttpParts {
  /** What comes before the stores are opened. */
  begin: (waiting: WaitingOptions['waiting']) => Promise<void>;
  /** Of the checker in this process, so far. */
  threads_replaced: () => number;
}

/** Listens when requests can be answered, or when it waits: requests are then refused, and the probes say why. */
export async function startHttp(config: Config, logger: Logger, { begin, threads_replaced }: HttpParts): Promise<Http> {
  const starting = openStarting();
  const stop = new AbortController();
  const failure = Promise.withResolvers<Error>();
  const waits = Promise.withResolvers<void>();
  let { public_url } = config;
  const waiting = (for_what: Waiting | null) => {
    starting.waits(for_what);
    waits.resolve();
  };
  const registry = new Registry();
  openThreadMetrics(registry, threads_replaced);
  const checks_at_once = config.roles.includes('checker') ? config.checker_concurrency : 0;
  const most = mostConnections({ wanted: config.max_connections, checks_at_once });
  const connections = openConnections({ most, log: logger });
  connections.measure(registry);
  if (most < config.max_connections) logger.info({ most }, 'too few open files for MAX_CONNECTIONS');
  const fault = (error: unknown) => void (isDamage(error) && failure.resolve(error as Error));
  const parts = { public_url: () => public_url, registry, fault };
  const options: OpeningOptions = { of: 'http', signal: stop.signal, waiting };
  const opening = begin(waiting).then(() => openOverStores(config, logger, parts, options));
  opening.then(
    ({ app }) => starting.started(app),
    (error: Error) => stop.signal.aborted || failure.resolve(error),
  );
  async function end(server: RunningServer | null): Promise<void> {
    stop.abort();
    const opened = await Promise.race([opening.catch(() => null), pause(CLOSE_MS, new AbortController().signal)]);
    opened?.end();
    await server?.close();
    await opened?.close();
  }
  try {
    await Promise.race([opening, waits.promise]);
    const server = await startServer(starting, { host: config.host, port: config.port, log: logger, connections });
    // Where the system picked the port, it is known from here on.
    if (new URL(public_url).port === '0') public_url = server.url;
    return { url: server.url, failed: failure.promise, close: () => end(server) };
  } catch (error) {
    await end(null);
    throw error;
  }
}

type Own = Pick<OpeningParts, 'public_url' | 'registry' | 'fault'>;

/** Again from the start when a store goes away meanwhile. */
function openOverStores(config: Config, logger: Logger, own: Own, opening: OpeningOptions): Promise<OpenedApp> {
  const open = async () => {
    const stores = await openStores(config, logger, opening);
    try {
      const opened = await openApp(config, logger, { ...own, stores, ...(await openOutside(config, logger)) });
      return { ...opened, close: () => opened.close().then(stores.close) };
    } catch (error) {
      await stores.close();
      throw error;
    }
  };
  return whenThere('a store', open, logger, opening);
}

/** What http needs besides the stores: who vouches for callers, counters, keys, and the guard of webhooks' addresses. */
async function openOutside(config: Config, logger: Logger) {
  const { identity_jwks_url, identity_issuer, identity_audience, data_dir } = config;
  return {
    rates: { shared: await openRateCounters(config, logger), own: openMemoryRates() },
    identity: await openIdentity(
      identity_jwks_url
        ? { jwks_url: identity_jwks_url, issuer: identity_issuer!, audience: identity_audience! }
        : { local: data_dir },
    ),
    keys: {
      links: await keyOf(config.link_signing_key, data_dir, 'link-key'),
      webhooks: await keyOf(config.webhook_signing_key, data_dir, 'webhook-key'),
    },
    webhook_guard: createAddressGuard(config.webhook_allow_addresses),
  };
}
