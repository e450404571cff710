// Reads a file of URLs by the whole intake, and by csv-parse and `new URL` alone, and compares their times.
//   node bench/intake.ts [rows]
import { createReadStream } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { parse } from 'csv-parse';
import { collectUrls } from '../intake/collect-urls.ts';
import { openSheet } from '../intake/open-sheet.ts';

export interface IntakeBenchResult {
  rows: number;
  file_mb: number;
  /** Find the column, read, classify, remove duplicates: the better of two runs. */
  intake_ms: number;
  /** csv-parse to records and `new URL` for each: the better of two runs. */
  reference_ms: number;
  /** `intake_ms / reference_ms`. */
  ratio: number;
  /** The same of their processor times, on which other programs have little effect. */
  cpu_ratio: number;
  /** Largest growth of memory in the first run. */
  rss_mb: number;
  heap_mb: number;
  /** Largest delay of a timer; on a busy machine other programs add to it. */
  longest_delay_ms: number;
  median_delay_ms: number;
}

export async function benchIntake({ rows = 1_000_000 } = {}): Promise<IntakeBenchResult> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-intake-'));
  try {
    const path = join(folder, 'urls.csv');
    const size_bytes = await writeUrls(path, rows);
    const first = await runIntake(path, rows);
    const reference = better(await runReference(path, rows), await runReference(path, rows));
    const intake = better(first, await runIntake(path, rows));
    const { took_ms: _, cpu_ms: _cpu, ...measured } = first;
    return {
      rows,
      file_mb: size_bytes / 1e6,
      intake_ms: intake.took_ms,
      reference_ms: reference.took_ms,
      ratio: intake.took_ms / reference.took_ms,
      cpu_ratio: intake.cpu_ms / reference.cpu_ms,
      ...measured,
    };
  } finally {
    await rm(folder, { recursive: true });
  }
}

interface Took {
  took_ms: number;
  cpu_ms: number;
}

/** Starts a clock; the returned function reads it. */
function stopwatch(): () => Took {
  const [start, cpu] = [performance.now(), process.cpuUsage()];
  return () => {
    const { user, system } = process.cpuUsage(cpu);
    return { took_ms: performance.now() - start, cpu_ms: (user + system) / 1000 };
  };
}

const better = (a: Took, b: Took): Took => ({
  took_ms: Math.min(a.took_ms, b.took_ms),
  cpu_ms: Math.min(a.cpu_ms, b.cpu_ms),
});

/** A file like an export of a shop: an id, a quoted title with commas, the URL, a status. 5 % of the URLs twice. */
async function writeUrls(path: string, rows: number): Promise<number> {
  await using file = await open(path, 'w');
  let text = 'id,title,url,status\n';
  for (let i = 0; i < rows; i++) {
    const url = `https://shop${i % 5_000}.example.com/catalogue/item-${i % Math.ceil(rows * 0.95)}?ref=mail`;
    text += `${i},"Product ${i}, blue",${url},200\n`;
    if (text.length < 1_000_000 && i < rows - 1) continue;
    await file.write(text);
    text = '';
  }
  return (await file.stat()).size;
}

async function runIntake(path: string, rows: number) {
  const before = process.memoryUsage();
  const delay = monitorEventLoopDelay({ resolution: 5 });
  let rss = 0;
  let heap = 0;
  let accepted = 0;
  delay.enable();
  const took = stopwatch();
  const sheet = await openSheet(path, 'urls.csv', { max_file_bytes: 1_000_000_000, max_urls: rows });
  const collected = collectUrls(sheet.cells(), { max_urls: rows });
  for await (const page of collected) {
    accepted += page.length;
    if (accepted % 20_000 !== 0) continue;
    const { rss: rss_now, heapUsed } = process.memoryUsage();
    rss = Math.max(rss, rss_now - before.rss);
    heap = Math.max(heap, heapUsed - before.heapUsed);
  }
  const spent = took();
  delay.disable();
  const { total_rows, accepted: counted } = collected.summary;
  if (total_rows !== rows || counted !== accepted) throw new Error(`${total_rows} rows read of ${rows}`);
  return {
    ...spent,
    rss_mb: rss / 1e6,
    heap_mb: heap / 1e6,
    longest_delay_ms: delay.max / 1e6,
    median_delay_ms: delay.percentile(50) / 1e6,
  };
}

async function runReference(path: string, rows: number): Promise<Took> {
  const took = stopwatch();
  let urls = 0;
  const records = createReadStream(path).pipe(parse({ from_line: 2 }));
  for await (const record of records as AsyncIterable<string[]>) {
    if (new URL(record[2]!).hostname !== '') urls++;
  }
  if (urls !== rows) throw new Error(`${urls} rows read of ${rows}`);
  return took();
}

if (import.meta.main) {
  const result = await benchIntake({ rows: Number(process.argv[2] ?? 1_000_000) });
  console.log(`${result.rows} rows, ${result.file_mb.toFixed(0)} MB`);
  console.log(`intake                 ${result.intake_ms.toFixed(0)} ms`);
  console.log(`csv-parse and new URL  ${result.reference_ms.toFixed(0)} ms`);
  console.log(`ratio                  ${result.ratio.toFixed(2)}; of processor time ${result.cpu_ratio.toFixed(2)}`);
  console.log(`memory                 +${result.rss_mb.toFixed(0)} MB RSS, +${result.heap_mb.toFixed(0)} MB heap`);
  console.log(
    `event loop             ${result.median_delay_ms.toFixed(1)} ms late (median), ${result.longest_delay_ms.toFixed(1)} ms at most`,
  );
}
