// The aggregate of the list of proxies. The last event of its stream holds the whole list. The service reads lists by the port
// `ReadProxyList`, which `checkers/proxies/read-list.ts` implements.
import type { EventStore, Position } from '../events/event-store.ts';
import type { ProxyListEvent, ProxyListRefreshed } from '../events/proxy-list.ts';
import { PROXY_LIST_STREAM } from '../events/streams.ts';
import { type CommandContext, type Decision, evolveBy, notRefused, openAggregate } from './aggregate.ts';
import { fromLastEvent } from './stream-states.ts';

/** What the provider's list named. */
export type ProxyList = Pick<ProxyListRefreshed, 'proxies' | 'skipped'>;

/** Reads the list from its provider, within 10 s. Throws `ProxyListUnreadable`. */
export type ReadProxyList = () => Promise<ProxyList>;

/** The provider gave no list. The message is a sentence without anything of the list or of its URL. */
export class ProxyListUnreadable extends Error {
  readonly code = 'proxy_list_unreadable';
}

interface State {
  proxies: ProxyListRefreshed['proxies'];
}

export const initial = (): State => ({ proxies: [] });
export const evolve = evolveBy<State, ProxyListEvent>({
  ProxyListRefreshed: (_, { proxies }) => ({ proxies }),
});

/** A request is recorded even when the list is the same, because a password may be new; else only another list is. */
export function decide({ proxies }: State, refreshed: ProxyListRefreshed): Decision<ProxyListEvent> {
  const change = changeOf(proxies, refreshed.proxies);
  if (refreshed.trigger === 'schedule' && change.added + change.removed === 0) return { events: [] };
  return { events: [{ type: 'ProxyListRefreshed', data: refreshed }] };
}

/** How many proxies a new list adds and removes. */
function changeOf(before: State['proxies'], after: State['proxies']) {
  const known = new Set(before.map(({ proxy_id }) => proxy_id));
  const kept = after.filter(({ proxy_id }) => known.has(proxy_id)).length;
  return { added: after.length - kept, removed: known.size - kept };
}

export type ProxyListCommands = ReturnType<typeof openProxyListCommands>;

export function openProxyListCommands(log: EventStore) {
  const fold = { initial, evolve };
  const aggregate = openAggregate<State, ProxyListEvent>(log, fold, { begin: fromLastEvent(log, fold) });
  return {
    async record(
      { proxies, skipped }: ProxyList,
      trigger: ProxyListRefreshed['trigger'],
      context: CommandContext,
    ): Promise<{ added: number; removed: number; position: Position }> {
      let change = { added: 0, removed: 0 };
      const handled = await aggregate.handle(PROXY_LIST_STREAM, context, (state) => {
        change = changeOf(state.proxies, proxies);
        return decide(state, { proxies, skipped, trigger });
      });
      return { ...change, position: notRefused(handled).position };
    },
  };
}

/**
 * Watches for requests to read the list anew. The function that it returns says whether there was one since its last call; a
 * call without news reads nothing.
 */
export async function watchRefreshRequests(log: EventStore): Promise<() => Promise<boolean>> {
  let seen = -1;
  for await (const { revision } of log.readStream(PROXY_LIST_STREAM, { direction: 'backwards', limit: 1 }))
    seen = revision;
  return async () => {
    let requested = false;
    for await (const { revision, data } of log.readStream(PROXY_LIST_STREAM, { from: seen + 1 })) {
      seen = revision;
      requested ||= (data as ProxyListRefreshed).trigger === 'request';
    }
    return requested;
  };
}
