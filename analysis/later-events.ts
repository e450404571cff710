// Events that a later version of the service appended, and that this one does not understand: analysts get them as they are recorded, and are
// told so. Decision 159 says what the service does with them.
import { assertKnown, upcast } from '../events/codec.ts';
import type { Position, RecordedEvent } from '../events/event-store.ts';
import { EventFromLater, laterOf, markLater } from '../events/unreadable.ts';

/** The event in the current version of its type; one of a later version as it is recorded, and marked. */
export function currentOf(event: RecordedEvent): RecordedEvent {
  try {
    assertKnown(event);
    return plain(upcast(event));
  } catch (error) {
    if (!(error instanceof EventFromLater)) throw error;
    const recorded = plain(laterOf(event)?.recorded ?? event);
    return markLater(recorded, { error, recorded });
  }
}

/** An event that another program appended may have no metadata. */
function plain({ position, stream, revision, id, type, data, metadata }: RecordedEvent): RecordedEvent {
  return { position, stream, revision, id, type, data, metadata: metadata ?? {} };
}

/** Those that were met, once each, whoever reads them again. */
export class LaterEvents {
  readonly #positions = new Map<string, Set<Position>>();

  see(event: RecordedEvent): void {
    if (laterOf(event) === null) return;
    const { type, position } = event;
    const positions = this.#positions.get(type) ?? new Set();
    this.#positions.set(type, positions.add(position));
  }

  /** How many of each type. */
  get counts(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#positions].map(([type, { size }]) => [type, size]));
  }

  /** Null where there were none. */
  get text(): string | null {
    const counts = Object.entries(this.counts);
    if (counts.length === 0) return null;
    const [all, each] = [
      counts.reduce((sum, [, n]) => sum + n, 0),
      counts.map(([type, n]) => `${n} ${type}`).join(', '),
    ];
    const subject = all === 1 ? '1 event is' : `${all} events are`;
    return `${subject} of a later version of the service, and left as recorded (${each}): in SQL only the table events has ${all === 1 ? 'it' : 'them'}`;
  }
}
