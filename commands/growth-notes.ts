// The aggregate of one growth note: it is added once and deleted once.
import type { EventStore } from '../events/event-store.ts';
import type { GrowthNoteAdded, GrowthNoteEvent } from '../events/growth-note.ts';
import { growthNoteStream } from '../events/streams.ts';
import { type CommandContext, type Decision, type Done, evolveBy, openAggregate } from './aggregate.ts';

export type GrowthNote = 'unknown' | 'added' | 'deleted';

export const initial = (): GrowthNote => 'unknown';
export const evolve = evolveBy<GrowthNote, GrowthNoteEvent>({
  GrowthNoteAdded: () => 'added',
  GrowthNoteDeleted: () => 'deleted',
});

export const add = (note: GrowthNote, data: GrowthNoteAdded): Decision<GrowthNoteEvent> => ({
  events: note === 'unknown' ? [{ type: 'GrowthNoteAdded', data }] : [],
});

/** Deletes a note; a note that is deleted already stays so. */
export function remove(note: GrowthNote): Decision<GrowthNoteEvent> {
  if (note === 'unknown') {
    return { refused: { code: 'growth_note_not_found', message: 'There is no such note.' } };
  }
  return { events: note === 'added' ? [{ type: 'GrowthNoteDeleted', data: {} }] : [] };
}

export type GrowthNotes = ReturnType<typeof openGrowthNotes>;

export function openGrowthNotes(log: EventStore) {
  const aggregate = openAggregate<GrowthNote, GrowthNoteEvent>(log, { initial, evolve });
  return {
    /** The command's id is the note's. */
    add: (note: Omit<GrowthNoteAdded, 'note_id'>, context: CommandContext): Promise<Done> => {
      const note_id = context.command_id;
      const stream = growthNoteStream(note_id);
      return aggregate.handle(stream, context, (state) => add(state, { note_id, ...note }), { assume_empty: true });
    },
    /** Refused as `growth_note_not_found`. */
    remove: (note_id: string, context: CommandContext) => aggregate.handle(growthNoteStream(note_id), context, remove),
  };
}
