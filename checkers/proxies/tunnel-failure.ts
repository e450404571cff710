// The reason why a proxy gave no tunnel.
import type { ErrorCode } from '../../events/checks.ts';
import type { Fault } from './tries.ts';

export class TunnelFailure extends Error {
  readonly reason: Extract<Fault, 'down' | 'broke_off' | 'no_way'>;
  /** The error code of the outcome, if `ProxyTries` believes the failure. */
  readonly code: Extract<ErrorCode, 'proxy_failed' | 'connection_refused' | 'connect_timeout'>;

  constructor(reason: TunnelFailure['reason'], code: TunnelFailure['code'] = 'proxy_failed') {
    super(`no tunnel: ${reason}, ${code}`);
    this.reason = reason;
    this.code = code;
  }
}

export type TunnelDone = (failure: TunnelFailure | null) => void;
