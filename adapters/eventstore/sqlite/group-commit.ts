// Writes the log. Appends of one turn of the event loop, or of a few milliseconds, share one transaction and so one fsync.
// Each append succeeds or conflicts on its own, in the order of the calls.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import {
  type AppendResult,
  AppendTooLarge,
  type ExpectedRevision,
  MAX_APPEND_BYTES,
  MAX_APPEND_EVENTS,
  type NewEvent,
} from '../../../events/event-store.ts';
import { transaction } from '../../sqlite.ts';
import { whenLogIsFree } from './connection.ts';
import { toPosition } from './position.ts';

const MAX_STREAM_CHARS = 512;
/** Limits of one transaction. Further appends wait for the next one, so that other writers get a turn. */
const GROUP_EVENTS = 5_000;
const GROUP_CHARS = 32 * 2 ** 20;
/**
 * Commits that follow each other within BUSY_SPACING_MS form a run, because each costs an fsync whatever its size. From the COMMITS_AT_ONCE-th
 * of a run on, a commit waits until as many appends have come as the one before took, and no longer than BUSY_SPACING_MS after it: who awaits
 * each append before the next waits for nobody, and many who do are awaited together.
 */
const BUSY_SPACING_MS = 15;
const COMMITS_AT_ONCE = 8;
/** Rows of one INSERT: executing a statement costs more than adding a row. */
const ROWS = 10;

interface Append {
  stream: string;
  expected: ExpectedRevision;
  rows: Row[];
  chars: number;
  order: Order | null;
  done: PromiseWithResolvers<AppendResult>;
}
/** Shared by appends that are to be made in an order: after an error of one, those behind it are not made. */
export interface Order {
  broken?: { by: unknown };
}
interface Row {
  id: string;
  type: string;
  metadata: string;
  data: string;
}

/** Calls `then` after the time, unless what it returns is called before. */
type Later = (then: () => void, ms: number) => () => void;
const inTime: Later = (then, ms) => {
  const timer = setTimeout(then, ms);
  return () => clearTimeout(timer);
};

export class GroupCommit {
  readonly #db: DatabaseSync;
  readonly #appended: () => void;
  readonly #findStream: StatementSync;
  readonly #createStream: StatementSync;
  readonly #eventsAfter: StatementSync;
  readonly #insertOne: StatementSync;
  readonly #insertMany: StatementSync;
  readonly #group_ms: number;
  readonly #later: Later;
  #committed_at = Number.NEGATIVE_INFINITY;
  #commits_in_a_row = 0;
  #last_appends = 0;
  #pending: Append[] = [];
  /** Ends the wait for further appends. */
  #enough: (() => void) | null = null;
  #writing: Promise<void> | undefined;

  /** Calls `appended` after each commit that added events. `group_ms`: the least time between two commits. `later`: for tests. */
  constructor(db: DatabaseSync, group_ms: number, appended: () => void, later: Later = inTime) {
    this.#db = db;
    this.#later = later;
    this.#group_ms = group_ms;
    this.#appended = appended;
    this.#findStream = db.prepare(`
      SELECT id, deleted, (SELECT max(revision) FROM events WHERE stream_id = streams.id) AS revision
      FROM streams WHERE name = ?`);
    this.#createStream = db.prepare('INSERT INTO streams (name, category) VALUES (?, ?) ON CONFLICT DO NOTHING');
    this.#eventsAfter = db.prepare(`
      SELECT position, id FROM events WHERE stream_id = ? AND revision > ? ORDER BY revision LIMIT ?`);
    const insert = (rows: number) =>
      db.prepare(`
        INSERT INTO events (stream_id, revision, type, id, metadata, data)
        VALUES ${Array(rows).fill('(?, ?, ?, ?, ?, ?)').join(', ')}`);
    this.#insertOne = insert(1);
    this.#insertMany = insert(ROWS);
  }

  /** Throws RangeError or AppendTooLarge for an append that can never succeed. The caller may change `events` after the call. */
  append(
    stream: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
    order: Order | null = null,
  ): Promise<AppendResult> {
    checkStream(stream);
    if (expected !== 'no_stream' && !(Number.isSafeInteger(expected) && expected >= 0)) {
      throw new RangeError(`not an expected revision: ${expected}`);
    }
    const rows = toRows(events);
    const chars = rows.reduce((sum, { type, data, metadata }) => sum + data.length + metadata.length + type.length, 0);
    // A UTF-16 unit takes at most three bytes, so only large appends need an exact count.
    if (chars * 3 > MAX_APPEND_BYTES) checkSize(stream, rows);
    const done = Promise.withResolvers<AppendResult>();
    this.#pending.push({ stream, expected, rows, chars, order, done });
    if (this.#pending.length >= this.#last_appends) this.#enough?.();
    this.#writing ??= this.#write();
    return done.promise;
  }

  /** Resolves when every append called so far is settled. */
  async settled(): Promise<void> {
    await this.#writing;
  }

  async #write(): Promise<void> {
    while (this.#pending.length > 0) {
      // The first append after a pause is committed at once, so that a small job does not wait for others.
      const since_ms = performance.now() - this.#committed_at;
      this.#commits_in_a_row = since_ms < BUSY_SPACING_MS ? this.#commits_in_a_row + 1 : 0;
      if (since_ms < this.#group_ms) await delay(this.#group_ms - since_ms);
      else if (this.#commits_in_a_row > COMMITS_AT_ONCE) await this.#asMany(BUSY_SPACING_MS - since_ms);
      // What is appended in this turn of the event loop comes along.
      await nextTurn();
      const group = this.#takeGroup();
      this.#last_appends = group.length;
      await this.#commit(group);
      this.#committed_at = performance.now();
    }
    this.#writing = undefined;
  }

  /** Resolves when as many appends wait as the last commit took, and after `most_ms`. */
  async #asMany(most_ms: number): Promise<void> {
    if (this.#pending.length >= this.#last_appends) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#later(resolve, most_ms);
    this.#enough = resolve;
    await promise;
    this.#enough = null;
    cancel();
  }

  #takeGroup(): Append[] {
    let events = 0;
    let chars = 0;
    const end = this.#pending.findIndex((append, index) => {
      events += append.rows.length;
      chars += append.chars;
      return index > 0 && (events > GROUP_EVENTS || chars > GROUP_CHARS);
    });
    return this.#pending.splice(0, end === -1 ? this.#pending.length : end);
  }

  async #commit(taken: Append[]): Promise<void> {
    const group = taken.filter(({ order, done }) => {
      if (order?.broken) done.reject(order.broken.by);
      return !order?.broken;
    });
    if (group.length === 0) return;
    let grown = false;
    try {
      const results = await whenLogIsFree(() => {
        grown = false;
        return transaction(this.#db, () =>
          group.map((append) => {
            const { result, wrote } = this.#decide(append);
            grown ||= wrote;
            return result;
          }),
        );
      });
      group.forEach((append, index) => {
        append.done.resolve(results[index]!);
      });
    } catch (error) {
      // One append of the group cannot be written. Retrying each alone spares the others, and is safe because ids are compared.
      if (group.length > 1) for (const append of group) await this.#commit([append]);
      else {
        const [{ order, done }] = group as [Append];
        if (order) order.broken = { by: error };
        done.reject(error);
      }
      return;
    }
    if (grown) this.#appended();
  }

  #decide({ stream, expected, rows }: Append): { result: AppendResult; wrote: boolean } {
    if (expected === 'no_stream') {
      const made = this.#createStream.run(stream, categoryOf(stream));
      if (made.changes === 1) return this.#wrote(Number(made.lastInsertRowid), 0, rows);
    }
    const found = this.#findStream.get(stream) as { id: number; deleted: number; revision: number | null } | undefined;
    const after = expected === 'no_stream' ? -1 : expected;
    // Some events of a deleted stream may still wait to be removed.
    const last = found?.deleted ? -1 : (found?.revision ?? -1);
    if (found && last === after && !found.deleted) return this.#wrote(found.id, after + 1, rows);
    if (found && last > after) {
      const there = this.#eventsAfter.all(found.id, after, rows.length) as { position: number; id: string }[];
      if (there.length === rows.length && rows.every((row, index) => row.id === there[index]!.id)) {
        const position = toPosition(there.at(-1)!.position);
        return { result: { ok: true, revision: after + rows.length, position }, wrote: false };
      }
    }
    return { result: { ok: false, conflict: true, actual: last === -1 ? 'no_stream' : last }, wrote: false };
  }

  #wrote(id: number, revision: number, rows: readonly Row[]): { result: AppendResult; wrote: true } {
    const position = toPosition(this.#insert(id, revision, rows));
    return { result: { ok: true, revision: revision + rows.length - 1, position }, wrote: true };
  }

  /** Returns the rowid of the last inserted event. */
  #insert(stream: number, revision: number, rows: readonly Row[]): number {
    let position: number | bigint = 0;
    let next = 0;
    for (; next + ROWS <= rows.length; next += ROWS) {
      const values = [];
      for (let index = next; index < next + ROWS; index += 1) {
        const { type, id, metadata, data } = rows[index]!;
        values.push(stream, revision + index, type, id, metadata, data);
      }
      position = this.#insertMany.run(...values).lastInsertRowid;
    }
    for (; next < rows.length; next += 1) {
      const { type, id, metadata, data } = rows[next]!;
      position = this.#insertOne.run(stream, revision + next, type, id, metadata, data).lastInsertRowid;
    }
    return Number(position);
  }
}

/** A stream's name up to the first dash. */
export const categoryOf = (stream: string): string => stream.split('-', 1)[0]!;

/** Throws RangeError for a name that is empty, too long, or would come back changed from SQLite. */
export function checkStream(stream: string): void {
  if (stream === '' || stream.length > MAX_STREAM_CHARS || !stream.isWellFormed() || stream.includes('\0')) {
    throw new RangeError(`not the name of a stream: ${JSON.stringify(stream.slice(0, 80))}`);
  }
}

function toRows(events: readonly NewEvent[]): Row[] {
  if (events.length < 1 || events.length > MAX_APPEND_EVENTS) {
    throw new RangeError(`an append takes 1 to ${MAX_APPEND_EVENTS} events, not ${events.length}`);
  }
  let shared: unknown;
  let metadata = '';
  return events.map((event) => {
    // The events of one command mostly share one metadata object, which is serialized once.
    if (event.metadata !== shared) {
      shared = event.metadata;
      metadata = toJson(event.metadata);
    }
    return { id: event.id, type: event.type, metadata, data: toJson(event.data) };
  });
}

function checkSize(stream: string, rows: readonly Row[]): void {
  let size_bytes = 0;
  for (const { type, data, metadata } of rows) {
    size_bytes += Buffer.byteLength(data) + Buffer.byteLength(metadata) + 2 * type.length;
  }
  if (size_bytes > MAX_APPEND_BYTES) throw new AppendTooLarge(stream, size_bytes);
}

/** `JSON.stringify` escapes lone surrogates and NUL, so that every value survives SQLite's UTF-8. */
function toJson(value: unknown): string {
  const json = JSON.stringify(value);
  if (json === undefined) throw new TypeError('an event needs data and metadata that are JSON');
  return json;
}
