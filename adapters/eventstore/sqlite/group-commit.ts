// Writes the log. Appends of one turn of the event loop, or of a few milliseconds, share one transaction and so one fsync.
// Each append succeeds or conflicts on its own, in the order of the calls.
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import {
  type AppendResult,
  AppendTooLarge,
  type ExpectedRevision,
  MAX_APPEND_BYTES,
  MAX_APPEND_EVENTS,
  type NewEvent,
} from '../../../events/event-store.ts';
import { Appends, type Committed, type Row, type StoredAppend } from './appends.ts';
import type { Committer } from './committer.ts';
import { whenLogIsFree } from './connection.ts';

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
/** A larger group takes longer to send to another thread than to commit. */
const MOST_SENT_CHARS = 2 ** 20;

interface Append extends StoredAppend {
  chars: number;
  order: Order | null;
  done: PromiseWithResolvers<AppendResult>;
}
/** Shared by appends that are to be made in an order: after an error of one, those behind it are not made. */
export interface Order {
  broken?: { by: unknown };
}

/** Calls `then` after the time, unless what it returns is called before. */
type Later = (then: () => void, ms: number) => () => void;
const inTime: Later = (then, ms) => {
  const timer = setTimeout(then, ms);
  return () => clearTimeout(timer);
};

export interface GroupCommitOptions {
  /** Commits the groups of a run in another thread. Without one this thread commits all. */
  committer?: Pick<Committer, 'commit'> | null;
  later?: Later;
  /** Milliseconds that never go back. */
  monotonic?: () => number;
}

export class GroupCommit {
  readonly #appends: Appends;
  readonly #appended: () => void;
  readonly #committer: Pick<Committer, 'commit'> | null;
  readonly #group_ms: number;
  readonly #later: Later;
  readonly #monotonic: () => number;
  #committed_at = Number.NEGATIVE_INFINITY;
  #commits_in_a_row = 0;
  #last_appends = 0;
  #pending: Append[] = [];
  /** Ends the wait for further appends. */
  #enough: (() => void) | null = null;
  #writing: Promise<void> | undefined;

  /** Calls `appended` after each commit that added events. `group_ms`: the least time between two commits. */
  constructor(db: DatabaseSync, group_ms: number, appended: () => void, options: GroupCommitOptions = {}) {
    const { committer = null, later = inTime, monotonic = () => performance.now() } = options;
    this.#appends = new Appends(db);
    this.#later = later;
    this.#monotonic = monotonic;
    this.#group_ms = group_ms;
    this.#appended = appended;
    this.#committer = committer;
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
      const since_ms = this.#monotonic() - this.#committed_at;
      this.#commits_in_a_row = since_ms < BUSY_SPACING_MS ? this.#commits_in_a_row + 1 : 0;
      if (since_ms < this.#group_ms) await delay(this.#group_ms - since_ms);
      else if (this.#commits_in_a_row > COMMITS_AT_ONCE) await this.#asMany(BUSY_SPACING_MS - since_ms);
      // What is appended in this turn of the event loop comes along.
      await nextTurn();
      const group = this.#takeGroup();
      this.#last_appends = group.length;
      await this.#commit(group);
      this.#committed_at = this.#monotonic();
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
    let made: Committed;
    try {
      made = (await this.#sent(group)) ?? (await whenLogIsFree(() => this.#appends.commit(group)));
      group.forEach(({ done }, index) => {
        done.resolve(made.results[index]!);
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
    if (made.has_grown) this.#appended();
  }

  /** What the other thread has made of the group; null where this one has to commit it. A lone append is committed sooner here. */
  async #sent(group: readonly Append[]): Promise<Committed | null> {
    if (this.#committer === null || group.length === 1 || this.#commits_in_a_row < COMMITS_AT_ONCE) return null;
    if (group.reduce((sum, { chars }) => sum + chars, 0) > MOST_SENT_CHARS) return null;
    const made = await this.#committer.commit(group);
    // The thread may have ended behind its commit.
    if (made === null) this.#appended();
    return made;
  }
}

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
