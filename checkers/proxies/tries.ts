// Whom a failure through a proxy speaks of. A URL is not said to be broken because of a proxy: until two of them have met
// the same wall, or it is clear that none gets through, the request goes on through another and counts as no attempt.
import type { ErrorCode } from '../../events/checks.ts';
import type { Met, PooledProxy } from './pool.ts';

/** What stood in the way when it failed. */
export type Fault =
  /** No proxy had a part in it. */
  | 'none'
  /** The proxy is not fit for any target. */
  | 'down'
  /** The proxy hung up when it was asked for the target. */
  | 'broke_off'
  /** The proxy could not reach the target, would not, or did not say. */
  | 'no_way'
  /** The target, as it is seen through the proxy. */
  | 'target';

const MAX_TRIES = 3;

/** Of one check. */
export class ProxyTries {
  readonly proxies = new Set<PooledProxy>();
  #count = 0;

  /**
   * The error code to believe; null: try another proxy. `others`: whether there are other proxies. To be asked before
   * the pool hears of the failure.
   */
  believe(code: ErrorCode, fault: Fault, proxy: PooledProxy, others: boolean): ErrorCode | null {
    if (fault === 'none') return code;
    this.proxies.add(proxy);
    // A proxy that is out of order would be so for any target: the check waits for a better one, however long.
    if (fault === 'down' || (fault === 'broke_off' && proxy.benchings > 0)) return null;
    this.#count++;
    const enough = this.#count >= MAX_TRIES;
    if (fault === 'target') return this.proxies.size > 1 || !others || enough ? code : null;
    if (fault === 'no_way' && code !== 'proxy_failed' && this.proxies.size > 1) return code;
    return enough ? 'proxy_failed' : null;
  }
}

/** The failure as the pool counts it. */
export function metBy(code: ErrorCode, fault: Fault): Met {
  if (fault === 'down' || fault === 'broke_off') return 'proxy_down';
  return code === 'connect_timeout' || code === 'response_timeout' ? 'timed_out' : 'failed';
}
