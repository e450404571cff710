// How fast results are exported, against reading the same documents and joining their values, and how much memory a
// million rows take: `node bench/export.ts`. Every measurement has a process of its own.
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { openSqliteDocuments } from '../adapters/documents/sqlite/sqlite-documents.ts';
import { resultsTable } from '../http/results/export/columns.ts';
import { csvOf } from '../http/results/export/csv.ts';
import { xlsxOf } from '../http/results/export/xlsx.ts';
import type { Place } from '../http/results/result-place.ts';
import type { Collection } from '../readmodels/documents.ts';
import {
  type ResultDocument,
  resultId,
  results,
  type StoredResult,
  toResult,
  toStored,
} from '../readmodels/results/results.ts';

const JOB = '2f1c9f2e-5d0c-4b7b-9a43-0c5c5f4b7d11';
const ROWS = 200_000;
const MANY_ROWS = 1_000_000;
const ROUNDS = 5;
const BATCH = 1000;
const PAGE = 200;

export interface ExportBench {
  rows: number;
  /** Rows per second: medians over the rounds. */
  join_per_s: number;
  csv_per_s: number;
  xlsx_per_s: number;
  /** `csv_per_s / join_per_s`; the target is at least 0.5. */
  ratio: number;
  many_rows: number;
  /** Peak memory of a process in MiB, with `rows` and with `many_rows`; the target is no growth. */
  peak_mib: Record<Way, readonly [number, number]>;
}

const WAYS = {
  /** The least work of any export: reading the documents and joining their values. */
  async join(documents: AsyncIterable<ResultDocument>): Promise<number> {
    let chars = 0;
    let text = '';
    for await (const { _id, ...values } of documents) {
      text += `${Object.values(values).join(',')}\n`;
      if (text.length < 64 * 1024) continue;
      chars += text.length;
      text = '';
    }
    return chars + text.length;
  },
  csv: (documents: AsyncIterable<ResultDocument>) => consumed(csvOf(resultsTable(placed(documents)))),
  xlsx: (documents: AsyncIterable<ResultDocument>) => consumed(xlsxOf(resultsTable(placed(documents)))),
};
type Way = keyof typeof WAYS;

async function* placed(documents: AsyncIterable<ResultDocument>): AsyncGenerator<(ResultDocument & Place)[]> {
  let page: (ResultDocument & Place)[] = [];
  for await (const document of documents) {
    page.push({ ...document, row: document.index + 2, cell: `A${document.index + 2}` });
    if (page.length < PAGE) continue;
    yield page;
    page = [];
  }
  yield page;
}

async function consumed(pieces: AsyncIterable<string | Buffer>): Promise<number> {
  let length = 0;
  for await (const piece of pieces) length += piece.length;
  return length;
}

export async function benchExport(rows = ROWS, many_rows = MANY_ROWS, rounds = ROUNDS): Promise<ExportBench> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-export-'));
  try {
    const path = join(folder, 'documents.db');
    await fill(path, 0, rows);
    const runs: Record<Way, Measured[]> = { join: [], csv: [], xlsx: [] };
    // In turns, so that a slow minute of the machine slows all contestants.
    for (let round = 0; round < rounds; round++) {
      for (const way of Object.keys(runs) as Way[]) runs[way].push(await measured(path, way));
    }
    await fill(path, rows, many_rows);
    const rate = (way: Way) => median(runs[way].map(({ per_s }) => per_s));
    const peaks = async (way: Way) =>
      [median(runs[way].map(({ peak_mib }) => peak_mib)), (await measured(path, way)).peak_mib] as const;
    const [join_per_s, csv_per_s] = [rate('join'), rate('csv')];
    return {
      rows,
      join_per_s,
      csv_per_s,
      xlsx_per_s: rate('xlsx'),
      ratio: csv_per_s / join_per_s,
      many_rows,
      peak_mib: { join: await peaks('join'), csv: await peaks('csv'), xlsx: await peaks('xlsx') },
    };
  } finally {
    await rm(folder, { recursive: true });
  }
}

interface Measured {
  rows: number;
  per_s: number;
  peak_mib: number;
}

async function measured(path: string, way: Way): Promise<Measured> {
  const { stdout } = await promisify(execFile)(process.execPath, [import.meta.filename, way, path]);
  return JSON.parse(stdout) as Measured;
}

async function measure(way: Way, path: string): Promise<Measured> {
  const documents = await openSqliteDocuments({ path });
  const collection: Collection<StoredResult> = await documents.collection(results);
  let rows = 0;
  async function* counted() {
    for await (const document of collection.stream({ job_id: JOB }, { sort: { index: 1 } })) {
      rows++;
      yield toResult(document);
    }
  }
  const started = performance.now();
  await WAYS[way](counted());
  const per_s = (rows / (performance.now() - started)) * 1000;
  await documents.close();
  return { rows, per_s, peak_mib: process.resourceUsage().maxRSS / 1024 };
}

async function fill(path: string, from: number, to: number): Promise<void> {
  const documents = await openSqliteDocuments({ path });
  const collection = await documents.collection(results);
  for (let first = from; first < to; first += BATCH) {
    const length = Math.min(BATCH, to - first);
    const rows = Array.from({ length }, (_, n) => resultAt(first + n));
    await collection.write(rows.map((row) => ({ insert: toStored(row._id, row) })));
  }
  await documents.close();
}

function resultAt(index: number): ResultDocument {
  const url = `https://www.example${index % 997}.com/a/path/to/page/${index}?q=${index * 7}&lang=en`;
  const is_broken = index % 10 === 0;
  return {
    _id: resultId(JOB, index),
    job_id: JOB,
    index,
    url,
    status_code: is_broken ? 404 : 200,
    final_url: url,
    is_broken,
    is_soft_404: false,
    redirect_chain: index % 5 === 0 ? [url] : [],
    response_time_ms: index % 900,
    content_type: 'text/html; charset=utf-8',
    error_code: null,
    verdict: is_broken ? 'broken' : 'ok',
    protection: null,
    attempts: 1,
  };
}

const median = (of: readonly number[]) => of.toSorted((a, b) => a - b)[of.length >> 1]!;

export function exportTable(bench: ExportBench): string {
  const line = (label: string, per_s: number, [few, many]: readonly [number, number]) =>
    `  ${label.padEnd(14)}${(per_s / 1000).toFixed(0).padStart(5)} k rows/s${few.toFixed(0).padStart(6)} MiB${many.toFixed(0).padStart(6)} MiB`;
  const { peak_mib } = bench;
  return [
    `Exports: rate with ${bench.rows} rows, peak memory of a process with as many and with ${bench.many_rows}`,
    line('read and join', bench.join_per_s, peak_mib.join),
    line('CSV', bench.csv_per_s, peak_mib.csv),
    line('XLSX', bench.xlsx_per_s, peak_mib.xlsx),
    `  CSV / read and join = ${bench.ratio.toFixed(2)}`,
  ].join('\n');
}

if (import.meta.main) {
  const [way, path] = process.argv.slice(2);
  if (way && path) console.log(JSON.stringify(await measure(way as Way, path)));
  else console.log(exportTable(await benchExport()));
}
