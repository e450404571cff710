// One client and the rules of talking to a server that may be slow or away: a time limit for every answer, tries again
// with back-off for a bounded time, and an end to everything when the store is closed.
import { setTimeout as sleep } from 'node:timers/promises';
import { EventStoreDBClient } from '@eventstore/db-client';
import type { Logger } from 'pino';
import { EventStoreError, isPermanent } from './errors.ts';

export interface Limits {
  /** How long the server may take for an answer, or for the next event of a read. */
  answer_ms: number;
  /** After this long without an answer an append or read fails with code `unavailable`. Subscriptions never give up. */
  unavailable_after_ms: number;
  /** The waits before trying again: from the first, doubling, to the last; each is jittered down to its half. */
  backoff_ms: { first: number; last: number };
}

export interface Connection {
  client: EventStoreDBClient;
  limits: Limits;
  log: Logger;
  /** Aborts when the store is closed. */
  closed: AbortSignal;
  /**
   * Runs a request until it succeeds, fails for good, or `unavailable_after_ms` have passed.
   * @throws EventStoreError with code `unavailable` or `closed`; what the request throws when trying again cannot help.
   */
  request<T>(what: string, attempt: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export function connect(url: string, limits: Limits, log: Logger): Connection {
  const client = EventStoreDBClient.connectionString(url);
  // Appends go as calls of their own instead of over the client's one BatchAppend stream: that has no deadline, and all
  // clients of a process share its table of pending answers, so that an error on one stream loses the answers of another
  // and the first late one throws where nothing can catch it.
  Object.assign(client, { supports: async () => false });

  const closing = new AbortController();
  const waiting = new Set<(reason: Error) => void>();
  const closedError = () => new EventStoreError('closed', 'the event store is closed');

  /** The promise, or an error when it takes too long or the store is closed. */
  async function limited<T>(promise: Promise<T>): Promise<T> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(new Error(`no answer in ${limits.answer_ms} ms`)), limits.answer_ms);
    waiting.add(reject);
    try {
      return await Promise.race([promise, late]);
    } finally {
      clearTimeout(timer);
      waiting.delete(reject);
    }
  }

  return {
    client,
    limits,
    log,
    closed: closing.signal,

    async request(what, attempt) {
      const patience = new Patience(limits);
      for (;;) {
        if (closing.signal.aborted) throw closedError();
        try {
          return await limited(attempt());
        } catch (error) {
          if (closing.signal.aborted) throw closedError();
          if (isPermanent(error)) throw error;
          const wait_ms = patience.next(what, error);
          log.warn({ err: error, wait_ms }, `event store: ${what} failed, trying again`);
          await sleep(wait_ms, undefined, { signal: closing.signal }).catch(() => {
            throw closedError();
          });
        }
      }
    },

    async close() {
      if (closing.signal.aborted) return;
      closing.abort(closedError());
      for (const reject of waiting) reject(closedError());
      await Promise.race([client.dispose(), sleep(limits.answer_ms, undefined, { ref: false })]);
    },
  };
}

/** Counts tries and time since the last success, and says how long to wait before the next try. */
export class Patience {
  readonly #limits: Limits;
  #since = performance.now();
  #tries = 0;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Call on progress: the next failure is a first one again. */
  renew(): void {
    this.#since = performance.now();
    this.#tries = 0;
  }

  /**
   * The jittered wait before the next try of `what`.
   * @throws EventStoreError with code `unavailable` when there have been tries for long enough, unless `forever`.
   */
  next(what: string, cause: unknown, forever = false): number {
    const { backoff_ms, unavailable_after_ms } = this.#limits;
    const most = Math.min(backoff_ms.last, backoff_ms.first * 2 ** this.#tries);
    const wait_ms = Math.round(most * (0.5 + Math.random() / 2));
    this.#tries += 1;
    if (!forever && performance.now() + wait_ms - this.#since > unavailable_after_ms) {
      throw new EventStoreError('unavailable', `${what}: the event store is unavailable`, { cause });
    }
    return wait_ms;
  }
}
