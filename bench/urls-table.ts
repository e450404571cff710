// How long `urls`, the table of checked URLs, takes to be made of a log, and to be scanned. node bench/urls-table.ts [--urls 1000000]
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openSqliteEventStore } from '../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { sourceOfLog } from '../analysis/event-source.ts';
import { openQuery } from '../analysis/query.ts';
import { foldRange } from '../events/checked-range.ts';
import type { Outcome } from '../events/checks.ts';

const { values } = parseArgs({ options: { urls: { type: 'string', default: '1000000' } } });
const JOB_URLS = 50_000;
const [CHUNK, BATCH] = [1_000, 100];
const folder = await mkdtemp(join(tmpdir(), 'url-checker-urls-'));
const path = join(folder, 'events.db');
const metadata = { command_id: 'c', causation_id: 'c', actor: 'checker:bench', at: new Date().toISOString() };
const event = (type: string, data: unknown) => ({ id: randomUUID(), type, data, metadata });
const found = { is_soft_404: false, redirect_chain: [], content_type: 'text/html', protection: null, attempts: 1 };

/** One in twenty is broken. */
function outcomeOf(url: string, n: number): Outcome {
  const is_broken = n % 20 === 0;
  const [status_code, verdict] = is_broken ? ([404, 'broken'] as const) : ([200, 'ok'] as const);
  return {
    ...found,
    status_code,
    is_broken,
    verdict,
    final_url: url,
    response_time_ms: 10 + (n % 400),
    error_code: null,
  };
}

async function fill(): Promise<void> {
  const log = await openSqliteEventStore({ path });
  for (let job = 0; job < Number(values.urls) / JOB_URLS; job += 1) {
    const job_id = randomUUID();
    const urls = Array.from(
      { length: JOB_URLS },
      (_, n) => `https://www.site-${n % 200}.example/catalogue/products/${job}-${n}.html`,
    );
    for (let first = 0; first < JOB_URLS; first += CHUNK) {
      const listed = { job_id, from_index: first, urls: urls.slice(first, first + CHUNK), rows: [1 + first] };
      await log.append(`urls-${job_id}`, first === 0 ? 'no_stream' : first / CHUNK - 1, [event('UrlsListed', listed)]);
    }
    for (let first = 0; first < JOB_URLS; first += BATCH) {
      const some = urls.slice(first, first + BATCH);
      const data = foldRange(
        job_id,
        first,
        some,
        some.map((url, n) => outcomeOf(url, first + n)),
      );
      await log.append(`checks-${job_id}-${first / BATCH}`, 'no_stream', [event('URLChecked', data)]);
    }
  }
  await log.close();
}

const SCANS = [
  'SELECT verdict, count(*) FROM urls GROUP BY ALL',
  'SELECT host, avg(is_broken::INT), quantile_cont(response_time_ms, 0.95) FROM urls GROUP BY ALL',
  "SELECT count(*) FROM urls WHERE url LIKE '%products/3-1%'",
];
try {
  await fill();
  const log = await openSqliteEventStore({ path, read_only: true });
  const everything = { streams: null, categories: null, types: null, from: null, to: null };
  const query = await openQuery(sourceOfLog(log), everything);
  for (const sql of ['SELECT count(*) FROM urls', ...SCANS]) {
    const began = performance.now();
    for await (const { rows } of query.answers(sql)) for await (const _ of rows);
    const mb = process.resourceUsage().maxRSS / 1024;
    console.log(`${((performance.now() - began) / 1000).toFixed(2)} s, at most ${mb.toFixed(0)} MB: ${sql}`);
  }
  await query.close();
  await log.close();
} finally {
  await rm(folder, { recursive: true, force: true });
}
