// A job of a million URLs through the whole embedded service: the time of the upload against csv-parse plus `new URL` on the
// same file, the time of a cursor page at the end against one at the start, and the memory.
// node bench/million.ts [--urls 1000000] [--hosts 5000]
import { once } from 'node:events';
import { createReadStream, createWriteStream, openAsBlob, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { parse } from 'csv-parse';
import { median, urlsOver } from './loopback-urls.ts';
import { cpuMs } from './process-cpu.ts';
import { startBenchService } from './service.ts';

export interface Million {
  urls: number;
  /** Seconds from the first byte of the upload to its 201, and of csv-parse with `new URL` on the same file. */
  accepted_s: number;
  parsed_s: number;
  /** Resident memory of the service in MB: before the upload, and at the most during it and during the whole job. */
  memory_mb: { before: number; accepting: number; checking: number };
  /** Seconds from the 201 to the end of the job, and microseconds of processor time of the service a URL. */
  checked_s: number;
  cpu_us: number;
  /** Milliseconds of a cursor page of 100 results, median. */
  page_ms: { start: number; end: number };
}

const PAGES = 40;

export async function benchMillion({ urls: count = 1_000_000, hosts = 5000 } = {}): Promise<Million> {
  const service = await startBenchService();
  const file = join(service.folder, 'urls.csv');
  try {
    await writeCsv(file, urlsOver(hosts, count, service.website.port));
    const parsed_s = await seconds(() => parseOnly(file));
    const owner = await service.clientOf('bench');
    const client = await service.withKey(owner);

    const before = residentMb(service.pid);
    resetPeak(service.pid);
    let job_id = '';
    const accepted_s = await seconds(async () => {
      const form = new FormData();
      form.append('file', await openAsBlob(file), 'urls.csv');
      const headers = { authorization: `Bearer ${owner.token}` };
      const response = await fetch(`${service.url}/jobs`, { method: 'POST', headers, body: form });
      const body = (await response.json()) as { job_id: string; total_urls: number };
      if (response.status !== 201 || body.total_urls !== count) throw new Error(JSON.stringify(body));
      job_id = body.job_id;
    });
    const accepting = peakMb(service.pid);
    const cpu_before = cpuMs(service.pid);
    const checked_s = await seconds(async () => {
      const job = await owner.ended(job_id);
      if (job.completed_urls !== count) throw new Error(JSON.stringify(job));
    });
    const checking = peakMb(service.pid);
    const cpu_us = ((cpuMs(service.pid) - cpu_before) * 1000) / count;

    const results = async (limit: number, cursor: string) => {
      const { status, body } = await client.ask(
        'GET',
        `/api/v2/jobs/${job_id}/results?limit=${limit}&cursor=${cursor}`,
      );
      if (status !== 200) throw new Error(`${status}: ${JSON.stringify(body)}`);
      return body as { results: unknown[]; next_cursor: string | null };
    };
    const page = async (cursor: string) => {
      const began = performance.now();
      const { results: found } = await results(100, cursor);
      if (found.length !== 100) throw new Error(`a page of ${found.length}`);
      return performance.now() - began;
    };
    const cursors: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; cursor = (await results(1000, cursor)).next_cursor) {
      cursors.push(cursor);
    }
    const times = { start: [] as number[], end: [] as number[] };
    for (let i = 0; i < Math.min(PAGES, cursors.length); i++) {
      times.start.push(await page(cursors[i]!));
      times.end.push(await page(cursors.at(-1 - i)!));
    }
    return {
      urls: count,
      accepted_s,
      parsed_s,
      memory_mb: { before, accepting, checking },
      checked_s,
      cpu_us,
      page_ms: { start: median(times.start), end: median(times.end) },
    };
  } finally {
    await service.stop();
  }
}

async function writeCsv(path: string, urls: readonly string[]): Promise<void> {
  const out = createWriteStream(path);
  out.write('id,name,url\n');
  for (let i = 0; i < urls.length; i += 1000) {
    const rows = urls.slice(i, i + 1000).map((url, n) => `${i + n},"Page, number ${i + n}",${url}\n`);
    if (!out.write(rows.join(''))) await once(out, 'drain');
  }
  out.end();
  await once(out, 'close');
}

/** The least work that reads such a file: csv-parse and `new URL`. */
async function parseOnly(path: string): Promise<void> {
  let valid = 0;
  for await (const record of createReadStream(path).pipe(parse({ from_line: 2 }))) {
    if (new URL((record as string[])[2]!).hostname) valid++;
  }
  if (valid === 0) throw new Error('nothing was parsed');
}

async function seconds(run: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await run();
  return (performance.now() - began) / 1000;
}

const status = (pid: number, field: string) =>
  Number(new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;
const residentMb = (pid: number) => status(pid, 'VmRSS');
const peakMb = (pid: number) => status(pid, 'VmHWM');
const resetPeak = (pid: number) => writeFileSync(`/proc/${pid}/clear_refs`, '5');

export function millionTable(m: Million): string {
  const { before, accepting, checking } = m.memory_mb;
  return [
    `${m.urls} URLs in one CSV, the whole service`,
    `  accepted in        ${m.accepted_s.toFixed(1)} s = ${(m.accepted_s / m.parsed_s).toFixed(2)} × csv-parse and new URL (${m.parsed_s.toFixed(1)} s)`,
    `  memory             ${before.toFixed(0)} MB idle, ${accepting.toFixed(0)} MB while accepting, ${checking.toFixed(0)} MB at the most`,
    `  checked in         ${m.checked_s.toFixed(0)} s (${(m.urls / m.checked_s / 1000).toFixed(1)} k URL/s, ${m.cpu_us.toFixed(0)} µs of processor time a URL)`,
    `  page of 100        ${m.page_ms.start.toFixed(1)} ms from the start, ${m.page_ms.end.toFixed(1)} ms from the end = ${(m.page_ms.end / m.page_ms.start).toFixed(2)}`,
  ].join('\n');
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { urls: { type: 'string' }, hosts: { type: 'string' } } });
  const numbers = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Number(value)]));
  console.log(millionTable(await benchMillion(numbers)));
}
