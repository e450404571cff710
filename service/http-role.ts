// Serves HTTP: the http role on PORT, the probes on METRICS_PORT. Listens, opens the stores, and ends both.
import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import type { Tallies } from '../checkers/tallies.ts';
import { VERDICTS } from '../events/checks.ts';
import { openCounter, openGauge } from '../http/frame/metrics.ts';
import { connectionsBeside } from '../http/server/connections.ts';
import { Front } from '../http/server/front.ts';
import { type RunningServer, startServer } from '../http/server/server.ts';
import { openStarting, type Starting } from '../http/server/starting.ts';
import type { Config } from '../settings/config.ts';
import { atMost } from '../time/pause.ts';
import { isDamage } from './data-dir.ts';
import { giveMemoryBack } from './idle-memory.ts';
import { openHttp } from './open-http.ts';
import { type RunningProbes, startProbes } from './probes.ts';
import type { OpeningOptions, WaitingOptions } from './stores.ts';

/** `close` waits this long for stores that are being opened. */
const CLOSE_MS = 500;

export interface Http {
  /** The URL of the http role; null without it. */
  url: string | null;
  /** The URL of the probes; null without METRICS_PORT. */
  metrics_url: string | null;
  /** Resolves when opening fails with an error that a retry does not mend, or when a store is damaged. */
  failed: Promise<Error>;
  close(): Promise<void>;
}

export interface HttpParts {
  /** Runs before the stores are opened. */
  begin: (waiting: WaitingOptions['waiting']) => Promise<void>;
  /** The checker of this process; null: it has none. */
  checker: CheckerParts | null;
}

/** Listens as soon as requests can be answered, or a store is away: it then refuses requests, and the probes say why. */
export async function startHttp(config: Config, logger: Logger, { begin, checker }: HttpParts): Promise<Http> {
  const starting = openStarting();
  const stop = new AbortController();
  const failure = Promise.withResolvers<Error>();
  const waits = Promise.withResolvers<void>();
  let { public_url } = config;
  const waiting: WaitingOptions['waiting'] = (for_what) => {
    starting.waits(for_what);
    waits.resolve();
  };
  const registry = new Registry();
  if (checker) openCheckerMetrics(registry, checker);
  const connections = connectionsBeside(config, logger);
  const { trusted_proxies, max_unread_bytes, request_wait_ms } = config;
  const front = new Front({ log: logger, trusted_proxies, max_unread_bytes, request_wait_ms });
  connections.measure(registry);
  front.measure(registry);
  const fault = (error: unknown) => void (isDamage(error) && failure.resolve(error as Error));
  const parts = { public_url: () => public_url, registry, fault };
  const of = config.roles.includes('http') ? 'http' : 'others';
  const options: OpeningOptions = { of, signal: stop.signal, waiting };
  const opening = begin(waiting).then(() => openHttp(config, logger, parts, options));
  opening.then(
    (opened) => starting.started(opened),
    (error: Error) => stop.signal.aborted || failure.resolve(error),
  );
  const endMemory = giveMemoryBack();
  const servers: RunningServer[] = [];
  let probes: RunningProbes | null = null;
  const listen = async (app: Pick<Starting, 'callback'>, port: number, more = {}) => {
    const server = await startServer(app, { host: config.host, port, log: logger, ...more });
    servers.push(server);
    return server.url;
  };
  async function close(): Promise<void> {
    stop.abort();
    endMemory();
    const opened = await atMost(
      CLOSE_MS,
      opening.catch(() => null),
    );
    opened?.end();
    await Promise.all(servers.map((server) => server.close()));
    await probes?.close();
    await opened?.close();
  }
  try {
    await Promise.race([opening, waits.promise]);
    const { metrics_port } = config;
    if (metrics_port !== null) {
      probes = await startProbes({ host: config.host, port: metrics_port }, starting.probe);
      void probes.failed.then(failure.resolve);
    }
    const metrics_url = probes?.url ?? null;
    const url = of === 'http' ? await listen(starting, config.port, { connections, front }) : null;
    // With PORT 0 the system picks the port, which is known from here on.
    if (url !== null && new URL(public_url).port === '0') public_url = url;
    return { url, metrics_url, failed: failure.promise, close };
  } catch (error) {
    await close();
    throw error;
  }
}

// The metrics of the checker of this process.
interface CheckerParts {
  tallies: Tallies;
  /** The number of threads that the service has replaced since its start. */
  threads_replaced: () => number;
}

function openCheckerMetrics(registry: Registry, { tallies, threads_replaced }: CheckerParts): void {
  openCounter(
    registry,
    { name: 'checker_checks_total', help: 'URLs that this process has checked, by verdict.', labelNames: ['verdict'] },
    () => VERDICTS.map((verdict) => [{ verdict }, tallies.read(verdict)]),
  );
  openCounter(
    registry,
    {
      name: 'checker_host_back_offs_total',
      help: 'Times that the checker slowed its requests to a host that throttled it.',
    },
    () => tallies.read('host_back_offs'),
  );
  openGauge(
    registry,
    {
      name: 'checker_hosts_held',
      help: 'Hosts to which the checker may start no request now, because they asked it to wait or a gap has not passed.',
    },
    () => tallies.read('hosts_held'),
  );
  openGauge(registry, { name: 'checker_urls_in_flight', help: 'URLs that the checker requests now.' }, () =>
    tallies.read('urls_in_flight'),
  );
  openGauge(
    registry,
    {
      name: 'checker_urls_waiting',
      help: 'URLs in hand that wait for a slot, for their host or for their next attempt.',
    },
    () => tallies.read('urls_waiting'),
  );
  openCounter(
    registry,
    {
      name: 'checker_threads_replaced_total',
      help: 'Checker threads of this process that the service replaced because they hung or crashed.',
    },
    threads_replaced,
  );
}
