// The queue in a SQLite file, which the threads and processes of one machine share.
import { resolve } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type { ConsumeOptions, Consumer, Delivery, Message, Queue } from '../../../checkers/queue.ts';
import { diskError, sqliteCode, whenFree } from '../../sqlite.ts';
import { truncateWal, WalTruncation } from '../../sqlite-erasure.ts';
import { LookPace } from '../../sqlite-look-pace.ts';
import {
  checkConsumeOptions,
  checkPull,
  checkSubject,
  encodeBody,
  encodeMessages,
  MAX_BODY_BYTES,
  QueueError,
} from '../limits.ts';
import { adoptBoot, type BootClock, machineClock } from './boot-clock.ts';
import { Broadcasts } from './broadcasts.ts';
import { openDatabase, stuck } from './database.ts';
import { Messages, type Settlement, type Taken } from './messages.ts';
import { WakeUps } from './wake-ups.ts';

/** How long acknowledgements wait to share a transaction. No other consumer gets the message meanwhile. */
const SETTLE_MS = 10;
/** How long a transaction waits for the lock; other transactions take milliseconds. */
const BUSY = { limit_ms: 5_000, stuck };

export interface SqliteQueueOptions {
  /** Path of the file; the queue makes the file and its folder when missing. */
  path: string;
  /** All instances on one file must share it. */
  clock?: BootClock;
  /** Limit of the file's pages, by which tests simulate a full disk. */
  max_pages?: number;
}

/**
 * Opens the queue at `path`. It and its methods reject with QueueError (`unavailable`: the file stayed locked) or
 * `StorageFull`.
 * @example const queue = await openSqliteQueue({ path: '.data/queue.sqlite' })
 */
export async function openSqliteQueue(options: SqliteQueueOptions): Promise<Queue> {
  const { path, clock = machineClock, max_pages } = options;
  const db = await openDatabase(path);
  try {
    if (max_pages !== undefined) db.exec(`PRAGMA max_page_count = ${max_pages}`);
    await whenFree(() => adoptBoot(db, clock), BUSY);
    return new SqliteQueue(db, resolve(path), clock.now);
  } catch (error) {
    db.close();
    throw diskError(error);
  }
}

class SqliteQueue implements Queue {
  readonly max_body_bytes = MAX_BODY_BYTES;
  readonly #db: DatabaseSync;
  readonly #messages: Messages;
  readonly #broadcasts: Broadcasts;
  readonly #wakeUps: WakeUps;
  readonly #truncation: WalTruncation;
  readonly #pace = new LookPace();
  readonly #closing = new AbortController();
  readonly #listeners = new Set<{ subject: string; after_seq: number; heard: (body: unknown) => void }>();
  #heard_seq = 0;
  #stopListening = () => {};
  #closes: Promise<void> | null = null;
  #settling: { settlement: Settlement; settled: PromiseWithResolvers<void> }[] = [];

  constructor(db: DatabaseSync, name: string, now: () => number) {
    this.#db = db;
    this.#messages = new Messages(db, now);
    this.#broadcasts = new Broadcasts(db, now);
    this.#wakeUps = new WakeUps(`queue ${name}`);
    this.#truncation = new WalTruncation(() => truncateWal(db));
  }

  async publish(subject: string, messages: readonly Message[]): Promise<void> {
    checkSubject(subject);
    const encoded = encodeMessages(messages);
    if (encoded.length === 0) return;
    await this.#use(() => this.#messages.publish(subject, encoded));
    this.#wakeUps.wake(subject);
  }

  async consume<Body>(subject: string, options: ConsumeOptions): Promise<Consumer<Body>> {
    checkSubject(subject);
    checkConsumeOptions(options);
    this.#checkOpen();
    const signal = AbortSignal.any([options.signal, this.#closing.signal]);
    return { pull: (limit, wait_ms) => this.#pull<Body>(subject, options, signal, limit, wait_ms) };
  }

  async #pull<Body>(
    subject: string,
    options: ConsumeOptions,
    signal: AbortSignal,
    limit: number,
    wait_ms: number,
  ): Promise<Delivery<Body>[]> {
    checkPull(limit, wait_ms);
    const until = performance.now() + wait_ms;
    let is_look = false;
    while (!signal.aborted) {
      const { ack_wait_ms, max_deliveries } = options;
      const take = () => (signal.aborted ? [] : this.#messages.take(subject, limit, ack_wait_ms, max_deliveries));
      const taken = await this.#use(take);
      if (taken.length > 0) {
        if (is_look) this.#pace.found();
        return taken.map((it) => this.#delivery(subject, it, options));
      }
      const left_ms = until - performance.now();
      if (left_ms <= 0) break;
      is_look = !(await this.#wakeUps.wait(subject, Math.min(left_ms, this.#pace.interval_ms), signal));
    }
    return [];
  }

  #delivery<Body>(subject: string, taken: Taken, { ack_wait_ms, max_deliveries }: ConsumeOptions): Delivery<Body> {
    const { seq, id, delivery } = taken;
    return {
      id,
      delivery,
      body: JSON.parse(taken.body),
      ack: () => this.#settle({ kind: 'ack', seq }),
      nak: async (delay_ms = 0) => {
        if (delivery >= max_deliveries) return this.#settle({ kind: 'drop', seq, delivery });
        await this.#settle({ kind: 'nak', seq, delivery, delay_ms });
        if (delay_ms === 0) this.#wakeUps.wake(subject);
      },
      working: () => this.#settle({ kind: 'working', seq, delivery, ack_wait_ms }),
    };
  }

  /** Queues the settlement; those of the next few milliseconds share a transaction. */
  #settle(settlement: Settlement): Promise<void> {
    const settled = Promise.withResolvers<void>();
    this.#settling.push({ settlement, settled });
    if (this.#settling.length === 1) setTimeout(() => void this.#settleAll(), SETTLE_MS);
    return settled.promise;
  }

  /** Never rejects: each settlement's own promise carries the error. */
  async #settleAll(): Promise<void> {
    const settling = this.#settling;
    this.#settling = [];
    if (settling.length === 0) return;
    try {
      await this.#use(() => this.#messages.settle(settling.map((it) => it.settlement)));
      this.#truncation.afterDeletion();
      for (const { settled } of settling) settled.resolve();
    } catch (error) {
      for (const { settled } of settling) settled.reject(error);
    }
  }

  async drop(subject: string): Promise<void> {
    checkSubject(subject);
    await this.#use(() => this.#messages.drop(subject));
    this.#truncation.afterDeletion();
  }

  async depth(subject: string): Promise<number> {
    checkSubject(subject);
    return this.#use(() => this.#messages.depth(subject));
  }

  async broadcast(subject: string, body: unknown): Promise<void> {
    checkSubject(subject);
    const json = encodeBody(body);
    await this.#use(() => this.#broadcasts.send(subject, json));
    this.#wakeUps.wake(BROADCAST);
  }

  async listen(subject: string, heard: (body: unknown) => void, signal: AbortSignal): Promise<void> {
    checkSubject(subject);
    const last_seq = await this.#use(() => this.#broadcasts.last());
    if (signal.aborted) return;
    const listener = { subject, after_seq: last_seq, heard };
    if (this.#listeners.size === 0) this.#startListening(last_seq);
    this.#listeners.add(listener);
    const leave = () => {
      if (this.#listeners.delete(listener) && this.#listeners.size === 0) this.#stopListening();
    };
    signal.addEventListener('abort', leave, { once: true, signal: this.#closing.signal });
  }

  #startListening(after_seq: number): void {
    this.#heard_seq = after_seq;
    let timer: NodeJS.Timeout;
    const lookLater = () => {
      timer = setTimeout(() => {
        if (this.#hear()) this.#pace.found();
        lookLater();
      }, this.#pace.interval_ms).unref();
    };
    lookLater();
    const off = this.#wakeUps.on(BROADCAST, () => this.#hear());
    this.#stopListening = () => {
      clearTimeout(timer);
      off();
    };
  }

  /** Passes each new row to the listeners once. A listener's error is the program's bug and stays uncaught. Returns whether there was one. */
  #hear(): boolean {
    const unheard = this.#unheard();
    for (const { seq, subject, body } of unheard) {
      this.#heard_seq = seq;
      for (const listener of [...this.#listeners]) {
        if (listener.subject !== subject || seq <= listener.after_seq) continue;
        queueMicrotask(() => this.#listeners.has(listener) && listener.heard(JSON.parse(body)));
      }
    }
    return unheard.length > 0;
  }

  /** Empty when the file cannot be read; the next look finds the rows. */
  #unheard(): ReturnType<Broadcasts['after']> {
    try {
      return this.#broadcasts.after(this.#heard_seq);
    } catch (error) {
      if (sqliteCode(error) === 0) throw error;
      return [];
    }
  }

  async close(): Promise<void> {
    this.#closes ??= this.#close();
    await this.#closes;
  }

  async #close(): Promise<void> {
    await this.#settleAll();
    this.#closing.abort();
    this.#stopListening();
    this.#listeners.clear();
    this.#wakeUps.close();
    this.#truncation.close();
    this.#db.close();
  }

  #checkOpen(): void {
    if (this.#closing.signal.aborted) throw new QueueError('closed', 'this instance of the queue is closed');
  }

  #use<T>(work: () => T): Promise<T> {
    return whenFree(() => {
      this.#checkOpen();
      return work();
    }, BUSY);
  }
}

/** Wake-up topic of broadcasts. It has spaces, so no subject is equal to it. */
const BROADCAST = 'a broadcast';
