// Where analysts read events: the log of the service, or a file of events. They come in the current version of their type, but for those of a
// later version of the service.
import type { EventStore, Position, RecordedEvent } from '../events/event-store.ts';
import { UnreadableEvent } from '../events/unreadable.ts';
import { currentOf, LaterEvents } from './later-events.ts';
import { isPast, type Selection, selects, startOf, storeFilter } from './selection.ts';

export interface EventSource {
  /** The selected events in log order. Throws `UnreadableEvent`. */
  events(selection: Selection): AsyncIterable<RecordedEvent>;
  /** The position of the last event, where it is known before all are read. */
  end?(): Promise<Position>;
  /** The events of later versions that were met. */
  later: LaterEvents;
  close(): Promise<void>;
}

const NOWHERE = { position: null, stream: null, revision: null };

/** Personal fields are as the log gives them: sealed, unless it is behind a codec with keys. */
export function sourceOfLog(log: EventStore): EventSource {
  const later = new LaterEvents();
  return {
    later,
    async *events(selection) {
      const head = await log.head();
      if (head === '') return;
      const from = startOf(selection, head);
      yield* selected(recorded(log, selection, from), selection, later);
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
  later?: LaterEvents,
): AsyncGenerator<RecordedEvent, void> {
  const passes = selects(selection);
  let place = 'the first event';
  try {
    for await (const event of events) {
      const { position, stream, revision } = event;
      place = `the event at position ${position}, ${stream} ${revision},`;
      if (isPast(selection, position)) return;
      if (passes(event)) {
        const current = currentOf(event);
        later?.see(current);
        yield current;
      }
      place = `the event after position ${position}`;
    }
  } catch (cause) {
    // JSON with a changed byte is parsed at its first use.
    throw cause instanceof SyntaxError ? new UnreadableEvent(`${place} cannot be read`, NOWHERE, cause) : cause;
  }
}
