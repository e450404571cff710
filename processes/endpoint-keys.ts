// Destroys the key of each deleted webhook endpoint, under which the log holds what its receiver answered. It reads the log in its order, from
// the beginning at each start: what it has deleted stays deleted.
import { BEGINNING, type EventStore, type Position } from '../events/event-store.ts';
import { personalKeyStream } from '../events/streams.ts';
import { EventFromLater } from '../events/unreadable.ts';
import type { LogEvent } from '../events/vocabulary.ts';
import type { ReadModels } from '../readmodels/read-models.ts';
import { passOnMoves } from './passes.ts';
import type { Removals } from './removals.ts';

const SPACING_MS = 500;

export interface EndpointKeysOptions {
  log: EventStore;
  removals: Removals;
}

/** Runs until `signal` aborts; calls `onPass` after each pass. */
export async function runEndpointKeys(
  { readmodels, ...options }: EndpointKeysOptions & { readmodels: Pick<ReadModels, 'moved'> },
  signal: AbortSignal,
  onPass: () => void,
): Promise<void> {
  let from: Position = BEGINNING;
  await passOnMoves({ readmodels, spacing_ms: SPACING_MS, signal, onPass }, async () => {
    from = await destroyKeys(options, from);
  });
}

/** Makes one pass over the log after `from`. Returns the position after which the next one begins. */
export async function destroyKeys({ log, removals }: EndpointKeysOptions, from: Position): Promise<Position> {
  const end = await log.head();
  let reached = from;
  for await (const recorded of log.readAll({ from, filter: { categories: ['webhook_endpoints'] } })) {
    const event = recorded as LogEvent;
    if (removals.are_held) return reached;
    if (event.type === 'WebhookEndpointDeleted') {
      const endpoint_id = endpointOf(event);
      if (endpoint_id !== null)
        await removals.run(() => log.deleteStream(personalKeyStream(`endpoint/${endpoint_id}`)));
    }
    reached = event.position;
  }
  return end;
}

/** Null for an event of a later version: that service looks at all endpoints again when it starts. */
function endpointOf(event: LogEvent<'WebhookEndpointDeleted'>): string | null {
  try {
    return event.data.endpoint_id;
  } catch (error) {
    if (error instanceof EventFromLater) return null;
    throw error;
  }
}
