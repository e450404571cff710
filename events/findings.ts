// What a result says beyond its outcome, derived from it wherever it is shown: its redirects with their statuses, and whether a failure
// may pass.
import type { Outcome } from './checks.ts';
import { Type } from './schema.ts';

export const REDIRECT_KINDS = ['permanent', 'temporary', 'mixed'] as const;
export type RedirectKind = (typeof REDIRECT_KINDS)[number];
export const REDIRECT_CHANGES = ['form', 'address'] as const;

/** The fields that results have beside those of an outcome. */
export const FINDINGS = {
  temporary: Type.Boolean({
    description:
      'True for a failure that may pass: 408, 425, 429, 500, 502, 503, 504, 520 to 524, 529, a time-out, a reset or a failure of name servers. ' +
      'The check was made again, also some time later, as `attempts` and `tried_ms` say. A 404 or a name that does not exist is permanent.',
  }),
  redirects: Type.Array(Type.Object({ url: Type.String(), status_code: Type.Integer() }), {
    description:
      'The targets of `redirect_chain`, each with the status of the answer that redirected to it. Empty in results of before it was recorded.',
  }),
  redirect_kind: Type.Optional(
    Type.Enum(REDIRECT_KINDS, {
      type: 'string',
      $id: 'RedirectKind',
      description:
        '`permanent`: every redirect is 301 or 308, so a link may be replaced by `final_url`; `temporary`: none is; `mixed`: some are. ' +
        'Missing without `redirects`.',
    }),
  ),
  redirect_changes: Type.Optional(
    Type.Enum(REDIRECT_CHANGES, {
      description:
        'What the redirects change of the URL. `form`: only its scheme, `www.`, a slash at the end or letter case; `address`: more. ' +
        'Missing without `redirects`.',
    }),
  ),
};

export interface Findings {
  temporary: boolean;
  redirects: { url: string; status_code: number }[];
  redirect_kind?: RedirectKind;
  redirect_changes?: (typeof REDIRECT_CHANGES)[number];
}

const TEMPORARY_STATUSES: ReadonlySet<number> = new Set([
  408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529,
]);
const TEMPORARY_ERRORS: ReadonlySet<string> = new Set([
  'dns_failed',
  'connection_reset',
  'connect_timeout',
  'response_timeout',
]);

/**
 * Whether a status may be another one soon.
 * @example isTemporaryStatus(503) // true
 */
export const isTemporaryStatus = (status: number): boolean => TEMPORARY_STATUSES.has(status);
/**
 * Whether a request that failed so may succeed soon.
 * @example isTemporaryError('dns_not_found') // false
 */
export const isTemporaryError = (error_code: string): boolean => TEMPORARY_ERRORS.has(error_code);

/**
 * Whether an outcome is a failure that may pass.
 * @example isTemporary({ verdict: 'broken', status_code: 404, error_code: null }) // false
 */
export function isTemporary({
  verdict,
  status_code,
  error_code,
}: Pick<Outcome, 'verdict' | 'status_code' | 'error_code'>): boolean {
  if (verdict === 'unreachable') return error_code !== null && isTemporaryError(error_code);
  return verdict === 'broken' && status_code !== null && isTemporaryStatus(status_code);
}

/**
 * The kind of redirects with these statuses, undefined without any.
 * @example redirectKindOf([301, 302]) // 'mixed'
 */
export function redirectKindOf(statuses: readonly number[] = []): RedirectKind | undefined {
  if (statuses.length === 0) return undefined;
  const permanent = statuses.filter((status) => status === 301 || status === 308).length;
  if (permanent === statuses.length) return 'permanent';
  return permanent === 0 ? 'temporary' : 'mixed';
}

/** An outcome's own fields as results show them, for the URL that was checked. */
export function findingsOf(outcome: Outcome, url: string): Findings {
  const { redirect_chain, redirect_statuses = [] } = outcome;
  const findings: Findings = {
    temporary: isTemporary(outcome),
    redirects: redirect_statuses.map((status_code, n) => ({ url: redirect_chain[n] ?? '', status_code })),
  };
  const kind = redirectKindOf(redirect_statuses);
  if (kind !== undefined) findings.redirect_kind = kind;
  const last = redirect_chain.at(-1);
  if (last !== undefined) findings.redirect_changes = formOf(url) === formOf(last) ? 'form' : 'address';
  return findings;
}

/** A URL without what is often written one way or another. */
function formOf(url: string): string {
  const parsed = URL.parse(url);
  if (parsed === null) return url;
  const { hostname, port, pathname, search } = parsed;
  return `${hostname.replace(/^www\./, '')}:${port}${pathname.replace(/\/$/, '')}${search}`.toLowerCase();
}
