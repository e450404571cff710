// Which events an analyst asks for: by stream, category, type, position and time.
import { BEGINNING, type EventFilter, type Position, type RecordedEvent } from '../events/event-store.ts';
import { categoryOf } from '../events/streams.ts';
import { recordedAt, refuseForeign } from '../events/unreadable.ts';

/** A position of the log, or a time in milliseconds since the epoch. */
export type Point = { position: Position } | { time: number };

export interface Selection {
  /** Null: all of them. An event passes when it passes each list. */
  streams: readonly string[] | null;
  categories: readonly string[] | null;
  types: readonly string[] | null;
  /** Events after this position; or events of this time or later, by their own times, wherever they are in the log. */
  from: Point | null;
  /** Up to and with this point. */
  to: Point | null;
}

/** The wrapped keys of personal data, which a copy of the log for analysts does not need. */
const KEYS = { category: 'personal_keys', type: 'PersonalKeyMade' };

/** What the store can leave out by itself. */
export function storeFilter({ streams, categories, types }: Selection): EventFilter {
  const listed = categories ?? (streams === null ? null : [...new Set(streams.map(categoryOf))]);
  return { ...(listed !== null && { categories: listed }), ...(types !== null && { types }) };
}

/** The position after which the events begin. Throws `ForeignPosition` where `known`, a position of the log, is of another kind. */
export function startOf({ from, to }: Selection, known: Position): Position {
  for (const point of [from, to]) {
    if (point !== null && 'position' in point && known !== BEGINNING) refuseForeign(point.position, known);
  }
  return from !== null && 'position' in from ? from.position : BEGINNING;
}

/** Whether events at this position may come after all that are selected. */
export const isPast = ({ to }: Selection, position: Position): boolean =>
  to !== null && 'position' in to && position > to.position;

/**
 * Whether an event is selected. Keys of personal data are left out, unless a stream, category or type names them: a copy of the log
 * that somebody keeps then opens nothing once a user is erased.
 */
export function selects(selection: Selection): (event: RecordedEvent) => boolean {
  const { from, to } = selection;
  const [streams, categories, types] = [selection.streams, selection.categories, selection.types].map((list) =>
    list === null ? null : new Set(list),
  );
  const takes_keys = streams !== null || categories?.has(KEYS.category) || types?.has(KEYS.type);
  return (event) => {
    if (streams && !streams.has(event.stream)) return false;
    if (types && !types.has(event.type)) return false;
    const category = categoryOf(event.stream);
    if (categories ? !categories.has(category) : category === KEYS.category && !takes_keys) return false;
    return (
      isWithin(
        event,
        from,
        (place, point) => place > point,
        (time, point) => time >= point,
      ) &&
      isWithin(
        event,
        to,
        (place, point) => place <= point,
        (time, point) => time <= point,
      )
    );
  };
}

/**
 * Whether events of a type may be read because somebody who chose them asks for the type as well, such as SQL: one that no option names is
 * let through when no option names types, but for the keys of personal data.
 */
export function namedTypes({ streams, categories, types }: Selection): (type: string) => boolean {
  const keys_are_named = streams !== null || categories?.includes(KEYS.category) || types?.includes(KEYS.type);
  return (type) => (types === null || types.includes(type)) && (type !== KEYS.type || keys_are_named === true);
}

function isWithin(
  event: RecordedEvent,
  point: Point | null,
  places: (place: Position, point: Position) => boolean,
  times: (time: number, point: number) => boolean,
): boolean {
  if (point === null) return true;
  return 'position' in point ? places(event.position, point.position) : times(recordedAt(event), point.time);
}
