// Events as Parquet: written and read by DuckDB. The columns are those of the table `events`.
import type { RecordedEvent } from '../events/event-store.ts';
import { blame, type Database, openDatabase, type Result, type Rows, sqlText } from './duckdb.ts';
import { type EventSource, selected } from './event-source.ts';
import { LaterEvents } from './later-events.ts';
import { eventsTable, load } from './loading.ts';
import { type Selection, startOf } from './selection.ts';
import { quoted } from './views.ts';

const GROUP_ROWS = 20_480;
const GROUP_BYTES = '16MB';

/** Writes the events to a file, which keeps its permissions. Returns how many there were. */
export async function writeParquet(path: string, events: AsyncIterable<RecordedEvent>): Promise<number> {
  const database = await openDatabase();
  try {
    await database.run(eventsTable('events'));
    const loaded = await load(database, events, 'events');
    await copyToParquet(database, 'events', path);
    return loaded;
  } finally {
    await database.close();
  }
}

/** Writes a table to a file, which keeps its permissions. */
export async function copyToParquet({ run }: Pick<Database, 'run'>, table: string, path: string): Promise<void> {
  // A group of rows is in memory before it is written, whatever the limit says. One thread writes the rows in their order.
  await run("SET threads = 1; SET memory_limit = '1GB'; SET preserve_insertion_order = false");
  const groups = `ROW_GROUP_SIZE ${GROUP_ROWS}, ROW_GROUP_SIZE_BYTES '${GROUP_BYTES}'`;
  await run(`COPY ${table} TO ${sqlText(path)} (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false, ${groups})`);
}

/** Writes the rows of a result to a file, which keeps its permissions. */
export async function copyRows(database: Database, { result, columns }: Result, path: string): Promise<void> {
  // The first connection still reads.
  const connection = await database.connect();
  try {
    const types = result.columnTypes();
    const made = columns.map((name, n) => `${quoted(name)} ${types[n]}`);
    await connection.run(`CREATE TABLE loaded.answer (${made.join(', ')})`);
    const appender = await connection.createAppender('answer', 'loaded');
    try {
      for await (const chunk of result) appender.appendDataChunk(chunk);
    } finally {
      appender.closeSync();
    }
    await connection.run(
      `COPY loaded.answer TO ${sqlText(path)} (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false)`,
    );
  } catch (error) {
    blame(error);
  } finally {
    connection.closeSync();
  }
}

/** The events of a file that `writeParquet` wrote. */
export function sourceOfParquet(path: string): EventSource {
  const later = new LaterEvents();
  return {
    later,
    async *events(selection) {
      const database = await openDatabase();
      try {
        const { rows } = await database.stream(`
          SELECT position, recorded_at::TIMESTAMPTZ, stream, revision, type, id, actor, command_id, causation_id, version, data::JSON
          FROM read_parquet(${sqlText(path)})`);
        yield* selected(eventsOf(rows, selection), selection, later);
      } finally {
        await database.close();
      }
    },
    close: async () => {},
  };
}

type Cells = [
  position: string,
  at: string | null,
  stream: string,
  revision: number,
  type: string,
  id: string,
  actor: string,
  command_id: string,
  causation_id: string,
  version: number,
  data: unknown,
];

async function* eventsOf(bunches: Rows['rows'], selection: Selection): AsyncGenerator<RecordedEvent> {
  let is_first = true;
  for await (const rows of bunches) {
    for (const row of rows as unknown as Cells[]) {
      if (is_first) startOf(selection, row[0]);
      is_first = false;
      yield eventOf(row);
    }
  }
}

function eventOf(row: Cells): RecordedEvent {
  const [position, at, stream, revision, type, id, actor, command_id, causation_id, version, data] = row;
  const metadata = { command_id, causation_id, actor, at: at ?? '', ...(version !== 1 && { version }) };
  return { position, stream, revision, id, type, data, metadata };
}
