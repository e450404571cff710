// How fast the embedded event log appends checked URLs, one event a batch, against bare inserts of the same rows into the same
// table, and how fast it reads them.
// `node bench/append.ts`
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openSqliteEventStore } from '../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { foldRange, unfold } from '../events/checked-range.ts';
import type { Outcome, URLChecked } from '../events/checks.ts';
import type { EventStore, Metadata, NewEvent } from '../events/event-store.ts';

const BATCH = 100;
const BATCHES = 2000;
/** Batches whose appends are under way at once. */
const IN_FLIGHT = 32;
const ROUNDS = 9;
const CHECKPOINT_PAGES = 16_000;

export interface AppendBench {
  /** URLs per second: medians over the rounds. */
  log_per_s: number;
  raw_per_s: number;
  /** `log_per_s / raw_per_s`; the target is at least 0.7. */
  ratio: number;
  /** URLs per second, reading the whole log forwards; `parsed` makes a row of each. */
  read_unparsed_per_s: number;
  read_parsed_per_s: number;
  /** The file's bytes for each URL. */
  bytes_a_url: number;
}

/** Alternates rounds of log and raw inserts, each into a new file of one folder, so that a slow minute of the machine slows both. */
export async function benchAppend(rounds = ROUNDS): Promise<AppendBench> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-append-'));
  let size_bytes = 0;
  const measured = { log: [] as number[], raw: [] as number[], unparsed: [] as number[], parsed: [] as number[] };
  try {
    const batches = makeBatches();
    for (let round = -1; round < rounds; round += 1) {
      const raw = await withLog(join(folder, `raw-${round}.db`), (_, path) => insertRaw(path, batches));
      const log = await withLog(join(folder, `log-${round}.db`), async (store) => ({
        appended: await append(store, batches),
        unparsed: await read(store, (event) => event.id.length),
        parsed: await read(store, ({ data }) => unfold(data as URLChecked, []).length),
      }));
      ({ size: size_bytes } = await stat(join(folder, `log-${round}.db`)));
      // The first round warms up.
      if (round === -1) continue;
      measured.raw.push(raw);
      measured.log.push(log.appended);
      measured.unparsed.push(log.unparsed);
      measured.parsed.push(log.parsed);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
  const log_per_s = median(measured.log);
  const raw_per_s = median(measured.raw);
  return {
    log_per_s,
    raw_per_s,
    ratio: log_per_s / raw_per_s,
    read_unparsed_per_s: median(measured.unparsed),
    read_parsed_per_s: median(measured.parsed),
    bytes_a_url: size_bytes / (BATCH * BATCHES),
  };
}

/** Log and raw inserts both write a file that the log has made, with the same tables, indexes and page size. */
async function withLog<R>(path: string, work: (store: EventStore, path: string) => R | Promise<R>): Promise<R> {
  const store = await openSqliteEventStore({ path, checkpoint_pages: CHECKPOINT_PAGES });
  try {
    return await work(store, path);
  } finally {
    await store.close();
  }
}

/** Appends one stream for each batch, `IN_FLIGHT` at once as checkers do: the log commits appends in groups. */
async function append(store: EventStore, batches: readonly NewEvent[][]): Promise<number> {
  const started = performance.now();
  const left = batches.entries();
  async function some(): Promise<void> {
    for (const [batch, events] of left) {
      const result = await store.append(`checks-0b6ed1a5-93c4-4f7b-a8a1-6d1d2a7a9c11-${batch}`, 'no_stream', events);
      if (!result.ok) throw new Error('unexpected conflict');
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, some));
  return perSecond(started);
}

/** The least work that any log does: one transaction a batch, one prepared insert a row, data and metadata as JSON. */
function insertRaw(path: string, batches: readonly NewEvent[][]): number {
  const db = new DatabaseSync(path);
  db.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES};
  `);
  const insert = db.prepare(
    'INSERT INTO events (stream_id, revision, type, id, metadata, data) VALUES (?, ?, ?, ?, ?, ?)',
  );
  const started = performance.now();
  for (const [batch, events] of batches.entries()) {
    const metadata = JSON.stringify(events[0]!.metadata);
    db.exec('BEGIN IMMEDIATE');
    for (const [revision, { type, id, data }] of events.entries()) {
      insert.run(batch + 1, revision, type, id, metadata, JSON.stringify(data));
    }
    db.exec('COMMIT');
  }
  const rate = perSecond(started);
  db.close();
  return rate;
}

async function read(store: EventStore, look: (event: NewEvent) => number): Promise<number> {
  const started = performance.now();
  let sum = 0;
  for await (const event of store.readAll()) sum += look(event);
  const rate = perSecond(started);
  if (!(sum > 0)) throw new Error('nothing was read');
  return rate;
}

/** One in ten is broken. */
function makeBatches(): NewEvent<'URLChecked', URLChecked>[][] {
  return Array.from({ length: BATCHES }, (_, batch) => {
    const metadata: Metadata = {
      command_id: randomUUID(),
      causation_id: randomUUID(),
      actor: 'checker',
      at: new Date().toISOString(),
    };
    const urls = Array.from({ length: BATCH }, (_, n) => `https://www.example.com/articles/${batch * BATCH + n}`);
    const data = foldRange('0b6ed1a5-93c4-4f7b-a8a1-6d1d2a7a9c11', batch * BATCH, urls, urls.map(outcomeOf));
    return [{ id: randomUUID(), type: 'URLChecked' as const, data, metadata }];
  });
}

function outcomeOf(url: string, n: number): Outcome {
  const is_broken = n % 10 === 3;
  return {
    status_code: is_broken ? 404 : 200,
    final_url: url,
    is_broken,
    is_soft_404: false,
    redirect_chain: [],
    response_time_ms: 10 + (n % 90),
    content_type: 'text/html',
    error_code: null,
    verdict: is_broken ? 'broken' : 'ok',
    protection: null,
    attempts: 1,
  };
}

const perSecond = (started: number): number => (BATCH * BATCHES * 1_000) / (performance.now() - started);

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!;

if (import.meta.main) {
  const result = await benchAppend();
  const k = (per_s: number) => `${Math.round(per_s / 1_000)} k/s`;
  console.log(`append, events of ${BATCH} URLs: ${k(result.log_per_s)}; bare inserts: ${k(result.raw_per_s)}`);
  console.log(`ratio of the medians of ${ROUNDS} rounds: ${result.ratio.toFixed(2)} (wanted: at least 0.70)`);
  console.log(`read forwards: ${k(result.read_unparsed_per_s)} without data, ${k(result.read_parsed_per_s)} as rows`);
  console.log(`${result.bytes_a_url.toFixed(0)} bytes a URL in the file`);
}
