// Copies of a log that was tortured, as `events copy` keeps them, held to SQL over the log: each row of each table, in a file of DuckDB, in the Parquet of
// a folder, and in PostgreSQL where this machine has its programs (see test/support/postgres.ts).
//   TORTURE_KEEP=1 TORTURE_SHAPES=embedded npm run torture
//   node --import ./runtime.js test/torture/compare-copies.ts FOLDER/embedded/kept
// Each copy is killed while it is made, and made whole then. Copies of an earlier call are in FOLDER/embedded/copies, and are brought up to date.
// The exit code is 1 when a row differs.
import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { openDatabase, sqlText } from '../../analysis/duckdb.ts';
import { rowText, tablesOfLog } from '../support/copied-rows.ts';
import { askedEach, findPostgres, startPostgres } from '../support/postgres.ts';

const KILLED_AFTER_MS = [600, 1_200, 1_800];
const SCHEMA = 'tortured';
const run = promisify(execFile);

type Bunches = AsyncIterable<readonly (readonly unknown[])[]>;
interface Place {
  name: string;
  to: string;
  read(table: string): Promise<Bunches>;
}

const { positionals } = parseArgs({ allowPositionals: true });
const [data_dir] = positionals;
if (data_dir === undefined) throw new Error('it needs the data folder of a torture');
const folder = join(dirname(resolve(data_dir)), 'copies');
await mkdir(folder, { recursive: true });
const programs = findPostgres();
const postgres = programs === null ? null : await startPostgres(programs);
let differing = 0;
try {
  const [file, parquet] = [join(folder, 'copy.duckdb'), join(folder, 'tables')];
  const url = postgres && `${postgres.url}?schema=${SCHEMA}`;
  for (const to of [file, parquet, url]) if (to !== null) await copyTo(to);
  const database = await openDatabase(file);
  const rowsOf = async (sql: string) => (await database.stream(sql)).rows;
  const places: Place[] = [
    { name: 'DuckDB', to: file, read: (table) => rowsOf(`FROM "${table}"`) },
    {
      ...{ name: 'Parquet', to: parquet },
      // A table that never had a row has no file.
      async read(table) {
        const path = join(parquet, `${table}.parquet`);
        return existsSync(path) ? rowsOf(`FROM read_parquet(${sqlText(path)})`) : rowsOf(`FROM "${table}" LIMIT 0`);
      },
    },
  ];
  if (url !== null) places.push({ name: 'PostgreSQL', to: url, read: inPostgres });
  const log = await openSqliteEventStore({ path: join(data_dir, 'events.db'), read_only: true });
  const totals = new Map<string, number>();
  for await (const { table, rows } of tablesOfLog(log)) {
    const wanted = await tallyOf(rows);
    for (const { name, read } of places) {
      const found = await tallyOf(await read(table));
      totals.set(name, (totals.get(name) ?? 0) + found.rows);
      for (const text of differences(wanted, found)) {
        differing += 1;
        console.log(`${table} in ${name}: ${text}`);
      }
    }
  }
  for (const [name, rows] of totals) console.log(`${name}: ${rows} rows compared`);
  await database.close();
  await log.close();
} finally {
  await postgres?.remove();
}
console.log(differing === 0 ? 'ok: each copy has the rows of the log' : `${differing} differences`);
process.exit(differing === 0 ? 0 : 1);

/** As an operator's timer does, who kills it a few times. */
async function copyTo(to: string): Promise<void> {
  const words = ['--import', './boot.js', 'cli/ops.ts', 'events', 'copy', '--to', to];
  const options = { cwd: join(import.meta.dirname, '../..'), env: { ...process.env, DATA_DIR: resolve(data_dir!) } };
  for (const timeout of KILLED_AFTER_MS)
    await run(process.execPath, words, { ...options, timeout, killSignal: 'SIGKILL' }).catch(() => {});
  const { stdout } = await run(process.execPath, words, options);
  console.log(`${to}: ${stdout.trim()}`);
}

async function inPostgres(table: string): Promise<Bunches> {
  const [rows] = await askedEach(postgres!.url, [`SELECT * FROM ${SCHEMA}."${table.toLowerCase()}"`]);
  return (async function* () {
    yield rows!;
  })();
}

interface Tally {
  rows: number;
  /** How often each row is there, by the digest of its text; with the beginning of that. */
  times: Map<string, { times: number; text: string }>;
}

async function tallyOf(bunches: Bunches): Promise<Tally> {
  const tally: Tally = { rows: 0, times: new Map() };
  for await (const rows of bunches) {
    for (const row of rows) {
      const text = rowText(row);
      const digest = hash('sha256', text, 'base64');
      const known = tally.times.get(digest);
      if (known) known.times += 1;
      else tally.times.set(digest, { times: 1, text: text.slice(0, 300) });
      tally.rows += 1;
    }
  }
  return tally;
}

function* differences(wanted: Tally, found: Tally): Generator<string> {
  for (const [digest, { times, text }] of wanted.times) {
    const here = found.times.get(digest)?.times ?? 0;
    if (here !== times) yield `${here} times instead of ${times}: ${text}`;
  }
  for (const [digest, { text }] of found.times) if (!wanted.times.has(digest)) yield `not in the log: ${text}`;
}
