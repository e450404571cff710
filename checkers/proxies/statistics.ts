// Appends the pool's statistics to the log: at most one event a proxy and minute, and the rest at a clean stop.
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { recordProxyObserved } from '../../commands/proxy.ts';
import type { EventStore } from '../../events/event-store.ts';
import type { ProxyObserved } from '../../events/proxy.ts';
import type { HostCounts, PooledProxy, ProxyPool } from './pool.ts';

const INTERVAL_MS = 60_000;
/** Attempts to append the last statistics at a stop. */
const LAST_TRIES = 3;

export type ProxyStatistics = ReturnType<typeof keepProxyStatistics>;

export function keepProxyStatistics(options: { pool: ProxyPool; log: EventStore; logger: Logger; now?: () => number }) {
  const { pool, log, logger, now = Date.now } = options;
  const observer = randomUUID();
  let interval = 0;
  let began = now();
  /** Events that the log has not taken yet, the oldest first. A retry has the same ids. */
  const pending: ProxyObserved[] = [];
  let reported = new Map<string, ProxyObserved['status']>();
  let last_flush = Promise.resolve();

  function collect(): void {
    const until = now();
    const reported_before = reported;
    reported = new Map();
    for (const { proxy, counts } of pool.drain()) {
      const { id, address } = proxy.endpoint;
      const quarantine = proxy.listed ? pool.quarantine(proxy) : null;
      const status = statusOf(proxy, quarantine !== null);
      // A proxy without requests needs an event only when its status has changed.
      reported.set(id, status);
      if (counts.requests === 0 && reported_before.get(id) === status) continue;
      const { hosts, response_time_ms, ...numbers } = counts;
      pending.push({
        proxy_id: id,
        address,
        observer,
        interval,
        from: new Date(began).toISOString(),
        until: new Date(until).toISOString(),
        status,
        ...(quarantine && { retry_at: new Date(until + quarantine.retry_ms).toISOString() }),
        ...numbers,
        response_time_ms: Math.round(response_time_ms),
        domains: Array.from(hosts, ([domain, found]) => ({ domain, ...found })).filter(hasRequests),
      });
    }
    interval++;
    began = until;
  }

  async function record(): Promise<void> {
    for (let first = pending[0]; first !== undefined; first = pending[0]) {
      await recordProxyObserved(log, first, {
        command_id: randomUUID(),
        causation_id: observer,
        actor: 'checker',
        now: now(),
      });
      pending.shift();
    }
  }

  /** Flushes run one after another. */
  function flush(): Promise<void> {
    last_flush = last_flush.then(async () => {
      collect();
      await record().catch((error: unknown) => {
        logger.warn({ err: error, pending: pending.length }, 'the log did not take proxy statistics yet');
      });
    });
    return last_flush;
  }

  const timer = setInterval(() => void flush(), INTERVAL_MS);
  timer.unref();
  return {
    /** Appends the statistics so far. Events that the log does not take wait for the next flush. */
    flush,
    /** Appends the last statistics. */
    async close(): Promise<void> {
      clearInterval(timer);
      for (let tries = 0; tries < LAST_TRIES; tries++) {
        await flush();
        if (pending.length === 0) return;
      }
      logger.error({ lost: pending.length }, 'the log did not take the last proxy statistics; they are lost');
    },
  };
}

function statusOf({ listed }: PooledProxy, is_quarantined: boolean): ProxyObserved['status'] {
  if (!listed) return 'unlisted';
  return is_quarantined ? 'benched' : 'healthy';
}

const hasRequests = ({ blocked, failed, answered }: HostCounts) => blocked + failed + answered > 0;
