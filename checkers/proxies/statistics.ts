// What was met through the proxies, told to the log: an event a proxy and minute at most, and the rest at a clean stop.
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { recordProxyObserved } from '../../commands/proxy.ts';
import type { EventStore } from '../../events/event-store.ts';
import type { ProxyObserved } from '../../events/proxy.ts';
import type { PooledProxy, ProxyPool } from './pool.ts';

const INTERVAL_MS = 60_000;
/** At a stop the log is given so many chances. */
const LAST_TRIES = 3;

export interface ProxyStatistics {
  /** Records what is there, at once; what the log does not take is kept for the next time. */
  flush(): Promise<void>;
  /** Records the rest. */
  close(): Promise<void>;
}

export function keepProxyStatistics(options: {
  pool: ProxyPool;
  log: EventStore;
  logger: Logger;
  now?: () => number;
}): ProxyStatistics {
  const { pool, log, logger, now = Date.now } = options;
  const observer = randomUUID();
  let interval = 0;
  let began = now();
  /** What the log has not taken yet, the oldest first: with the same ids each time. */
  const pending: ProxyObserved[] = [];
  let told = new Map<string, ProxyObserved['status']>();
  let turn = Promise.resolve();

  function collect(): void {
    const until = now();
    const told_before = told;
    told = new Map();
    for (const { proxy, counts } of pool.drain()) {
      const { id, address } = proxy.endpoint;
      const status = statusOf(proxy);
      // One that nothing went through is worth an event when it is new to the list, off it, or of another health.
      told.set(id, status);
      if (counts.requests === 0 && told_before.get(id) === status) continue;
      const { hosts, response_time_ms, ...numbers } = counts;
      pending.push({
        proxy_id: id,
        address,
        observer,
        interval,
        from: new Date(began).toISOString(),
        until: new Date(until).toISOString(),
        status,
        ...numbers,
        response_time_ms: Math.round(response_time_ms),
        domains: Array.from(hosts, ([domain, troubles]) => ({ domain, ...troubles })),
      });
    }
    interval++;
    began = until;
  }

  function statusOf(proxy: PooledProxy): ProxyObserved['status'] {
    if (!proxy.listed) return 'unlisted';
    return pool.isBenched(proxy) ? 'benched' : 'healthy';
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

  /** One at a time. */
  function flush(): Promise<void> {
    turn = turn.then(async () => {
      collect();
      await record().catch((error: unknown) => {
        logger.warn({ err: error, pending: pending.length }, 'the log did not take what was met through proxies');
      });
    });
    return turn;
  }

  const timer = setInterval(() => void flush(), INTERVAL_MS);
  timer.unref();
  return {
    flush,
    async close() {
      clearInterval(timer);
      for (let tries = 0; tries < LAST_TRIES; tries++) {
        await flush();
        if (pending.length === 0) return;
      }
      logger.error({ lost: pending.length }, 'what was met through proxies is lost');
    },
  };
}
