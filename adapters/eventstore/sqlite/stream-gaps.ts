// Finds what is missing inside the embedded log, whatever its events say: rows that somebody has deleted from its tables.
import type { Position } from '../../../events/event-store.ts';
import { connectToRead, whenLogIsFree } from './connection.ts';
import { toPosition } from './position.ts';

export interface StreamGap {
  /** Of the first event after the gap, or the first event without a stream. */
  position: Position;
  stream: string | null;
  revision: number;
  message: string;
}

/** At most this many are returned. */
const MAX_GAPS = 1_000;

/**
 * Reads the index of streams and revisions, and no event. The last events of a stream leave no gap when they are deleted. A deleted stream
 * may still have events, which are removed little by little, but for those of the `kept` categories, which nothing deletes.
 */
export async function streamGaps(path: string, kept: readonly string[]): Promise<StreamGap[]> {
  const db = await connectToRead(path);
  try {
    // A stream's first revision is 0, so a stream without gaps has one event more than its last revision says.
    const find = db.prepare(`
      WITH counted AS (SELECT stream_id, count(*) AS events, max(revision) AS last FROM events GROUP BY stream_id)
      SELECT c.stream_id AS id, s.name AS stream, s.deleted FROM counted c LEFT JOIN streams s ON s.id = c.stream_id
      WHERE s.id IS NULL OR iif(s.deleted, s.category IN (SELECT value FROM json_each(?)), c.events <> c.last + 1)
      LIMIT ${MAX_GAPS}`);
    const first = db.prepare(`
      SELECT position, revision FROM (
        SELECT position, revision, row_number() OVER (ORDER BY revision) - 1 AS expected FROM events WHERE stream_id = ?)
      WHERE revision <> expected OR ? ORDER BY revision LIMIT 1`);
    return await whenLogIsFree(() => {
      // Both statements see one state of the log.
      db.exec('BEGIN');
      try {
        const broken = find.all(JSON.stringify(kept)) as {
          id: number;
          stream: string | null;
          deleted: number | null;
        }[];
        return broken.map(({ id, stream, deleted }) => {
          const is_whole = stream === null || deleted === 1;
          const { position, revision } = first.get(id, is_whole ? 1 : 0) as { position: number; revision: number };
          return { position: toPosition(position), stream, revision, message: messageOf(stream, is_whole) };
        });
      } finally {
        db.exec('ROLLBACK');
      }
    });
  } finally {
    db.close();
  }
}

function messageOf(stream: string | null, is_whole: boolean): string {
  if (stream === null) return 'the event has no stream';
  return is_whole ? 'its stream is deleted' : 'events before it are missing';
}
