// The streams `growth_note-{noteId}`: what administrators write beside the figures of a day.
import { type DataOf, type EventsOf, event } from './event-spec.ts';
import { Type } from './schema.ts';

export const MAX_NOTE_CHARS = 500;

export const GROWTH_NOTE_EVENTS = {
  GrowthNoteAdded: event({
    note_id: Type.String(),
    text: Type.String({ minLength: 1, maxLength: MAX_NOTE_CHARS }),
    /** The day (UTC) that the note is about, such as `2026-01-31`. */
    date: Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$' }),
  }),
  GrowthNoteDeleted: event({}),
};

export type GrowthNoteAdded = DataOf<typeof GROWTH_NOTE_EVENTS.GrowthNoteAdded>;
export type GrowthNoteEvent = EventsOf<typeof GROWTH_NOTE_EVENTS>;
