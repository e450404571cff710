// What a reader of the log says of an event that it cannot read, and of a position that the log cannot have.
import type { Position, RecordedEvent } from './event-store.ts';

/** The event's JSON has a changed byte, or another program wrote it in a shape of its own. */
export class UnreadableEvent extends Error {
  readonly code = 'unreadable_event';
  /** Null where only the event before it is known. */
  readonly place: { [Key in 'position' | 'stream' | 'revision']: RecordedEvent[Key] | null };

  constructor(message: string, place: UnreadableEvent['place'], cause: unknown) {
    super(message, { cause });
    this.place = place;
  }
}

/** An event that only a later version of the service can read. */
export type LaterEvent = Pick<RecordedEvent, 'stream' | 'revision' | 'type'> & { version: number };

/** A later version of the service appended the event, and this version cannot read it. */
export class EventFromLater extends Error {
  readonly code = 'unavailable';
  readonly event: LaterEvent;

  constructor({ stream, revision, type, version }: LaterEvent, why: string) {
    super(`${stream} ${revision}: ${type} ${why}: start the later service`);
    this.event = { stream, revision, type, version };
  }
}

interface Later {
  error: EventFromLater;
  recorded: RecordedEvent;
}

/** The events that readers of the whole log got, by identity. */
const from_later = new WeakMap<object, Later>();

/** Marks an event that stands for a recorded one, which cannot be read. */
export function markLater<Event extends RecordedEvent>(event: Event, later: Later): Event {
  from_later.set(event, later);
  return event;
}

/** What a marked event stands for; null for other events. */
export const laterOf = (event: RecordedEvent): Later | null => from_later.get(event) ?? null;

/** Throws `EventFromLater` for a marked event: also who needs none of its data may not know what it means. */
export function refuseLater(event: RecordedEvent): void {
  const later = laterOf(event);
  if (later !== null) throw later.error;
}

/** A position of another store, which cannot be compared. */
class ForeignPosition extends Error {
  readonly code = 'foreign_position';
}

/** Throws `ForeignPosition` where `position` does not look like `known`, a position of the log. */
export function refuseForeign(position: Position, known: Position): void {
  if (position.length === known.length) return;
  throw new ForeignPosition(`${position} is no position of this log, whose positions look like ${known}`);
}

/** When the event was appended, in Unix milliseconds; NaN where its metadata cannot be read. */
export function recordedAt(event: RecordedEvent): number {
  try {
    return Date.parse(event.metadata.at);
  } catch {
    return Number.NaN;
  }
}
