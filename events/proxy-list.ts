// The stream `proxy_list-current`: which proxies the provider's list names. No event holds a user or a password of a proxy.
import { type DataOf, type EventsOf, event } from './event-spec.ts';
import { Type } from './schema.ts';

/** The most proxies that the service uses. */
export const MAX_PROXIES = 1000;

export const PROXY_LIST_EVENTS = {
  ProxyListRefreshed: event({
    proxies: Type.Array(
      Type.Object({
        proxy_id: Type.String({ format: 'uuid' }),
        address: Type.String({ description: 'Protocol, host and port: http://proxy.example:8080.' }),
      }),
      { maxItems: MAX_PROXIES, description: 'All proxies of the list, in its order.' },
    ),
    skipped: Type.Integer({
      minimum: 0,
      description: 'Entries that name no proxy, name one again, or exceed the limit.',
    }),
    trigger: Type.Enum(['request', 'schedule'], {
      description:
        'An administrator asked, and every checker reads the list anew; or a checker found another list by itself.',
    }),
  }),
};

export type ProxyListRefreshed = DataOf<typeof PROXY_LIST_EVENTS.ProxyListRefreshed>;
export type ProxyListEvent = EventsOf<typeof PROXY_LIST_EVENTS>;
