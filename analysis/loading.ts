// Brings events into a table of DuckDB.
import type { DuckDBDataChunk, DuckDBType, DuckDBValue } from '@duckdb/node-api';
import type { Metadata, RecordedEvent } from '../events/event-store.ts';
import { categoryOf } from '../events/streams.ts';
import { type Database, isOfMemory, tooLarge } from './duckdb.ts';
import { EVENTS_COLUMNS, quoted } from './views.ts';

/** Rows of a chunk of DuckDB's. */
const ROWS = 2_048;
/** A chunk ends with the event that brings its data to this many characters: one may have a thousand URLs. */
const CHUNK_CHARS = 4 * 2 ** 20;
/** The appender gives its rows to the database after so many characters of data. */
const FLUSH_CHARS = 16 * 2 ** 20;
/** Of an event whose version is no number, which another program wrote. */
const NO_VERSION = 0n;

/** A table with the columns of `events`. */
export const eventsTable = (name: string): string =>
  `CREATE TABLE ${name} (${EVENTS_COLUMNS.map(({ name, type }) => `${quoted(name)} ${type}`).join(', ')})`;

/** A row of such a table: an event, with other data where `as` has some. */
interface As {
  type: string;
  data: unknown;
}

/**
 * Adds events to a table that `eventsTable` made, each as the rows that `rowsOf` makes of it. Returns the number of events. Throws `SqlError`
 * where they take too much memory, and what `events` throws.
 */
export async function load(
  { duckdb, connection }: Pick<Database, 'duckdb' | 'connection'>,
  events: AsyncIterable<RecordedEvent>,
  table: string,
  { schema = null, rowsOf = (event) => [event] }: { schema?: string | null; rowsOf?(event: RecordedEvent): As[] } = {},
): Promise<number> {
  const { DuckDBDataChunk: Chunk, VARCHAR, TIMESTAMPTZ, BIGINT, DuckDBTimestampTZValue: Instant } = duckdb;
  const types = EVENTS_COLUMNS.map(
    ({ type }): DuckDBType => (type === 'BIGINT' ? BIGINT : type.startsWith('TIMESTAMP') ? TIMESTAMPTZ : VARCHAR),
  );
  const timeOf = ({ at }: Metadata) => {
    const time = Date.parse(at);
    return Number.isNaN(time) ? null : new Instant(BigInt(time) * 1000n);
  };
  const appender = await connection.createAppender(table, schema);
  // One for all: a chunk's memory is not JavaScript's, and goes only when the garbage collector finds the chunk.
  const chunk: DuckDBDataChunk = Chunk.create(types);
  let columns: DuckDBValue[][] = types.map(() => []);
  let [loaded, rows, chars, held] = [0, 0, 0, 0];
  function append(): void {
    chunk.reset();
    chunk.rowCount = rows;
    chunk.setColumns(columns);
    appender.appendDataChunk(chunk);
    columns = types.map(() => []);
    held += chars;
    // What the appender holds is beyond DuckDB's limit of memory, and by itself it holds 204,800 rows.
    if (held >= FLUSH_CHARS) {
      appender.flushSync();
      held = 0;
    }
    [rows, chars] = [0, 0];
  }
  try {
    for await (const event of events) {
      const { position, stream, revision, id, metadata } = event;
      const { actor, command_id, causation_id, version = 1 } = metadata;
      for (const { type, data } of rowsOf(event)) {
        const text = JSON.stringify(data);
        const cells = [
          ...[position, timeOf(metadata), stream, categoryOf(stream), BigInt(revision), type, id],
          ...[
            actor ?? null,
            command_id ?? null,
            causation_id ?? null,
            Number.isSafeInteger(version) ? BigInt(version) : NO_VERSION,
            text,
          ],
        ];
        for (let n = 0; n < cells.length; n += 1) columns[n]!.push(cells[n]!);
        rows += 1;
        chars += text.length;
        if (rows === ROWS || chars >= CHUNK_CHARS) append();
      }
      loaded += 1;
    }
    if (rows > 0) append();
    appender.closeSync();
  } catch (error) {
    // Other errors may be those of the events' source.
    if (isOfMemory((error as Error).message)) tooLarge(error);
    throw error;
  }
  return loaded;
}
