// What a checker tells of a proxy, for tests of what shows it.
import { recordProxyObserved } from '../../commands/proxy.ts';
import type { EventStore } from '../../events/event-store.ts';
import { uuidV5 } from '../../events/ids.ts';
import { commandContext } from './stores.ts';

/** Ten requests, of which six were answered and three blocked; each of the domains blocked one. Returns when. */
export async function observeProxy(
  log: EventStore,
  { proxy_id, address }: { proxy_id: string; address: string },
  blocked_by: readonly string[],
): Promise<string> {
  const time = new Date().toISOString();
  const counts = { requests: 10, answered: 6, blocked: 3, timed_out: 0, failed: 1, response_time_ms: 900 };
  const about = {
    observer: uuidV5(proxy_id, 'test'),
    interval: 0,
    from: time,
    until: time,
    status: 'healthy',
  } as const;
  const domains = blocked_by.map((domain) => ({ domain, blocked: 1, failed: 0, answered: 0 }));
  await recordProxyObserved(log, { proxy_id, address, ...about, ...counts, domains }, commandContext());
  return time;
}
