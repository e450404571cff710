// A row of the tables of outcomes: what a server does, and the outcome that the engine gives. Each row has a host of its own.
import type { Outcome } from '../../../events/checks.ts';

export interface Case {
  what: string;
  /** A path at the row's own host, or a URL with `{host}` and `{plain}`, `{tls}` and other ports by name. */
  ask: string;
  /** Its URLs may be paths at that host, or have the same placeholders. */
  expected: Partial<Outcome>;
  timeout_ms: number;
  /** The number of consecutive checks. The last outcome counts. */
  times: number;
}
export type Section = readonly [title: string, cases: readonly Case[]];

/** A body gets a third of it, a connection two thirds: longer than anything else takes. */
export const USUAL_MS = 15_000;
/** For bodies that do not end. */
export const BODY_MS = 6000;
/** For headers and handshakes that do not come. */
export const SILENCE_MS = 300;

export function row(what: string, ask: string, expected: Partial<Outcome>, timeout_ms = USUAL_MS, times = 1): Case {
  return { what, ask, expected, timeout_ms, times };
}
export const each = (asks: readonly (string | number)[], make: (ask: string) => Case): Case[] =>
  asks.map((a) => make(`${a}`));

export const ok = {
  status_code: 200,
  verdict: 'ok',
  is_broken: false,
  is_soft_404: false,
  error_code: null,
  attempts: 1,
} as const;
export const redirected = { ...ok, verdict: 'redirected' } as const;
export const broken = { verdict: 'broken', is_broken: true, is_soft_404: false, error_code: null } as const;
export const blocked = { verdict: 'blocked', is_broken: true, attempts: 1 } as const;
export const failed = { verdict: 'unreachable', is_broken: true, is_soft_404: false } as const;
export const silent = {
  ...failed,
  status_code: null,
  final_url: null,
  response_time_ms: null,
  content_type: null,
} as const;
export const reset = { ...silent, error_code: 'connection_reset', attempts: 3 } as const;
export const malformed = { ...silent, error_code: 'malformed_response', attempts: 1 } as const;
export const soft = { status_code: 200, verdict: 'soft_404', is_broken: false, is_soft_404: true } as const;
export const astray = { ...failed, status_code: 302, error_code: 'invalid_redirect', attempts: 1 } as const;
export const refused = { ...failed, error_code: 'blocked_address', attempts: 1 } as const;
export const invalid = { ...silent, error_code: 'invalid_url', attempts: 0 } as const;
