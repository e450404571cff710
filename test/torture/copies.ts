// Copies of the log that are brought up to date while the service is tortured, as by an analyst's timer. At the end, each table of each is row by row
// what SQL over the log answers.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openCopy } from '../../analysis/copy.ts';
import { openDatabase } from '../../analysis/duckdb.ts';
import type { Run } from '../../cli/ops/command.ts';
import { type CopyPlace, openPlace } from '../../cli/ops/copy-places.ts';
import type { StoredLog } from '../../events/event-store.ts';
import { rowsIn, rowsOfLog, rowTexts, type TableRows } from '../support/copied-rows.ts';
import { askedEach, findPostgres, startPostgres } from '../support/postgres.ts';
import type { Findings } from './model.ts';
import type { Shape } from './shapes.ts';

const EVERY_MS = 2_000;
const SCHEMA = 'tortured';

export interface Copies {
  /** Copies again and again. Faults of the stores end a call, and nothing else does. */
  run(for_ms: number): Promise<void>;
  compare(found: Findings): Promise<void>;
  close(): Promise<void>;
}

/** A folder of Parquet with its file of DuckDB, and a database of PostgreSQL where this machine has its programs. */
export async function openCopies(shape: Shape): Promise<Copies> {
  const folder = join(shape.folder, 'copies');
  await mkdir(folder);
  const bin = findPostgres();
  const postgres = bin === null ? null : await startPostgres(bin);
  const run = { folder, env: { DATA_DIR: folder } } as unknown as Run;
  const tables = await openPlace(run, 'tables');
  const others = postgres ? [await openPlace(run, `${postgres.url}?schema=${SCHEMA}`)] : [];

  async function bringUpToDate(): Promise<void> {
    const log = await shape.openStoredLog();
    try {
      for (const place of [tables, ...others]) await keep(place, log);
    } finally {
      await log.close();
    }
  }

  async function wanted(): Promise<TableRows> {
    const log = await shape.openStoredLog();
    return rowsOfLog(log).finally(() => log.close());
  }

  return {
    async run(for_ms) {
      for (const until = performance.now() + for_ms; performance.now() < until; await sleep(EVERY_MS))
        await bringUpToDate().catch(() => {});
    },
    async compare(found) {
      try {
        await bringUpToDate();
        const rows = await wanted();
        const differs = (place: string, name: string, texts: readonly string[]) => {
          found.looked += texts.length;
          const difference = differenceOf(texts, rows.get(name)!);
          if (difference !== null) found.broken.push(`${name} in ${place}: ${difference}`);
        };
        const database = await openDatabase(tables.file);
        for (const name of rows.keys()) {
          differs('DuckDB', name, await rowsIn(database, `FROM "${name}"`));
          const parquet = join(folder, 'tables', `${name}.parquet`);
          differs('Parquet', name, await rowsIn(database, `FROM read_parquet('${parquet}')`));
        }
        await database.close();
        if (!postgres) return;
        const names = [...rows.keys()];
        const asked = names.map((name) => `SELECT * FROM ${SCHEMA}."${name.toLowerCase()}"`);
        for (const [n, sent] of (await askedEach(postgres.url, asked)).entries())
          differs('PostgreSQL', names[n]!, rowTexts(sent));
      } catch (error) {
        found.broken.push(`the copies cannot be compared: ${(error as Error).stack}`);
      }
    },
    close: async () => postgres?.remove(),
  };
}

async function keep(place: CopyPlace, log: StoredLog): Promise<void> {
  const copy = await openCopy(place.file, log);
  try {
    await copy.advance(log);
    await copy.forget(log);
    await place.publish(copy);
  } finally {
    await copy.close();
  }
}

/** Both are in order. */
function differenceOf(here: readonly string[], there: readonly string[]): string | null {
  const [known, found] = [new Set(there), new Set(here)];
  const extra = here.find((text) => !known.has(text));
  const missing = there.find((text) => !found.has(text));
  if (extra === undefined && missing === undefined && here.length === there.length) return null;
  return `${here.length} rows, ${there.length} by the log; only here ${extra}; only there ${missing}`.slice(0, 1_000);
}
