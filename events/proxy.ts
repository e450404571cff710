// The streams `proxy-{proxyId}`: each checker's statistics of one proxy, at most one event a minute. The id is a hash of the
// proxy's protocol, user, host and port. No event holds the password.

import { type DataOf, event } from './event-spec.ts';
import { Type } from './schema.ts';

const Count = Type.Integer({ minimum: 0 });

export const PROXY_EVENTS = {
  ProxyObserved: event({
    proxy_id: Type.String({ format: 'uuid' }),
    address: Type.String({ description: 'Protocol, host and port: http://proxy.example:8080.' }),
    observer: Type.String({ format: 'uuid', description: "Id of the checker's run, drawn at each start." }),
    interval: Type.Integer({ minimum: 0, description: "Number of the observer's interval, from 0." }),
    from: Type.String({ format: 'date-time' }),
    until: Type.String({ format: 'date-time' }),
    status: Type.Enum(['healthy', 'benched', 'unlisted'], {
      description:
        'At the end of the interval. The pool rests a benched proxy, then tries it by one connection; an unlisted proxy left the list.',
    }),
    retry_at: Type.Optional(
      Type.String({ format: 'date-time', description: 'When the pool tries a resting proxy again.' }),
    ),
    requests: Count,
    answered: Type.Integer({ minimum: 0, description: 'Answers without marks of bot protection.' }),
    blocked: Type.Integer({ minimum: 0, description: 'Answers with marks of bot protection.' }),
    timed_out: Count,
    failed: Count,
    response_time_ms: Type.Integer({ minimum: 0, description: 'Sum over the answered and blocked requests.' }),
    domains: Type.Array(
      Type.Object({
        domain: Type.String(),
        blocked: Count,
        failed: Count,
        answered: Type.Optional(
          Type.Integer({
            minimum: 0,
            description: 'Answers without marks of bot protection, after its first trouble.',
          }),
        ),
      }),
      {
        description:
          'The first hundred hosts that blocked or failed requests through the proxy, in this interval or in the one before.',
      },
    ),
  }),
};

export type ProxyObserved = DataOf<typeof PROXY_EVENTS.ProxyObserved>;
