// A check on disk: the URLs of its inputs, and the results so far. One process at a time has it open, and what it has
// written stays whatever ends the process, so that another one can go on.
import { statSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { isBusy, transaction } from '../../adapters/sqlite.ts';
import { boundedOutcome, type Outcome, type Verdict } from '../../events/checks.ts';
import type { CheckedUrl, Counts, FoundOutcome, InputReading, Rejected } from './checked.ts';
import type { ListedUrl } from './inputs.ts';

/** What is kept of a run beside its URLs: once when they are listed. */
export interface RunFacts {
  counts: Omit<Counts, 'completed_urls' | 'cached_urls'>;
  inputs: readonly InputReading[];
  rejected: readonly Rejected[];
  began_at: string;
}

export interface PendingUrl {
  index: number;
  url: string;
}

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS urls (idx INTEGER PRIMARY KEY, url TEXT NOT NULL, file TEXT, row INTEGER, cell TEXT);
  CREATE TABLE IF NOT EXISTS outcomes (idx INTEGER PRIMARY KEY, verdict TEXT NOT NULL, outcome TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
`;
/** Outcomes are written together when there are this many, or when the caller flushes. */
const OUTCOMES_A_WRITE = 500;

/** The fields that most outcomes have in common are not written. */
const USUAL: Outcome = {
  status_code: 200,
  final_url: null,
  is_broken: false,
  is_soft_404: false,
  redirect_chain: [],
  response_time_ms: null,
  content_type: null,
  error_code: null,
  verdict: 'ok',
  protection: null,
  attempts: 1,
};

/** The file of a run cannot be read or written; the message names it. */
export class RunError extends Error {
  readonly code = 'run';
}

export class RunStore {
  readonly #path: string;
  readonly #db: DatabaseSync;
  readonly #insert: StatementSync;
  #waiting: [index: number, outcome: FoundOutcome][] = [];
  #completed: number;
  #cached: number;
  #elapsed_ms: number;

  private constructor(path: string, db: DatabaseSync) {
    this.#path = path;
    this.#db = db;
    this.#insert = db.prepare('INSERT OR REPLACE INTO outcomes (idx, verdict, outcome) VALUES (?, ?, ?)');
    this.#completed = (db.prepare('SELECT count(*) AS n FROM outcomes').get() as { n: number }).n;
    this.#cached = Number(this.#fact('cached') ?? 0);
    this.#elapsed_ms = Number(this.#fact('elapsed_ms') ?? 0);
  }

  /** Returns null while another process has the run open. */
  static open(path: string): RunStore | null {
    const db = new DatabaseSync(path);
    try {
      db.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;');
      // The first transaction takes the lock, which the connection then keeps.
      transaction(db, () => db.exec(SCHEMA));
      return new RunStore(path, db);
    } catch (error) {
      db.close();
      if (isBusy(error)) return null;
      throw new RunError(`${path}: ${(error as Error).message}`, { cause: error });
    }
  }

  /** Writes the URLs of a new run. A run whose URLs were not all listed has no facts. */
  async list(pages: AsyncIterable<readonly ListedUrl[]>, facts: () => RunFacts): Promise<void> {
    const insert = this.#db.prepare('INSERT INTO urls (idx, url, file, row, cell) VALUES (?, ?, ?, ?, ?)');
    let index = 0;
    for await (const page of pages) {
      this.#commit(() => {
        for (const { url, file, row, cell } of page) insert.run(index++, url, file, row, cell);
      });
    }
    this.#commit(() => this.#setFact('run', JSON.stringify(facts())));
  }

  /** Null until all URLs are listed. */
  get facts(): RunFacts | null {
    const text = this.#fact('run');
    return text === null ? null : JSON.parse(text);
  }

  get completed(): number {
    return this.#completed;
  }

  /** The time that the checks took, in all processes that worked on the run. */
  get elapsed_ms(): number {
    return this.#elapsed_ms;
  }

  addElapsed(ms: number): void {
    this.#elapsed_ms += ms;
  }

  /** The first URLs after `after` without an outcome. Outcomes that are not flushed do not count. */
  pending(after: number, limit: number): PendingUrl[] {
    const find = `SELECT urls.idx AS "index", url FROM urls LEFT JOIN outcomes USING (idx)
      WHERE urls.idx > ? AND outcomes.idx IS NULL ORDER BY urls.idx LIMIT ?`;
    return this.#db.prepare(find).all(after, limit) as unknown as PendingUrl[];
  }

  /**
   * Notes what decides the verdicts of the outcomes to come. Whether it is so for all of the run: after others were found otherwise, it never
   * is again.
   */
  tellOptions(digest: string): boolean {
    const is_same = this.#completed === 0 || this.#fact('options') === digest;
    this.#commit(() => this.#setFact('options', is_same ? digest : 'several'));
    return is_same;
  }

  /** The number of outcomes that come from earlier checks. */
  get cached(): number {
    return this.#cached;
  }

  keep(index: number, outcome: FoundOutcome): void {
    this.#completed++;
    if (outcome.found_at !== undefined) this.#cached++;
    this.#waiting.push([index, outcome]);
    if (this.#waiting.length >= OUTCOMES_A_WRITE) this.flush();
  }

  flush(): void {
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    this.#commit(() => {
      for (const [index, outcome] of waiting) this.#insert.run(index, outcome.verdict, packOutcome(outcome));
      this.#setFact('cached', String(this.#cached));
      this.#setFact('elapsed_ms', String(Math.round(this.#elapsed_ms)));
    });
    this.#waiting = [];
  }

  verdicts(): Partial<Record<Verdict, number>> {
    const rows = this.#db.prepare('SELECT verdict, count(*) AS n FROM outcomes GROUP BY verdict').all();
    return Object.fromEntries(rows.map(({ verdict, n }) => [verdict, n]));
  }

  /** In the order of the input. */
  *results(verdicts: readonly Verdict[] | null = null): Generator<CheckedUrl> {
    const where = verdicts === null ? '' : `WHERE verdict IN (${verdicts.map(() => '?').join(', ')})`;
    const rows = this.#db
      .prepare(`SELECT url, file, row, cell, outcome FROM urls JOIN outcomes USING (idx) ${where} ORDER BY urls.idx`)
      .iterate(...(verdicts ?? []));
    for (const { url, file, row, cell, outcome } of rows as Iterable<ListedUrl & { outcome: string }>) {
      yield { url, file, row, cell, ...unpackOutcome(outcome) };
    }
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close();
  }

  #commit(work: () => void): void {
    try {
      transaction(this.#db, work);
    } catch (error) {
      throw new RunError(`${this.#path}: ${(error as Error).message}`, { cause: error });
    }
  }

  #fact(name: string): string | null {
    const found = this.#db.prepare('SELECT value FROM facts WHERE name = ?').get(name) as { value: string } | undefined;
    return found?.value ?? null;
  }

  #setFact(name: string, value: string): void {
    this.#db.prepare('INSERT OR REPLACE INTO facts (name, value) VALUES (?, ?)').run(name, value);
  }
}

export const unpackOutcome = (text: string): FoundOutcome => ({ ...USUAL, ...JSON.parse(text) });

export function packOutcome({ proxy_id: _, earlier_attempts: _earlier, ...outcome }: FoundOutcome): string {
  return JSON.stringify(boundedOutcome(outcome), (key, value) =>
    key !== '' && isUsual(key as keyof Outcome, value) ? undefined : value,
  );
}

function isUsual(field: keyof Outcome, value: unknown): boolean {
  return field === 'redirect_chain' ? Array.isArray(value) && value.length === 0 : USUAL[field] === value;
}

/** When anything was last written to the run at `path`. */
export function lastWrite(path: string): number {
  const times = [path, `${path}-wal`].map((file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0);
  return Math.max(...times);
}
