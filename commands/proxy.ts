// Records a checker's successes and failures through a proxy, once for each interval. Several checkers write to the stream of
// one proxy, and a checker whose acknowledgement was lost looks for its event before it appends again.
import type { EventStore, ExpectedRevision, Position } from '../events/event-store.ts';
import { uuidV5 } from '../events/ids.ts';
import type { ProxyObserved } from '../events/proxy.ts';
import { proxyStream } from '../events/streams.ts';
import { type CommandContext, ConflictPersists, metadataOf } from './aggregate.ts';

/** The event's id: a checker makes one observation of a proxy in an interval. */
const proxyObservedId = (of: Pick<ProxyObserved, 'observer' | 'proxy_id' | 'interval'>) =>
  uuidV5(of.observer, `${of.proxy_id}/${of.interval}`);

/** Each conflict means that another checker has appended. */
const MAX_TRIES = 20;
/** The newest events that are searched for one whose acknowledgement was lost. */
const MAX_SEARCHED = 100;

/**
 * Appends the observation. `already`: an earlier append had stored it, and its acknowledgement was lost. Throws
 * `ConflictPersists` after 20 conflicts, and the log's errors.
 */
export async function recordProxyObserved(
  log: EventStore,
  observed: ProxyObserved,
  context: CommandContext,
): Promise<{ recorded: 'now' | 'already'; position: Position }> {
  const stream = proxyStream(observed.proxy_id);
  const id = proxyObservedId(observed);
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    let last: ExpectedRevision = 'no_stream';
    for await (const event of log.readStream(stream, { direction: 'backwards', limit: MAX_SEARCHED })) {
      if (last === 'no_stream') last = event.revision;
      if (event.id === id) return { recorded: 'already', position: event.position };
    }
    const event = { id, type: 'ProxyObserved', data: observed, metadata: metadataOf(context) };
    const result = await log.append(stream, last, [event]);
    if (result.ok) return { recorded: 'now', position: result.position };
  }
  throw new ConflictPersists(`stream ${stream}: other writers were first ${MAX_TRIES} times`);
}
