// Where analysts read events: the log of the service, or a file of events. All events come in the current version of their type.
import { upcast } from '../events/codec.ts';
import type { EventStore, Position, RecordedEvent } from '../events/event-store.ts';
import { UnreadableEvent } from '../events/unreadable.ts';
import { isPast, type Selection, selects, startOf, storeFilter } from './selection.ts';

export interface EventSource {
  /** The selected events in log order. Throws `UnreadableEvent`. */
  events(selection: Selection): AsyncIterable<RecordedEvent>;
  /** The position of the last event, where it is known before all are read. */
  end?(): Promise<Position>;
  close(): Promise<void>;
}

const NOWHERE = { position: null, stream: null, revision: null };

/** Personal fields are as the log gives them: sealed, unless it is behind a codec with keys. */
export function sourceOfLog(log: EventStore): EventSource {
  return {
    async *events(selection) {
      const head = await log.head();
      if (head === '') return;
      const from = startOf(selection, head);
      yield* selected(recorded(log, selection, from), selection);
    },
    end: () => log.head(),
    close: () => log.close(),
  };
}

/** The events after `from` that the store selects. One stream is read alone. */
function recorded(log: EventStore, selection: Selection, from: Position): AsyncIterable<RecordedEvent> {
  const [stream, ...others] = selection.streams ?? [];
  if (stream !== undefined && others.length === 0) return log.readStream(stream);
  return log.readAll({ from, filter: storeFilter(selection) });
}

/** The events that pass, in their current version, up to the end of the selection. */
export async function* selected(
  events: AsyncIterable<RecordedEvent> | Iterable<RecordedEvent>,
  selection: Selection,
): AsyncGenerator<RecordedEvent, void> {
  const passes = selects(selection);
  let place = 'the first event';
  try {
    for await (const event of events) {
      const { position, stream, revision } = event;
      place = `the event at position ${position}, ${stream} ${revision},`;
      if (isPast(selection, position)) return;
      if (passes(event)) yield plain(upcast(event));
      place = `the event after position ${position}`;
    }
  } catch (cause) {
    // JSON with a changed byte is parsed at its first use.
    throw cause instanceof SyntaxError ? new UnreadableEvent(`${place} cannot be read`, NOWHERE, cause) : cause;
  }
}

/** An event that another program appended may have no metadata. */
function plain({ position, stream, revision, id, type, data, metadata }: RecordedEvent): RecordedEvent {
  return { position, stream, revision, id, type, data, metadata: metadata ?? {} };
}
