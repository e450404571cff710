// Starts the proxies of a checker: the follower of the list, the pool that it fills, and the pool's statistics.
import type { Logger } from 'pino';
import type { EventStore } from '../../events/event-store.ts';
import { followProxyList } from './list.ts';
import { ProxyPool } from './pool.ts';
import { keepProxyStatistics } from './statistics.ts';

export interface Proxies {
  pool: ProxyPool;
  /** Records the last statistics. Close the engine first. */
  close(): Promise<void>;
}

export function openProxies(options: {
  list_url: string;
  per_proxy: number;
  log: EventStore;
  logger: Logger;
}): Proxies {
  const { list_url, per_proxy, log, logger } = options;
  const pool = new ProxyPool({ per_proxy });
  const stop = new AbortController();
  const following = followProxyList({
    url: list_url,
    listed: (proxies) => pool.list(proxies),
    logger,
    signal: stop.signal,
  });
  const statistics = keepProxyStatistics({ pool, log, logger });
  return {
    pool,
    async close() {
      stop.abort();
      await following;
      await statistics.close();
    },
  };
}
