// What a checker met through a proxy, recorded once: several checkers write to the stream of one proxy, and each may have
// to ask again whether its last append arrived.
import type { EventStore, ExpectedRevision, Position } from '../events/event-store.ts';
import { uuidV5 } from '../events/ids.ts';
import type { ProxyObserved } from '../events/proxy.ts';
import { proxyStream } from '../events/streams.ts';
import { type CommandContext, ConflictPersists, metadataOf } from './aggregate.ts';

/** The observation of an interval: there is but one. */
export const proxyObservedId = (of: Pick<ProxyObserved, 'observer' | 'proxy_id' | 'interval'>) =>
  uuidV5(of.observer, `${of.proxy_id}/${of.interval}`);

/** Checkers at the same stream at the same time; each conflict means that another one got in. */
const MAX_TRIES = 20;
/** Of the stream's end, so much is looked at for an append whose acknowledgement was lost. */
const LOOKED_AT = 100;

/** `already`: it was there, from an append whose acknowledgement did not arrive. */
export async function recordProxyObserved(
  log: EventStore,
  observed: ProxyObserved,
  context: CommandContext,
): Promise<{ recorded: 'now' | 'already'; position: Position }> {
  const stream = proxyStream(observed.proxy_id);
  const id = proxyObservedId(observed);
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    // A stream of years is not read for one event at its end.
    let last: ExpectedRevision = 'no_stream';
    for await (const event of log.readStream(stream, { direction: 'backwards', limit: LOOKED_AT })) {
      if (last === 'no_stream') last = event.revision;
      if (event.id === id) return { recorded: 'already', position: event.position };
    }
    const event = { id, type: 'ProxyObserved', data: observed, metadata: metadataOf(context) };
    const result = await log.append(stream, last, [event]);
    if (result.ok) return { recorded: 'now', position: result.position };
  }
  throw new ConflictPersists(`stream ${stream}: other writers were first ${MAX_TRIES} times`);
}
