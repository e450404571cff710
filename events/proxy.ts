// The streams `proxy-{proxyId}`: what each checker met through one proxy, a minute at a time. The id is computed from where
// the proxy is and whose it is; its password is never in an event.
import { Type } from 'typebox';
import { type DataOf, type EventsOf, event } from './event-spec.ts';

const Count = Type.Integer({ minimum: 0 });

export const PROXY_EVENTS = {
  ProxyObserved: event({
    proxy_id: Type.String({ format: 'uuid' }),
    address: Type.String({ description: 'Protocol, host and port: http://proxy.example:8080.' }),
    observer: Type.String({ format: 'uuid', description: 'The run of a checker: one has one.' }),
    interval: Type.Integer({ minimum: 0, description: "Of the observer's intervals, which one." }),
    from: Type.String({ format: 'date-time' }),
    until: Type.String({ format: 'date-time' }),
    status: Type.Enum(['healthy', 'benched', 'unlisted'], {
      description: 'At the end: benched ones are not used for a while, unlisted ones are off the list.',
    }),
    requests: Count,
    answered: Type.Integer({ minimum: 0, description: 'Answers that bear no marks of bot protection.' }),
    blocked: Type.Integer({ minimum: 0, description: 'Answers that do.' }),
    timed_out: Count,
    failed: Count,
    response_time_ms: Type.Integer({ minimum: 0, description: 'The sum over the answered and the blocked.' }),
    domains: Type.Array(Type.Object({ domain: Type.String(), blocked: Count, failed: Count }), {
      description: 'The hosts that blocked it or failed through it: the first hundred of the interval.',
    }),
  }),
};

export type ProxyObserved = DataOf<typeof PROXY_EVENTS.ProxyObserved>;
export type ProxyEvent = EventsOf<typeof PROXY_EVENTS>;
