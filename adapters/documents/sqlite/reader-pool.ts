// A pool of threads that read the file of documents, because SQLite blocks the event loop of the thread that runs a query.
// Decision 24 says why.
import { Worker } from 'node:worker_threads';
import { ReadTooSlow } from '../../../readmodels/documents.ts';
import { diskError, isBusy } from '../../sqlite.ts';
import { StoreUnavailable } from '../unavailable.ts';
import type { ReadPlan, Rows } from './read-plan.ts';
import type { ReadAnswer, ReaderData, ReadMessage } from './reader-thread.ts';

export interface ReaderPoolOptions {
  path: string;
  /** At least one. With several, the pool keeps one free of heavy reads. */
  threads: number;
  /** How long a read may take, its wait for a thread included. */
  read_ms: number;
  /** A thread that has read nothing for this long ends: it takes 11 MB, and 40 ms to start again. */
  idle_ms?: number;
}

/** A reader thread needs a small heap: rows pass through it as text. */
const HEAP = { maxYoungGenerationSizeMb: 16, maxOldGenerationSizeMb: 128 };
const IDLE_MS = 30_000;
const MAX_WAITING = 10_000;
const MAX_ID = 2 ** 31 - 1;
const SQLITE_ERROR = 1;

interface Read {
  id: number;
  plan: ReadPlan;
  resolve(rows: Rows): void;
  reject(error: unknown): void;
}

interface Reader {
  worker: Worker;
  cancelled_id: Int32Array;
  running: Read | null;
  /** Ends the thread unless it runs a read. */
  idle: NodeJS.Timeout;
}

export class ReaderPool {
  readonly #options: ReaderPoolOptions;
  readonly #readers: (Reader | null)[];
  #waiting: Read[] = [];
  #last_id = 0;
  #closed = false;

  constructor(options: ReaderPoolOptions) {
    this.#options = options;
    this.#readers = Array.from({ length: options.threads }, () => null);
  }

  /** Runs a read. Cancels it and throws `ReadTooSlow` after `read_ms`, or the signal's reason when it aborts. */
  async run(plan: ReadPlan, signal?: AbortSignal): Promise<Rows> {
    if (this.#closed) throw new Error('the documents are closed');
    signal?.throwIfAborted();
    if (this.#waiting.length >= MAX_WAITING) throw new ReadTooSlow(`${MAX_WAITING} reads wait already`);
    const { promise, resolve, reject } = Promise.withResolvers<Rows>();
    this.#last_id = this.#last_id === MAX_ID ? 1 : this.#last_id + 1;
    const read: Read = { id: this.#last_id, plan, resolve, reject };
    const { read_ms } = this.#options;
    const timer = setTimeout(() => this.#giveUp(read, new ReadTooSlow(`a read took over ${read_ms} ms`)), read_ms);
    const onAbort = () => this.#giveUp(read, signal!.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    this.#waiting.push(read);
    this.#assign();
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    const readers = this.#readers.filter((reader) => reader !== null);
    for (const read of this.#waiting) read.reject(new Error('the documents are closed'));
    this.#waiting = [];
    for (const { cancelled_id, running } of readers) if (running) Atomics.store(cancelled_id, 0, running.id);
    await Promise.all(readers.map(({ worker }) => worker.terminate()));
  }

  #giveUp(read: Read, reason: unknown): void {
    this.#waiting = this.#waiting.filter((one) => one !== read);
    const reader = this.#readers.find((one) => one?.running === read);
    if (reader) Atomics.store(reader.cancelled_id, 0, read.id);
    read.reject(reason);
  }

  /** Gives each free thread the first waiting read that it may run. */
  #assign(): void {
    for (const place of this.#readers.keys()) {
      if (this.#waiting.length === 0) return;
      if (this.#readers[place]?.running) continue;
      const takes_heavy = place > 0 || this.#readers.length === 1;
      const next = this.#waiting.findIndex(({ plan }) => takes_heavy || !plan.is_heavy);
      if (next === -1) continue;
      const reader = (this.#readers[place] ??= this.#start(place));
      const [read] = this.#waiting.splice(next, 1);
      reader.running = read!;
      reader.worker.postMessage({ id: read!.id, plan: read!.plan } satisfies ReadMessage);
    }
  }

  #start(place: number): Reader {
    const cancelled_id = new Int32Array(new SharedArrayBuffer(4));
    const worker = new Worker(new URL('./reader-thread.ts', import.meta.url), {
      workerData: { path: this.#options.path, cancelled_id } satisfies ReaderData,
      resourceLimits: HEAP,
    });
    const idle = setTimeout(() => this.#endIdle(place, reader), this.#options.idle_ms ?? IDLE_MS).unref();
    const reader: Reader = { worker, cancelled_id, running: null, idle };
    worker.unref();
    worker.on('message', (answer: ReadAnswer) => this.#answered(reader, answer));
    worker.on('error', (cause) => this.#ended(place, reader, cause));
    worker.on('exit', () => this.#ended(place, reader, undefined));
    return reader;
  }

  #answered(reader: Reader, answer: ReadAnswer): void {
    const { running } = reader;
    reader.running = null;
    reader.idle.refresh();
    if ('values' in answer) running?.resolve(answer);
    else running?.reject(readError(answer.failed));
    this.#assign();
  }

  #endIdle(place: number, reader: Reader): void {
    if (reader.running !== null || this.#readers[place] !== reader) return;
    this.#readers[place] = null;
    void reader.worker.terminate();
  }

  /** The next read starts another thread. */
  #ended(place: number, reader: Reader, cause: unknown): void {
    if (this.#readers[place] !== reader) return;
    this.#readers[place] = null;
    reader.running?.reject(new StoreUnavailable('the thread that ran the read has ended', { cause }));
    if (!this.#closed) this.#assign();
  }
}

function readError({ message, errcode }: { message: string; errcode: number }): unknown {
  // A projection replaced the collection after the read was planned.
  if (errcode === SQLITE_ERROR && message.startsWith('no such')) return new StoreUnavailable(message);
  const thrown = Object.assign(new Error(message), { code: 'ERR_SQLITE_ERROR', errcode });
  return isBusy(thrown) ? new StoreUnavailable(message, { cause: thrown }) : diskError(thrown);
}
