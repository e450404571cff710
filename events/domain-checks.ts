// The streams `domain_checks-{jobId}`: what the checks of an ended job say of each domain, in parts. A job's own events go
// when it is deleted; these stay.
import { type Static, Type } from 'typebox';
import { type DataOf, type EventsOf, event } from './event-spec.ts';

const Count = Type.Integer({ minimum: 0 });
const Counts = Type.Record(Type.String(), Type.Integer({ minimum: 1 }));

/** What some checks of one domain's URLs found. */
export const FoundOfDomain = Type.Object({
  domain: Type.String(),
  checks: Count,
  failures: Type.Integer({ minimum: 0, description: 'Of the checks broken: 4xx, 5xx or unreachable.' }),
  blocked_count: Type.Integer({ minimum: 0, description: 'Checks that a bot protection turned away.' }),
  answers: Type.Integer({ minimum: 0, description: 'Checks with a response time.' }),
  response_time_total_ms: Count,
  last_checked_at: Type.String({ description: 'ISO 8601.' }),
  status_codes: Type.Record(Type.String(), Type.Integer({ minimum: 1 }), {
    description: 'By status code, `none` where no answer came.',
  }),
  error_codes: Counts,
  verdicts: Counts,
});

export const DOMAIN_CHECKS_EVENTS = {
  DomainsChecked: event({
    job_id: Type.String(),
    domains: Type.Array(FoundOfDomain, { maxItems: 1000 }),
    last: Type.Boolean({ description: 'Whether no part comes after this one.' }),
  }),
};

/** How often each value was counted. */
export type Counts = Static<typeof Counts>;
export type FoundOfDomain = Static<typeof FoundOfDomain>;
export type DomainsChecked = DataOf<typeof DOMAIN_CHECKS_EVENTS.DomainsChecked>;
export type DomainChecksEvent = EventsOf<typeof DOMAIN_CHECKS_EVENTS>;
