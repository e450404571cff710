// Decides whether a failure through a proxy is the target's or the proxy's. A check reports the failure only when two proxies
// agree on it or none gets through. Until then the request goes through another proxy and counts as no attempt.
import type { ErrorCode } from '../../events/checks.ts';
import type { PooledProxy, ProxyResult } from './pool.ts';

/** The part of the path that failed. */
export type Fault =
  /** The connection used no proxy. */
  | 'none'
  /** The proxy serves no target. */
  | 'down'
  /** The proxy hung up during the request for the target. */
  | 'broke_off'
  /** The proxy could not reach the target, refused, or gave no reason. */
  | 'no_way'
  /** The target, through a working tunnel. */
  | 'target';

const MAX_TRIES = 3;

/** The proxies that one check has tried. */
export class ProxyTries {
  readonly proxies = new Set<PooledProxy>();
  #count = 0;

  /**
   * The error code to report, or null to try another proxy. `others`: whether the pool has other proxies. Call it before
   * the pool records the failure.
   */
  believe(code: ErrorCode, fault: Fault, proxy: PooledProxy, others: boolean): ErrorCode | null {
    if (fault === 'none') return code;
    this.proxies.add(proxy);
    // A proxy that is down fails every target: the check waits for another one, for any time.
    if (fault === 'down' || (fault === 'broke_off' && proxy.benchings > 0)) return null;
    this.#count++;
    const enough = this.#count >= MAX_TRIES;
    if (fault === 'target') return this.proxies.size > 1 || !others || enough ? code : null;
    if (fault === 'no_way' && code !== 'proxy_failed' && this.proxies.size > 1) return code;
    return enough ? 'proxy_failed' : null;
  }
}

/** The result that the pool records for a failure. */
export function resultOf(code: ErrorCode, fault: Fault): ProxyResult {
  if (fault === 'down' || fault === 'broke_off') return 'proxy_down';
  return code === 'connect_timeout' || code === 'response_timeout' ? 'timed_out' : 'failed';
}
