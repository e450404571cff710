// The read model of growth notes.

import { type Collection, type Document, kept, type ReadModelSpec } from '../documents.ts';
import type { Days } from './calendar.ts';

export interface GrowthNoteDocument extends Document {
  /** `_id` is the note's id. The day that the note is about. */
  date: string;
  text: string;
  added_at: string;
  /** The actor of the command, such as `admin:root`. */
  added_by: string;
}
export const growthNotes: ReadModelSpec<GrowthNoteDocument> = {
  name: 'growth_notes',
  ...kept('under 1 kB a note', 'when it is deleted', 'none'),
  fields: { date: 'string', added_at: 'string' },
  indexes: [{ fields: { date: -1, added_at: -1 } }],
};

/** The most notes beside one series. */
export const MAX_NOTES = 200;

/** The notes about these days, the last ones first. */
export const notesOf = (
  collection: Pick<Collection<GrowthNoteDocument>, 'find'>,
  { from, to }: Days,
): Promise<GrowthNoteDocument[]> =>
  collection.find({ date: { $gte: from, $lte: to } }, { sort: { date: -1, added_at: -1 }, limit: MAX_NOTES });
