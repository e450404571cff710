// The table of broadcasts. Every listening instance reads its rows in order; `send` drops rows older than a minute.
import type { DatabaseSync } from 'node:sqlite';
import { transaction } from '../../sqlite.ts';

/** Lifetime of a broadcast. An instance whose thread is blocked for longer misses it. */
const BROADCAST_AGE_MS = 60_000;

export interface Broadcast {
  seq: number;
  subject: string;
  body: string;
}

export class Broadcasts {
  readonly #db: DatabaseSync;
  readonly #now: () => number;
  readonly #sql;

  constructor(db: DatabaseSync, now: () => number) {
    this.#db = db;
    this.#now = now;
    this.#sql = {
      send: db.prepare('INSERT INTO broadcasts (subject, sent_at, body) VALUES (?, ?, ?)'),
      dropOld: db.prepare('DELETE FROM broadcasts WHERE sent_at <= ?'),
      last: db.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'broadcasts'"),
      after: db.prepare('SELECT seq, subject, body FROM broadcasts WHERE seq > ? ORDER BY seq'),
    };
  }

  send(subject: string, body: string): void {
    const now = this.#now();
    transaction(this.#db, () => {
      this.#sql.dropOld.run(now - BROADCAST_AGE_MS);
      this.#sql.send.run(subject, now, body);
    });
  }

  /** Sequence number of the last broadcast ever sent; 0 when there was none. */
  last(): number {
    return Number(this.#sql.last.get()?.seq ?? 0);
  }

  after(seq: number): Broadcast[] {
    return this.#sql.after.all(seq) as unknown as Broadcast[];
  }
}
