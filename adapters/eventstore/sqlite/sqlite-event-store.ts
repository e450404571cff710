// The event log in one SQLite file, which any number of threads and processes of one machine may open. Decision 2 says why.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type AppendResult,
  BEGINNING,
  type EventFilter,
  type EventStore,
  type ExpectedRevision,
  type LogSize,
  type NewEvent,
  type OrderedAppend,
  type Position,
  type RecordedEvent,
  type StoredLog,
  type SubscriptionBatch,
} from '../../../events/event-store.ts';
import { pause } from '../../../time/pause.ts';
import { truncateWal, WalTruncation } from '../../sqlite-erasure.ts';
import { Arrivals } from './arrivals.ts';
import { Checkpointer } from './checkpointer.ts';
import { connect, connectToRead, whenLogIsFree } from './connection.ts';
import { Deletions } from './deletions.ts';
import { checkStream, GroupCommit, type Order } from './group-commit.ts';
import { LogPages, StreamPages } from './pages.ts';
import { toPosition, toRowid } from './position.ts';
import { readAhead } from './read-ahead.ts';

export interface SqliteEventStoreOptions {
  /** Path of the file; the store makes the file and its folder when missing. */
  path: string;
  /** Length of the write-ahead log, in pages of 4 KiB, at which it is copied into the file. Default 16,000 (64 MB). */
  checkpoint_pages?: number;
  /** Whether a separate thread runs checkpoints, so that no commit blocks the caller's event loop for them. */
  checkpoint_thread?: boolean;
  /**
   * The least time between two commits. Appends in between share the next commit and its fsync, which blocks the thread.
   * For a thread that appends all the time without waiting for the answers. Default 0.
   */
  group_ms?: number;
  /** Opens a log that exists and changes nothing: appends and deletions fail. A thread of its own reads ahead for `readAll`. */
  read_only?: boolean;
  /** Limit of the file's pages, by which tests simulate a full disk. */
  max_pages?: number;
}

/**
 * The least time between two reads of a subscription at the end of the log, so that it delivers in batches what is
 * appended meanwhile. The first event after a pause is read at once.
 */
const SPACING_MS = 20;
/** The spacing after more than BUSY_READS reads in a row found events: larger batches under steady appends. */
const BUSY_SPACING_MS = 80;
const BUSY_READS = 6;

/** Rows that one look for deleted streams reads. */
const STREAMS_AT_ONCE = 10_000;

class EventStoreClosed extends Error {
  readonly code = 'event_store_closed';
  constructor() {
    super('the event log is closed');
  }
}

/**
 * Opens the event log at `path`. Rejects with `NewerSchema` (code `newer_schema`) when a later version of the service wrote
 * the file, with `NoLog` (code `no_log`) where `read_only` finds none. Its methods reject with `LogBusy`, `StorageFull` or `EventStoreClosed`.
 * @example const log = await openSqliteEventStore({ path: '.data/events.sqlite' })
 */
export async function openSqliteEventStore(options: SqliteEventStoreOptions): Promise<StoredLog> {
  const {
    path,
    checkpoint_pages = 16_000,
    checkpoint_thread = false,
    group_ms = 0,
    max_pages,
    read_only = false,
  } = options;
  if (read_only) return new SqliteEventStore(await connectToRead(path), path, group_ms, null, true);
  const db = await connect(path, checkpoint_pages);
  if (max_pages !== undefined) db.exec(`PRAGMA max_page_count = ${max_pages}`);
  if (!checkpoint_thread) return new SqliteEventStore(db, path, group_ms, null);
  db.exec('PRAGMA wal_autocheckpoint = 0');
  return new SqliteEventStore(db, path, group_ms, new Checkpointer(db, { path, restart_pages: checkpoint_pages }));
}

class SqliteEventStore implements StoredLog {
  readonly #db: DatabaseSync;
  readonly #path: string;
  readonly #read_ahead: boolean;
  readonly #arrivals: Arrivals;
  readonly #writer: GroupCommit;
  readonly #checkpointer: Checkpointer | null;
  readonly #streams: StreamPages;
  readonly #findRevision: StatementSync;
  readonly #findLastId: StatementSync;
  readonly #deletedStreams: StatementSync;
  readonly #lastRowid: StatementSync;
  readonly #pages: StatementSync;
  #deletions: Deletions | undefined;
  #truncation: WalTruncation | undefined;
  #closing: Promise<void> | undefined;

  constructor(db: DatabaseSync, path: string, group_ms: number, checkpointer: Checkpointer | null, read_ahead = false) {
    this.#db = db;
    this.#path = path;
    this.#read_ahead = read_ahead;
    this.#checkpointer = checkpointer;
    if (checkpointer === null) this.#truncation = new WalTruncation(() => this.#truncate());
    this.#arrivals = new Arrivals(path, () => this.#head());
    this.#writer = new GroupCommit(db, group_ms, () => {
      this.#arrivals.announce();
      this.#checkpointer?.checkpointIfLong();
    });
    this.#streams = new StreamPages(db);
    this.#findRevision = db.prepare(`
      SELECT max(revision) AS revision FROM events WHERE stream_id = (SELECT id FROM streams WHERE name = ?)`);
    this.#findLastId = db.prepare(`
      SELECT e.id FROM streams s CROSS JOIN events e ON e.stream_id = s.id
      WHERE s.name = ? AND NOT s.deleted ORDER BY e.revision DESC LIMIT 1`);
    this.#deletedStreams = db.prepare('SELECT name FROM streams WHERE id > ? AND id <= ? AND deleted');
    // The highest rowid ever given, even if its event was deleted, so that the head never moves behind a checkpoint.
    this.#lastRowid = db.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'events'");
    this.#pages = db.prepare(`
      SELECT page_count - freelist_count AS pages, page_size AS page_bytes, max_page_count AS most_pages
      FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size(), pragma_max_page_count()`);
  }

  async append(stream: string, expected: ExpectedRevision, events: readonly NewEvent[]): Promise<AppendResult> {
    this.#assertOpen();
    return this.#writer.append(stream, expected, events);
  }

  async appendInOrder(appends: readonly OrderedAppend[]): Promise<AppendResult[]> {
    this.#assertOpen();
    // The writer commits in the order of the calls.
    const order: Order = {};
    return Promise.all(
      appends.map(({ stream, expected, events }) => this.#writer.append(stream, expected, events, order)),
    );
  }

  async *deletedStreams(): AsyncGenerator<string, void> {
    const { last } = await this.#whenOpen(
      () => this.#db.prepare('SELECT coalesce(max(id), 0) AS last FROM streams').get() as { last: number },
    );
    for (let id = 0; id < last; id += STREAMS_AT_ONCE) {
      const found = await this.#whenOpen(() => this.#deletedStreams.all(id, id + STREAMS_AT_ONCE));
      for (const { name } of found as { name: string }[]) yield name;
      await nextTurn();
    }
  }

  async *readStream(
    stream: string,
    { from, direction = 'forwards', limit = Infinity }: Parameters<EventStore['readStream']>[1] = {},
  ): AsyncGenerator<RecordedEvent, void> {
    const range = { stream, first: 0, last: Number.MAX_SAFE_INTEGER };
    if (direction === 'forwards') range.first = from ?? 0;
    else range.last = from ?? range.last;
    for (let left = limit; left > 0; ) {
      const { events, is_last } = await this.#whenOpen(() => this.#streams.read(range, direction, left));
      left -= events.length;
      const is_end = is_last || left === 0;
      // A long read ends at the stream's revision of now, so that it ends even while others append.
      if (!is_end && direction === 'forwards' && range.last === Number.MAX_SAFE_INTEGER) {
        range.last = await this.#whenOpen(() => this.#lastRevision(stream));
      }
      for (const event of events) yield event;
      if (is_end) return;
      if (direction === 'forwards') range.first = events.at(-1)!.revision + 1;
      else range.last = events.at(-1)!.revision - 1;
      // Only between pages: most streams have one, and a turn of a busy event loop takes longer than reading it.
      await nextTurn();
    }
  }

  async lastId(stream: string): Promise<string | null> {
    return await this.#whenOpen(() => this.#lastId(stream));
  }

  lastIdNow(stream: string): string | null | undefined {
    try {
      this.#assertOpen();
      return this.#lastId(stream);
    } catch {
      return undefined;
    }
  }

  async *readAll({
    from = BEGINNING,
    filter,
    limit = Infinity,
  }: Parameters<EventStore['readAll']>[0] = {}): AsyncGenerator<RecordedEvent, void> {
    const end = await this.#whenOpen(() => this.#head());
    if (this.#read_ahead && limit === Infinity) {
      yield* readAhead({ path: this.#path, filter, from: toRowid(from), end });
      return;
    }
    const pages = await this.#whenOpen(() => new LogPages(this.#db, filter));
    let left = limit;
    for (let rowid = toRowid(from); left > 0 && rowid < end; ) {
      const { events, reached } = await this.#whenOpen(() => pages.read(rowid, end, left));
      for (const event of events) yield event;
      left -= events.length;
      rowid = reached;
      await nextTurn();
    }
  }

  async *subscribe({
    from = BEGINNING,
    filter,
    signal,
  }: {
    from?: Position;
    filter?: EventFilter;
    signal: AbortSignal;
  }): AsyncGenerator<SubscriptionBatch, void> {
    try {
      const pages = await this.#whenOpen(() => new LogPages(this.#db, filter));
      let rowid = toRowid(from);
      let reads = 0;
      while (!signal.aborted) {
        const head = await this.#whenOpen(() => this.#head());
        if (head <= rowid) {
          reads = 0;
          await this.#arrivals.wait(rowid, signal);
          continue;
        }
        reads++;
        const read_at = performance.now();
        const { events, reached } = await this.#whenOpen(() => pages.read(rowid, head));
        if (signal.aborted) return;
        rowid = reached;
        yield { events, position: toPosition(reached) };
        const spacing_ms = reads > BUSY_READS ? BUSY_SPACING_MS : SPACING_MS;
        const early_ms = reached === head ? spacing_ms - (performance.now() - read_at) : 0;
        if (early_ms > 0) await pause(early_ms, signal);
        else await nextTurn();
      }
    } catch (error) {
      // Closing the store ends the subscription quietly, like `signal`.
      if (!(error instanceof EventStoreClosed)) throw error;
    }
  }

  async head(): Promise<Position> {
    return toPosition(await this.#whenOpen(() => this.#head()));
  }

  async size(): Promise<LogSize> {
    return this.#whenOpen(() => {
      const { pages, page_bytes, most_pages } = this.#pages.get() as Record<string, number>;
      return { bytes: pages! * page_bytes!, events: this.#head(), limit_bytes: most_pages! * page_bytes! };
    });
  }

  async deleteStream(stream: string): Promise<void> {
    this.#assertOpen();
    checkStream(stream);
    await (this.#deletions ??= new Deletions(this.#db, (work) => this.#whenOpen(work))).delete(stream);
    this.#truncation ??= new WalTruncation(() => this.#truncate());
    this.#truncation.afterDeletion();
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    // The waiting subscriptions wake, find the store closed, and end.
    this.#arrivals.wake();
    await this.#writer.settled();
    this.#truncation?.close();
    await this.#checkpointer?.close();
    this.#arrivals.close();
    this.#db.close();
  }

  #truncate(): boolean | Promise<boolean> {
    return this.#checkpointer === null ? truncateWal(this.#db) : this.#checkpointer.truncate();
  }

  /** -1 for a stream without events. */
  #lastRevision(stream: string): number {
    const { revision } = this.#findRevision.get(stream) as { revision: number | null };
    return revision ?? -1;
  }

  #lastId(stream: string): string | null {
    const last = this.#findLastId.get(stream) as { id: string } | undefined;
    return last?.id ?? null;
  }

  #head(): number {
    const row = this.#lastRowid.get() as { seq: number } | undefined;
    return row?.seq ?? 0;
  }

  /** Runs `work` once no other connection locks the file; throws `EventStoreClosed` after `close`. */
  #whenOpen<R>(work: () => R): Promise<R> {
    return whenLogIsFree(() => {
      this.#assertOpen();
      return work();
    });
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new EventStoreClosed();
  }
}
