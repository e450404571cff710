// The streams `idempotency-{hash}`: the requests with one idempotency key of one user on one route. The hash is a SHA-256,
// in hex; no event holds the key or the body.

import { type DataOf, type EventsOf, event } from './event-spec.ts';
import { personal } from './personal.ts';
import { Type } from './schema.ts';

export const IDEMPOTENCY_EVENTS = {
  /** A request with the key runs. No other request with the key may run before `until`. The request creates `job_id`. */
  RequestClaimed: event({
    /** SHA-256 of the body's content, hex. */
    fingerprint: Type.String(),
    job_id: Type.String(),
    /** ISO 8601: when a request first claimed the key since it was free. */
    since: Type.String({ format: 'date-time' }),
    until: Type.String({ format: 'date-time' }),
  }),
  /** The answer that the service repeats to later requests with the key until the key expires. */
  RequestAnswered: event({
    job_id: Type.String(),
    status: Type.Integer(),
    body: Type.Object({}, { additionalProperties: true }),
    /** Of an answer that is no job: its body, which may be personal, as JSON and without secrets; `body` is then empty. */
    user_id: Type.Optional(Type.String()),
    reply: Type.Optional(personal(Type.String(), 'user')),
  }),
  /** The request created nothing and its client knows: the key is free again. */
  RequestReleased: event({ job_id: Type.String() }),
  /** The service has forgotten the key and deletes the stream. Later requests with the key claim the key's next stream. */
  KeyRetired: event({}),
  /** The request ended without an answer: the next request with the key finds out whether the job exists. */
  RequestAbandoned: event({ job_id: Type.String() }),
};

export type RequestAnswered = DataOf<typeof IDEMPOTENCY_EVENTS.RequestAnswered>;
export type IdempotencyEvent = EventsOf<typeof IDEMPOTENCY_EVENTS>;
