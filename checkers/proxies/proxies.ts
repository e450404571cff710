// Starts the proxies of a checker: the follower of the list, the pool that it fills, and the pool's statistics. Decision 15 says why.
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { openProxyListCommands, type ProxyList, watchRefreshRequests } from '../../commands/proxy-list.ts';
import type { EventStore } from '../../events/event-store.ts';
import { followProxyList } from './list.ts';
import { ProxyPool } from './pool.ts';
import { type ParsedList, readProxyList } from './read-list.ts';
import { keepProxyStatistics } from './statistics.ts';

export type Proxies = Awaited<ReturnType<typeof openProxies>>;

export async function openProxies(options: { list_url: string; per_proxy: number; log: EventStore; logger: Logger }) {
  const { list_url, per_proxy, log, logger } = options;
  const pool = new ProxyPool({ per_proxy });
  const stop = new AbortController();
  const commands = openProxyListCommands(log);
  /** One list after the other, so that the last one is recorded last. */
  let recorded = Promise.resolve();
  async function record(list: ParsedList): Promise<void> {
    const context = { command_id: randomUUID(), causation_id: randomUUID(), actor: 'checker', now: Date.now() };
    await commands.record(withoutCredentials(list), 'schedule', context);
  }
  const following = followProxyList({
    url: list_url,
    listed(list) {
      pool.list(list.proxies);
      recorded = recorded
        .then(() => record(list))
        .catch((error: unknown) => logger.warn({ err: error }, 'the log did not take the list of proxies'));
    },
    wasAsked: await watchRefreshRequests(log),
    logger,
    signal: stop.signal,
  });
  const statistics = keepProxyStatistics({ pool, log, logger });
  return {
    pool,
    /** Records the last statistics. Close the engine first. */
    async close(): Promise<void> {
      stop.abort();
      await following;
      await recorded;
      await statistics.close();
    },
  };
}

/** A list as the log may hold it. */
function withoutCredentials({ proxies, skipped }: ParsedList): ProxyList {
  return { proxies: proxies.map(({ id: proxy_id, address }) => ({ proxy_id, address })), skipped };
}

/** Reads the list for http. Readers at the same time share one answer of the provider. */
export function openProxyListReader(url: string): () => Promise<ProxyList> {
  let reading: Promise<ProxyList> | null = null;
  return () => {
    reading ??= readProxyList(url)
      .then(withoutCredentials)
      .finally(() => (reading = null));
    return reading;
  };
}
