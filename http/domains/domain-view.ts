// The API's views of a blocklisted domain and of a domain's health.
import { ERROR_CODES, VERDICTS } from '../../events/checks.ts';
import { Nullable, type Static, Type } from '../../events/schema.ts';
import type { BlockedDomainDocument } from '../../readmodels/blocked-domains.ts';
import type { DomainHealthDocument } from '../../readmodels/domain-health.ts';
import { type Counts, NO_STATUS } from '../../readmodels/results/stats.ts';
import { Count, pick, Time } from '../frame/schemas.ts';

export const Block = Type.Object({
  domain: Type.String(),
  reason: Type.String({ description: 'Users whose URLs the service leaves out read this reason.' }),
  block_type: Type.String({ description: 'A code for programs, such as `legal`.' }),
  error_codes: Type.Array(Type.String(), { description: 'The errors that checks of its URLs return.' }),
});

export const BlockedDomainView = Type.Object({ ...Block.properties, added_at: Time() }, { $id: 'BlockedDomain' });

export const blockExample = {
  domain: 'example.com',
  reason: 'The owner asked for no automated requests.',
  block_type: 'legal',
  error_codes: ['403', '999'],
};
export const blockedDomainExample = { ...blockExample, added_at: '2026-01-31T09:00:00.000Z' };

export function blockedDomainView({ _id, ...entry }: BlockedDomainDocument): Static<typeof BlockedDomainView> {
  return { domain: _id, ...entry };
}

const DOMAIN_STATES = ['ok', 'degraded', 'failing'] as const;
/** The lowest failure rates of a degraded and of a failing domain. */
const DEGRADED_FROM = 0.1;
const FAILING_FROM = 0.5;

export const DomainHealthView = Type.Object({
  domain: Type.String({ description: 'A host, in lower case.' }),
  checks: Count('Checks of its URLs, over all jobs that have ended.'),
  failures: Count('Checks that found a broken URL: 4xx, 5xx or unreachable.'),
  failure_rate: Type.Number({ minimum: 0, maximum: 1, description: '`failures / checks`, to four decimals.' }),
  blocked_count: Count('Checks that a bot protection blocked.'),
  avg_response_time_ms: Nullable(Count('Null when the domain never answered.')),
  last_checked_at: Time(),
  status: Type.Enum(DOMAIN_STATES, {
    description: `A domain is degraded from a failure rate of ${DEGRADED_FROM}, and failing from ${FAILING_FROM}.`,
  }),
  is_blocked: Type.Boolean({ description: 'Whether the blocklist has the domain, or a domain above it.' }),
});
type DomainHealthView = Static<typeof DomainHealthView>;

export const domainHealthExample: DomainHealthView = {
  domain: 'www.example.com',
  checks: 1200,
  failures: 300,
  failure_rate: 0.25,
  blocked_count: 12,
  avg_response_time_ms: 184,
  last_checked_at: '2026-01-31T09:00:00.000Z',
  status: 'degraded',
  is_blocked: false,
};

const COUNTED = ['checks', 'failures', 'failure_rate', 'blocked_count'] as const;
const MEASURED = [...COUNTED, 'avg_response_time_ms', 'last_checked_at'] as const;

export function domainHealthView(document: DomainHealthDocument, is_blocked: boolean): DomainHealthView {
  const { _id: domain, failure_rate } = document;
  const status = failure_rate >= FAILING_FROM ? 'failing' : failure_rate >= DEGRADED_FROM ? 'degraded' : 'ok';
  return { domain, ...pick(document, MEASURED), status, is_blocked };
}

const count = Type.Integer({ minimum: 1 });

export const DomainBreakdownView = Type.Object({
  ...DomainHealthView.properties,
  status_codes: Type.Array(Type.Object({ status_code: Nullable(Type.Integer()), count }), {
    description: '`status_code` is null for checks without an answer.',
  }),
  error_codes: Type.Array(Type.Object({ error_code: Type.Enum(ERROR_CODES), count })),
  verdicts: Type.Array(Type.Object({ verdict: Type.Enum(VERDICTS), count })),
});

export const domainBreakdownExample = {
  ...domainHealthExample,
  status_codes: [
    { status_code: 200, count: 900 },
    { status_code: 404, count: 280 },
    { status_code: null, count: 20 },
  ],
  error_codes: [{ error_code: 'connect_timeout', count: 20 }],
  verdicts: [
    { verdict: 'ok', count: 900 },
    { verdict: 'broken', count: 268 },
    { verdict: 'unreachable', count: 20 },
    { verdict: 'blocked', count: 12 },
  ],
};

/** The view with each list in descending order of counts. */
export function domainBreakdownView(document: DomainHealthDocument, is_blocked: boolean) {
  return {
    ...domainHealthView(document, is_blocked),
    status_codes: mostFirst(document.status_codes).map(([code, n]) => ({
      status_code: code === NO_STATUS ? null : Number(code),
      count: n,
    })),
    error_codes: mostFirst(document.error_codes).map(([error_code, n]) => ({ error_code, count: n })),
    verdicts: mostFirst(document.verdicts).map(([verdict, n]) => ({ verdict, count: n })),
  };
}

const mostFirst = (counts: Counts) => Object.entries(counts).sort(([, a], [, b]) => b - a);
