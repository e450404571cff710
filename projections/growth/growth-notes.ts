// The read model of growth notes.
import { idOf } from '../../events/streams.ts';
import { growthNotes } from '../../readmodels/growth/growth-notes.ts';
import { type Projection, projection } from '../projection.ts';

export const growthNotesProjection: Projection = projection({
  name: 'growth_notes',
  version: 1,
  collections: [growthNotes],
  covers: ['growth_note'],
  begin: (open) => open(growthNotes),
  on: {
    GrowthNoteAdded: ({ data: { note_id: _id, text, date }, metadata: { at, actor } }, notes) =>
      notes.write([{ replace: { _id, date, text, added_at: at, added_by: actor } }]),
    GrowthNoteDeleted: ({ stream }, notes) => notes.write([{ delete: idOf(stream) }]),
  },
});
