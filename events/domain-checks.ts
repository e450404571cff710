// The streams `domain_checks-{jobId}`: the statistics of each domain in an ended job, split over several events. They stay
// when the purge removes the job's own events.

import { type DataOf, type EventsOf, event } from './event-spec.ts';
import { type Static, Type } from './schema.ts';

const Count = Type.Integer({ minimum: 0 });
export const Counts = Type.Record(Type.String(), Type.Integer({ minimum: 1 }));

/** Statistics over checks of one domain's URLs. */
export const FoundOfDomain = Type.Object({
  domain: Type.String(),
  checks: Count,
  failures: Type.Integer({ minimum: 0, description: 'Broken checks: 4xx, 5xx or unreachable.' }),
  blocked_count: Type.Integer({ minimum: 0, description: 'Checks that a bot protection turned away.' }),
  answers: Type.Integer({ minimum: 0, description: 'Checks with a response time.' }),
  response_time_total_ms: Count,
  last_checked_at: Type.String({ description: 'ISO 8601.' }),
  status_codes: Type.Record(Type.String(), Type.Integer({ minimum: 1 }), {
    description: 'Number of checks by status code; `none` counts checks without an answer.',
  }),
  error_codes: Counts,
  verdicts: Counts,
});

export const DOMAIN_CHECKS_EVENTS = {
  DomainsChecked: event({
    job_id: Type.String(),
    domains: Type.Array(FoundOfDomain, { maxItems: 1000 }),
    last: Type.Boolean({ description: "True in the last event of the job's statistics." }),
  }),
};

/** Number of checks by value. */
export type Counts = Static<typeof Counts>;
export type FoundOfDomain = Static<typeof FoundOfDomain>;
export type DomainsChecked = DataOf<typeof DOMAIN_CHECKS_EVENTS.DomainsChecked>;
export type DomainChecksEvent = EventsOf<typeof DOMAIN_CHECKS_EVENTS>;
