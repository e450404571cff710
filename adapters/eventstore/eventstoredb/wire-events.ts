// Converts events to and from the client's types.
import { AssertionError } from 'node:assert';
import type { JSONEventData, ResolvedEvent } from '@eventstore/db-client';
import { jsonBytes, type Metadata, type NewEvent, type RecordedEvent } from '../../../events/event-store.ts';
import { toPosition } from './positions.ts';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Converts the events of one append to the client's type, and sums their size as the server counts it. */
export function propose(events: readonly NewEvent[]): { proposed: JSONEventData[]; size_bytes: number } {
  let size_bytes = 0;
  let shared: unknown;
  let metadata_bytes = 0;
  const proposed = events.map((event) => {
    // The events of one command mostly share one metadata object, which is measured once.
    if (event.metadata !== shared) {
      shared = event.metadata;
      metadata_bytes = jsonBytes(event.metadata);
    }
    const data_bytes = jsonBytes(event.data);
    // Checked here because the client's promise stays pending for ever when the server cannot store the event.
    if (!UUID.test(event.id)) throw new TypeError(`the event id '${event.id}' is not a uuid`);
    if (event.type === '' || event.type.startsWith('$')) throw new TypeError(`'${event.type}' is not an event type`);
    if (data_bytes === 0) throw new TypeError(`the data of ${event.type} is not JSON`);
    size_bytes += data_bytes + metadata_bytes + 2 * event.type.length;
    return {
      id: event.id,
      contentType: 'application/json' as const,
      type: event.type,
      // The client declares only objects, arrays and strings, but accepts every JSON value.
      data: event.data as JSONEventData['data'],
      metadata: event.metadata as unknown as Record<string, unknown>,
    };
  });
  return { proposed, size_bytes };
}

/** Null for a link whose target is gone, and for an event that another program wrote as bytes. */
export function toRecorded({ event }: ResolvedEvent): RecordedEvent | null {
  if (event === undefined || !event.isJson) return null;
  const revision = Number(event.revision);
  if (!Number.isSafeInteger(revision)) throw new AssertionError({ message: `revision ${event.revision} is too large` });
  return {
    id: event.id,
    type: event.type,
    data: event.data,
    metadata: event.metadata as unknown as Metadata,
    stream: event.streamId,
    revision,
    position: toPosition(event.position),
  };
}
