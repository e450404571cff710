// Why there is no tunnel through a proxy.
import type { ErrorCode } from '../../events/checks.ts';
import type { Fault } from './tries.ts';

export class TunnelFailure extends Error {
  readonly reason: Extract<Fault, 'down' | 'broke_off' | 'no_way'>;
  /** What it says of the target, when it is believed. */
  readonly code: Extract<ErrorCode, 'proxy_failed' | 'connection_refused' | 'connect_timeout'>;

  constructor(reason: TunnelFailure['reason'], code: TunnelFailure['code'] = 'proxy_failed') {
    super(`no tunnel: ${reason}, ${code}`);
    this.reason = reason;
    this.code = code;
  }
}

export type TunnelDone = (failure: TunnelFailure | null) => void;
