// Records exchanges through proxies in the pool, and decides whether a check believes a failure.
import type { ProxyPool } from '../proxies/pool.ts';
import { ProxyTries, resultOf } from '../proxies/tries.ts';
import type { CheckInHand } from './check-in-hand.ts';
import type { Exchange } from './exchange.ts';

/** True when a failure may be the proxy's: the request goes through another proxy and counts as no attempt. */
export function shouldTryAnotherProxy(pool: ProxyPool | undefined, check: CheckInHand, exchange: Exchange): boolean {
  const { failure, connection } = exchange;
  const { proxy, fault } = connection;
  if (pool === undefined || proxy === null || failure === null) return false;
  check.proxy_tries ??= new ProxyTries();
  exchange.failure = check.proxy_tries.believe(failure, fault, proxy, pool.size > 1);
  if (fault !== 'none') pool.record(proxy, resultOf(failure, fault), connection.host);
  return exchange.failure === null;
}

/** Records an answer through a proxy in the pool. */
export function countAnswer(
  pool: ProxyPool | undefined,
  check: CheckInHand,
  { connection, failure, responded_at }: Exchange,
): void {
  const { proxy, host } = connection;
  if (pool === undefined || proxy === null || failure !== null) return;
  check.proxy_tries = null;
  pool.record(proxy, check.protection === null ? 'answered' : 'blocked', host, responded_at - check.asked_at);
}
