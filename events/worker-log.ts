// The stream `worker_log-deletions`: what administrators deleted from the log of attempts. An event is about the entries before it in
// the log. Its actor is the administrator.

import { type EventsOf, event } from './event-spec.ts';
import { Type } from './schema.ts';

export const WORKER_LOG_EVENTS = {
  /** The entries to which all named conditions apply. */
  LogsDeleted: event({
    job_id: Type.Optional(Type.String()),
    domain: Type.Optional(Type.String()),
    non_2xx: Type.Optional(Type.Literal(true)),
    before: Type.Optional(Type.String({ format: 'date-time', description: 'Entries of before this time.' })),
  }),
  /** One entry: an attempt, from 1, at the URL of a job with this index. */
  LogDeleted: event({
    job_id: Type.String(),
    index: Type.Integer({ minimum: 0 }),
    attempt: Type.Integer({ minimum: 1 }),
  }),
  LogsTruncated: event({}),
};
export type WorkerLogEvent = EventsOf<typeof WORKER_LOG_EVENTS>;
