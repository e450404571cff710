// How fast `npm run ops -- events …` reads, counts, exports and queries a log, and how much memory each takes. Each step is a process of its own.
// First over a log of a tenth of the events, so that it prints how memory grows. node bench/events.ts [--events 1000000] [--folder FOLDER]
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openSqliteEventStore } from '../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { foldRange } from '../events/checked-range.ts';
import type { Outcome } from '../events/checks.ts';

const { values } = parseArgs({
  options: { events: { type: 'string', default: '1000000' }, folder: { type: 'string' } },
});
const whole = Number(values.events);
const base = values.folder ?? (await mkdtemp(join(tmpdir(), 'url-checker-events-')));
let events = whole;
const file = (name: string) => join(base, String(events), name);
/** Megabytes of each command over the smaller log. */
const of_smaller = new Map<string, number>();

/** A range of one URL each, so that there are as many events as checks. */
async function fill(): Promise<void> {
  const log = await openSqliteEventStore({ path: file('events.db') });
  const found = { is_soft_404: false, redirect_chain: [], content_type: 'text/html', protection: null, attempts: 1 };
  const BATCH = 100;
  for (let batch = 0; batch < events / BATCH; batch += 100) {
    const job_id = randomUUID();
    await Promise.all(
      Array.from({ length: Math.min(100, events / BATCH - batch) }, (_, n) => {
        const command_id = randomUUID();
        const metadata = { command_id, causation_id: command_id, actor: 'checker:1', at: new Date().toISOString() };
        const made = Array.from({ length: BATCH }, (__, place) => {
          const url = `https://www.example.com/${place}`;
          const status_code = place % 20 === 0 ? 404 : 200;
          const is_broken = status_code === 404;
          const verdict = is_broken ? 'broken' : 'ok';
          const outcome: Outcome = {
            ...found,
            status_code,
            is_broken,
            verdict,
            final_url: url,
            response_time_ms: 10 + place,
            error_code: null,
          };
          return {
            id: randomUUID(),
            type: 'URLChecked',
            metadata,
            data: foldRange(job_id, n * BATCH + place, [url], [outcome]),
          };
        });
        return log.append(`checks-${job_id}-${n}`, 'no_stream', made);
      }),
    );
  }
  await log.close();
}

/** Runs a command and drops what it prints. */
async function measure(name: string, ...words: string[]): Promise<void> {
  const began = performance.now();
  const ops = join(import.meta.dirname, '..', 'cli', 'ops.ts');
  const rss =
    '--import=data:text/javascript,process.on("exit",()=>process.stderr.write("RSS "+process.resourceUsage().maxRSS+"\\n"))';
  const child = spawn(process.execPath, [rss, ops, 'events', ...words], {
    env: { ...process.env, DATA_DIR: file('') },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (text) => (said += text));
  const code = await new Promise((resolve) => child.on('close', resolve));
  const seconds = (performance.now() - began) / 1000;
  const most_mb = Number(/RSS (\d+)/.exec(said)?.[1]) / 1024;
  if (code !== 0) throw new Error(`${name}: ${said}`);
  const smaller_mb = of_smaller.get(name);
  of_smaller.set(name, most_mb);
  const growth = smaller_mb === undefined ? '' : `, ${(most_mb / smaller_mb).toFixed(2)} of those for a tenth`;
  const rate = (events / seconds / 1000).toFixed(0).padStart(5);
  console.log(
    `${name.padEnd(34)} ${seconds.toFixed(1).padStart(5)} s  ${rate} k events/s  ${most_mb.toFixed(0).padStart(4)} MB at the most${growth}`,
  );
}

try {
  for (events of [whole / 10, whole]) {
    console.log(`${events.toLocaleString('en')} events`);
    if (!existsSync(file('events.db'))) await fill();
    await measure('count', 'count');
    await measure('count --by day', 'count', '--by', 'day');
    await measure('read', 'read');
    await measure('read --json', 'read', '--json');
    await measure('export, JSON lines', 'export', '--out', file('log.jsonl'));
    await measure('export, CSV', 'export', '--out', file('log.csv'));
    await measure('export, Parquet', 'export', '--out', file('log.parquet'));
    const sql = 'SELECT usual.verdict, count(*) FROM URLChecked GROUP BY 1';
    await measure('query of the log', 'query', sql);
    await measure('query of the log, another type', 'query', 'SELECT count(*) FROM JobCreated');
    await measure('query of Parquet', 'query', sql, '--file', file('log.parquet'));
    await measure('query of JSON lines', 'query', sql, '--file', file('log.jsonl'));
    for (const name of ['events.db', 'log.jsonl', 'log.csv', 'log.parquet']) {
      console.log(
        `${name.padEnd(12)} ${((await stat(file(name))).size / events).toFixed(0).padStart(4)} bytes an event`,
      );
    }
  }
} finally {
  if (values.folder === undefined) await rm(base, { recursive: true });
}
