// The table of messages. A message can be taken from its `due_at` on; taking it moves `due_at` to the end of its ack wait.
import type { DatabaseSync } from 'node:sqlite';
import { transaction } from '../../sqlite.ts';
import { DEDUPE_MS, MESSAGE_AGE_MS } from '../limits.ts';

/** A delivered message. `seq` is never reused, so a late acknowledgement of it cannot hit another message. */
export interface Taken {
  seq: number;
  id: string;
  body: string;
  delivery: number;
}

/** A consumer's answer to a delivered message. */
export type Settlement =
  | { kind: 'ack'; seq: number }
  | { kind: 'drop'; seq: number; delivery: number }
  | { kind: 'working'; seq: number; delivery: number; ack_wait_ms: number }
  | { kind: 'nak'; seq: number; delivery: number; delay_ms: number };

/** Free pages of 4 KiB that the file keeps for later messages; the queue gives further ones back to the file system. */
const KEPT_FREE_PAGES = 16_384;
const VACUUM_PAGES = 1_024;

export class Messages {
  readonly #db: DatabaseSync;
  readonly #now: () => number;
  readonly #sql;

  constructor(db: DatabaseSync, now: () => number) {
    this.#db = db;
    this.#now = now;
    this.#sql = {
      forgetId: db.prepare('DELETE FROM published_ids WHERE subject = ? AND id = ? AND published_at <= ?'),
      forgetIds: db.prepare(
        'DELETE FROM published_ids WHERE published_at <= ? AND seq IN (SELECT seq FROM published_ids ORDER BY seq LIMIT ?)',
      ),
      rememberId: db.prepare(
        'INSERT INTO published_ids (subject, id, published_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
      ),
      add: db.prepare(
        'INSERT INTO messages (subject, due_at, deliveries, held, published_at, id, body) VALUES (?, ?, 0, 0, ?, ?, ?)',
      ),
      dropOld: db.prepare(
        'DELETE FROM messages WHERE published_at <= ? AND seq IN (SELECT seq FROM messages ORDER BY seq LIMIT ?)',
      ),
      isDue: db.prepare('SELECT 1 FROM messages WHERE subject = ? AND due_at <= ? LIMIT 1'),
      due: db.prepare(
        'SELECT seq, id, body, deliveries FROM messages WHERE subject = ? AND due_at <= ? ORDER BY due_at, seq LIMIT ?',
      ),
      take: db.prepare('UPDATE messages SET due_at = ?, deliveries = deliveries + 1, held = 1 WHERE seq = ?'),
      ack: db.prepare('DELETE FROM messages WHERE seq = ?'),
      dropAll: db.prepare('DELETE FROM messages WHERE subject = ?'),
      drop: db.prepare('DELETE FROM messages WHERE seq = ? AND deliveries = ? AND held = 1'),
      nak: db.prepare('UPDATE messages SET due_at = ?, held = 0 WHERE seq = ? AND deliveries = ? AND held = 1'),
      working: db.prepare('UPDATE messages SET due_at = ? WHERE seq = ? AND deliveries = ? AND held = 1'),
      depth: db.prepare(
        `SELECT (SELECT count(*) FROM messages WHERE subject = :subject AND due_at <= :now)
              + (SELECT count(*) FROM messages WHERE subject = :subject AND due_at > :now AND held = 0) AS depth`,
      ),
      freePages: db.prepare('PRAGMA freelist_count'),
    };
  }

  /** Stores messages with new ids. Drops up to twice as many expired ids and messages, so that both tables stay bounded. */
  publish(subject: string, messages: readonly { id: string; body: string }[]): void {
    const now = this.#now();
    const forgotten = now - DEDUPE_MS;
    const remember = (id: string) => this.#sql.rememberId.run(subject, id, now).changes === 1;
    const forget = (id: string) => this.#sql.forgetId.run(subject, id, forgotten).changes === 1;
    transaction(this.#db, () => {
      this.#sql.forgetIds.run(forgotten, 2 * messages.length);
      this.#sql.dropOld.run(now - MESSAGE_AGE_MS, 2 * messages.length);
      for (const { id, body } of messages) {
        if (remember(id) || (forget(id) && remember(id))) this.#sql.add.run(subject, now, now, id, body);
      }
    });
  }

  /** Delivers up to `limit` due messages, the longest due first, and deletes due ones past `max_deliveries`. */
  take(subject: string, limit: number, ack_wait_ms: number, max_deliveries: number): Taken[] {
    const now = this.#now();
    // A read before the write lock: consumers poll often and mostly find nothing.
    if (!this.#sql.isDue.get(subject, now)) return [];
    return transaction(this.#db, () => {
      const taken: Taken[] = [];
      for (;;) {
        const due = this.#sql.due.all(subject, now, limit - taken.length);
        for (const row of due) {
          const seq = Number(row.seq);
          const delivery = Number(row.deliveries) + 1;
          if (delivery > max_deliveries) {
            this.#sql.ack.run(seq);
            continue;
          }
          this.#sql.take.run(now + ack_wait_ms, seq);
          taken.push({ seq, id: String(row.id), body: String(row.body), delivery });
        }
        if (taken.length === limit || due.length === 0) return taken;
      }
    });
  }

  settle(settlements: readonly Settlement[]): void {
    const now = this.#now();
    transaction(this.#db, () => {
      for (const it of settlements) {
        if (it.kind === 'ack') this.#sql.ack.run(it.seq);
        else if (it.kind === 'drop') this.#sql.drop.run(it.seq, it.delivery);
        else if (it.kind === 'nak') this.#sql.nak.run(now + it.delay_ms, it.seq, it.delivery);
        else this.#sql.working.run(now + it.ack_wait_ms, it.seq, it.delivery);
      }
    });
    this.#shrink();
  }

  drop(subject: string): void {
    this.#sql.dropAll.run(subject);
    this.#shrink();
  }

  depth(subject: string): number {
    return Number(this.#sql.depth.get({ subject, now: this.#now() })?.depth);
  }

  /** Gives free pages back to the file system, a few at a time. */
  #shrink(): void {
    const free_pages = Number(this.#sql.freePages.get()?.freelist_count);
    if (free_pages > KEPT_FREE_PAGES) this.#db.exec(`PRAGMA incremental_vacuum(${VACUUM_PAGES})`);
  }
}
