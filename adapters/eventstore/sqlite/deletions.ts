// Deletes streams of the log. Deletions of one time share a transaction and so one fsync. A transaction first marks the streams as
// deleted, which hides their events at once, and then removes a bounded number of bytes, so that it blocks the event loop and other
// writers for milliseconds. A process that is killed in between leaves hidden events, which a repeated deletion removes.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { transaction } from '../../sqlite.ts';
import { categoryOf } from './group-commit.ts';

/** Limits of one transaction. */
const STREAMS = 200;
const EVENTS = 2_000;
const BYTES = 4 * 2 ** 20;

interface Deletion {
  stream: string;
  done: PromiseWithResolvers<void>;
}

export class Deletions {
  readonly #db: DatabaseSync;
  readonly #whenOpen: <R>(work: () => R) => Promise<R>;
  readonly #mark: StatementSync;
  readonly #events: StatementSync;
  readonly #remove: StatementSync;
  #pending: Deletion[] = [];
  #running = false;

  /** `whenOpen` runs its argument once the file is free. */
  constructor(db: DatabaseSync, whenOpen: <R>(work: () => R) => Promise<R>) {
    this.#db = db;
    this.#whenOpen = whenOpen;
    this.#mark = db.prepare(`
      INSERT INTO streams (name, category, deleted) VALUES (?, ?, 1)
      ON CONFLICT (name) DO UPDATE SET deleted = 1 RETURNING id`);
    this.#events = db.prepare(`
      SELECT position, octet_length(data) AS bytes FROM events WHERE stream_id = ? ORDER BY revision LIMIT ${EVENTS}`);
    this.#remove = db.prepare('DELETE FROM events WHERE position = ?');
  }

  /** Resolves when no event of the stream is left. */
  delete(stream: string): Promise<void> {
    const done = Promise.withResolvers<void>();
    this.#pending.push({ stream, done });
    if (!this.#running) void this.#run();
    return done.promise;
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#pending.length > 0) {
      // Deletions that are called in this turn share the transaction.
      await nextTurn();
      const some = this.#pending.splice(0, STREAMS);
      try {
        const ended = await this.#whenOpen(() => transaction(this.#db, () => this.#deleteSome(some)));
        for (const { done } of some.slice(0, ended)) done.resolve();
        this.#pending.unshift(...some.slice(ended));
      } catch (error) {
        for (const { done } of some) done.reject(error);
      }
    }
    this.#running = false;
  }

  /** Returns how many of the streams, from the first, have no event left. */
  #deleteSome(some: readonly Deletion[]): number {
    const ids = some.map(({ stream }) => (this.#mark.get(stream, categoryOf(stream)) as { id: number }).id);
    let events = 0;
    let bytes = 0;
    for (const [place, id] of ids.entries()) {
      const found = this.#events.all(id) as { position: number; bytes: number }[];
      for (const event of found) {
        if (events >= EVENTS || bytes >= BYTES) return place;
        this.#remove.run(event.position);
        events += 1;
        bytes += event.bytes;
      }
      if (found.length === EVENTS) return place;
    }
    return ids.length;
  }
}
