// The streams `idempotency-{hash}`: what became of the requests with one idempotency key of one user on one route. The
// hash is a SHA-256, in hex; neither the key nor the body is in an event.
import { Type } from 'typebox';
import { type DataOf, type EventsOf, event } from './event-spec.ts';

export const IDEMPOTENCY_EVENTS = {
  /** A request with the key is under way. Until `until` no other may be; what it makes, it makes under `job_id`. */
  RequestClaimed: event({
    /** SHA-256 of the body's content, hex. */
    fingerprint: Type.String(),
    job_id: Type.String(),
    /** ISO 8601: when the key was first claimed since it was free. */
    since: Type.String({ format: 'date-time' }),
    until: Type.String({ format: 'date-time' }),
  }),
  /** What every later request with the key is answered with, for as long as the key is remembered. */
  RequestAnswered: event({
    job_id: Type.String(),
    status: Type.Integer(),
    body: Type.Object({}, { additionalProperties: true }),
  }),
  /** The request made nothing, and told its client so: the key is as good as new. */
  RequestReleased: event({ job_id: Type.String() }),
  /** The request ended without an answer: what it made is found out by the next one. */
  RequestAbandoned: event({ job_id: Type.String() }),
};

export type RequestClaimed = DataOf<typeof IDEMPOTENCY_EVENTS.RequestClaimed>;
export type RequestAnswered = DataOf<typeof IDEMPOTENCY_EVENTS.RequestAnswered>;
export type IdempotencyEvent = EventsOf<typeof IDEMPOTENCY_EVENTS>;
