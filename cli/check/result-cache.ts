// Results that a check keeps for the next ones, with `--cache`: a file of the user's, or of a CI job that restores and saves it. A result is
// found again by its URL and by all that decides its verdict. Decision 186 says why.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { sqliteCode, transaction } from '../../adapters/sqlite.ts';
import type { EngineSettings } from '../../checkers/engine/engine.ts';
import type { Outcome, Verdict } from '../../events/checks.ts';
import { isTemporary } from '../../events/findings.ts';
import type { CheckedUrl, FoundOutcome } from './checked.ts';
import { LONGEST_AGE_MS } from './command.ts';
import { packOutcome, unpackOutcome } from './run-store.ts';

/** Which results a check takes. */
export interface Freshness {
  now: number;
  max_age_ms: number;
  except: readonly Verdict[];
}

/** Another process writes for less than this. */
const BUSY_MS = 10_000;
const ROWS_A_WRITE = 20_000;
/** URLs come in any order: with SQLite's own 2 MB each of many would cost a page of the file. */
const CACHE_KIB = 128 * 1024;
const SCHEMA = `CREATE TABLE IF NOT EXISTS results (
  url TEXT, options TEXT, found_at INTEGER NOT NULL, outcome TEXT NOT NULL, PRIMARY KEY (url, options)
) WITHOUT ROWID;`;

/** `DATA_DIR/check-cache` where the environment names a `DATA_DIR`, else in the user's folder for caches (XDG Base Directory Specification). */
export function cacheFile(env: NodeJS.ProcessEnv): string {
  const folder = env.DATA_DIR
    ? resolve(env.DATA_DIR, 'check-cache')
    : join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'url-checker');
  return join(folder, 'results.db');
}

/** Results of two checks are the same thing where these agree: all that a verdict depends on beside the site. */
export function optionsDigest(settings: EngineSettings, env: NodeJS.ProcessEnv): string {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  const { timeout_ms, retries, allow_addresses, user_agent, accept_language } = settings;
  const { NODE_TLS_REJECT_UNAUTHORIZED: verifies, NODE_USE_SYSTEM_CA: of_system } = env;
  const of_node = [env.NODE_OPTIONS, process.execArgv, verifies, of_system];
  const trusted = [env.NODE_EXTRA_CA_CERTS, env.SSL_CERT_FILE, env.SSL_CERT_DIR, ...of_node];
  const all = [version, timeout_ms, retries, allow_addresses.toSorted(), user_agent, accept_language, trusted];
  return createHash('sha256').update(JSON.stringify(all)).digest('hex').slice(0, 16);
}

/** Whether the site itself gave the answer and stands by it. No answer and bot protection say more of the moment than of the URL. */
export const isLasting = (outcome: Outcome): boolean =>
  outcome.verdict !== 'unreachable' && outcome.verdict !== 'blocked' && !outcome.by_circuit && !isTemporary(outcome);

/** SQLITE_CORRUPT and SQLITE_NOTADB: the file was cut off, or is none of ours. */
const DAMAGED: readonly number[] = [11, 26];

export class ResultCache {
  readonly #db: DatabaseSync;
  readonly #options: string;
  readonly #find: StatementSync;

  private constructor(path: string, options: string) {
    this.#db = new DatabaseSync(path, { timeout: BUSY_MS });
    this.#options = options;
    try {
      this.#db.exec(`PRAGMA cache_size = -${CACHE_KIB}; ${SCHEMA}`);
      this.#find = this.#db.prepare('SELECT found_at, outcome FROM results WHERE url = ? AND options = ?');
    } catch (error) {
      this.#db.close();
      throw error;
    }
  }

  /** Makes the file where there is none, or a damaged one. Throws the errors of the system and of SQLite. */
  static open(path: string, options: string): ResultCache {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    try {
      return new ResultCache(path, options);
    } catch (error) {
      if (!DAMAGED.includes(sqliteCode(error) & 0xff)) throw error;
      for (const ending of ['', '-journal']) rmSync(`${path}${ending}`, { force: true });
      return new ResultCache(path, options);
    }
  }

  /** The outcome that a check found in the `max_age_ms` before `now`; null for none, and for one of the verdicts `except`. */
  find(url: string, { now, max_age_ms, except }: Freshness): FoundOutcome | null {
    const row = this.#find.get(url, this.#options) as { found_at: number; outcome: string } | undefined;
    // A result from the future tells of a clock that was set, not of the site.
    if (row === undefined || row.found_at > now || row.found_at < now - max_age_ms) return null;
    const outcome = unpackOutcome(row.outcome);
    if (except.includes(outcome.verdict) || !isLasting(outcome)) return null;
    return { ...outcome, found_at: new Date(row.found_at).toISOString() };
  }

  /**
   * Keeps the results of a check that began at `found_at`, in place of what earlier checks found of their URLs, and forgets what is old.
   * Those that do not last are kept as well, so that no earlier check that ends later is believed.
   */
  keep(results: Iterable<CheckedUrl>, found_at: number): void {
    const insert = this.#db.prepare(`INSERT INTO results (url, options, found_at, outcome) VALUES (?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET found_at = excluded.found_at, outcome = excluded.outcome
      WHERE found_at <= excluded.found_at OR found_at > ?`);
    const write = (rows: readonly CheckedUrl[]) =>
      transaction(this.#db, () => {
        for (const { url, file: _file, row: _row, cell: _cell, ...outcome } of rows)
          insert.run(url, this.#options, found_at, packOutcome(outcome), Date.now());
      });
    let waiting: CheckedUrl[] = [];
    for (const result of results) {
      if (result.found_at !== undefined) continue;
      waiting.push(result);
      if (waiting.length < ROWS_A_WRITE) continue;
      write(waiting);
      waiting = [];
    }
    write(waiting);
    this.#db.prepare('DELETE FROM results WHERE found_at < ?').run(found_at - LONGEST_AGE_MS);
  }

  close(): void {
    this.#db.close();
  }
}
