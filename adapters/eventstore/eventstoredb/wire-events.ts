// Events as the client takes and gives them.
import { AssertionError } from 'node:assert';
import type { JSONEventData, ResolvedEvent } from '@eventstore/db-client';
import type { Metadata, NewEvent, RecordedEvent } from '../../../events/event-store.ts';
import { toPosition } from './positions.ts';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Throws for what cannot be kept: the client would leave its promise pending for ever. */
export function toProposed(event: NewEvent): JSONEventData {
  if (!UUID.test(event.id)) throw new TypeError(`the event id '${event.id}' is not a uuid`);
  if (event.type === '' || event.type.startsWith('$')) throw new TypeError(`'${event.type}' is no event type`);
  if (JSON.stringify(event.data) === undefined) throw new TypeError(`the data of ${event.type} is no JSON`);
  JSON.stringify(event.metadata);
  return {
    id: event.id,
    contentType: 'application/json',
    type: event.type,
    // The client's type knows only objects, arrays and strings; it takes every JSON value.
    data: event.data as JSONEventData['data'],
    metadata: event.metadata as unknown as Record<string, unknown>,
  };
}

/** Null for an event that is none of ours: a link whose target is gone, or one that another program wrote as bytes. */
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
