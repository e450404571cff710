// Maps that hold what was used last in memory and the rest in a file, so that memory does not grow with their size. The file is
// temporary, or has a name: then a later process goes on from what was saved.
import { DatabaseSync, type StatementSync } from 'node:sqlite';

export interface Spill {
  /** `most`: the values in memory. They survive JSON. */
  map<Value>(name: string, most: number): SpillMap<Value>;
  close(): void;
}

/** The file is SQLite's own: it vanishes with the process, however that ends. */
export function openSpill(): Spill {
  const db = new DatabaseSync('');
  db.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -16000; PRAGMA temp_store = FILE');
  return { map: (name, most) => new SpillMap(db, name, most), close: () => db.close() };
}

export interface SavedSpill extends Spill {
  /** What was saved last, as JSON; null for a new file. */
  readonly saved: unknown;
  /** Saves all maps and `state`, which survives JSON, in one transaction. A process that ends without it leaves what was saved before. */
  save(state: unknown): void;
}

/** Opens the file for this process alone. Throws where another one has it, and where it is damaged. */
export function openSavedSpill(path: string): SavedSpill {
  const db = new DatabaseSync(path);
  try {
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -4000; BEGIN IMMEDIATE');
    db.exec('CREATE TABLE IF NOT EXISTS saved (place INTEGER PRIMARY KEY, state TEXT NOT NULL) STRICT');
    const row = db.prepare('SELECT state FROM saved').get() as { state: string } | undefined;
    const saved: unknown = row === undefined ? null : JSON.parse(row.state);
    const write = db.prepare('INSERT OR REPLACE INTO saved VALUES (1, ?)');
    const maps: SpillMap<unknown>[] = [];
    return {
      saved,
      map<Value>(name: string, most: number) {
        const map = new SpillMap<Value>(db, name, most, true);
        maps.push(map as SpillMap<unknown>);
        return map;
      },
      save(state) {
        for (const map of maps) map.flush();
        write.run(JSON.stringify(state));
        db.exec('COMMIT; BEGIN IMMEDIATE');
      },
      close: () => db.close(),
    };
  } catch (error) {
    db.close();
    throw error;
  }
}

/** A value may be changed in place until the next call of `get` or `set`. */
export class SpillMap<Value> {
  readonly #db: DatabaseSync;
  readonly #most: number;
  readonly #read: StatementSync;
  readonly #write: StatementSync;
  readonly #remove: StatementSync;
  readonly #all: StatementSync;
  /** The values used since the last spill, and those used before. */
  #young = new Map<string, Value>();
  #old = new Map<string, Value>();
  #spilled = 0;
  /** The keys whose values may have changed since the last flush; null: the map is never flushed. */
  readonly #touched: Set<string> | null;

  /** `is_saved`: a transaction is open, and only whoever saves the file ends it. */
  constructor(db: DatabaseSync, name: string, most: number, is_saved = false) {
    this.#db = db;
    this.#most = most;
    this.#touched = is_saved ? new Set() : null;
    db.exec(`CREATE TABLE IF NOT EXISTS ${name} (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID`);
    this.#read = db.prepare(`SELECT value FROM ${name} WHERE key = ?`);
    this.#write = db.prepare(`INSERT OR REPLACE INTO ${name} VALUES (?, ?)`);
    this.#remove = db.prepare(`DELETE FROM ${name} WHERE key = ?`);
    this.#all = db.prepare(`SELECT key, value FROM ${name}`);
    if (is_saved && this.#all.get() !== undefined) this.#spilled = 1;
  }

  get(key: string): Value | undefined {
    this.#touched?.add(key);
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) {
      this.#old.delete(key);
      this.set(key, old);
      return old;
    }
    if (this.#spilled === 0) return undefined;
    const row = this.#read.get(key) as { value: string } | undefined;
    if (row === undefined) return undefined;
    const value = JSON.parse(row.value) as Value;
    this.set(key, value);
    return value;
  }

  set(key: string, value: Value): void {
    this.#touched?.add(key);
    this.#young.set(key, value);
    if (this.#young.size >= this.#most / 2) this.#grow();
  }

  delete(key: string): void {
    this.#young.delete(key);
    this.#old.delete(key);
    if (this.#spilled > 0) this.#remove.run(key);
  }

  *entries(): Generator<[key: string, value: Value]> {
    yield* this.#young;
    for (const entry of this.#old) if (!this.#young.has(entry[0])) yield entry;
    if (this.#spilled === 0) return;
    for (const row of this.#all.iterate()) {
      const { key, value } = row as { key: string; value: string };
      if (!this.#young.has(key) && !this.#old.has(key)) yield [key, JSON.parse(value)];
    }
  }

  /** Writes the values that were used since the last flush. */
  flush(): void {
    for (const key of this.#touched ?? []) {
      const value = this.#young.get(key) ?? this.#old.get(key);
      if (value === undefined) continue;
      this.#write.run(key, JSON.stringify(value));
      this.#spilled += 1;
    }
    this.#touched?.clear();
  }

  #grow(): void {
    if (this.#old.size > 0) {
      if (this.#touched === null) this.#db.exec('BEGIN');
      for (const [key, value] of this.#old) if (!this.#young.has(key)) this.#write.run(key, JSON.stringify(value));
      if (this.#touched === null) this.#db.exec('COMMIT');
      this.#spilled += this.#old.size;
    }
    this.#old = this.#young;
    this.#young = new Map();
  }
}
