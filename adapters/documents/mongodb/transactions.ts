// Runs transactions on MongoDB and retries transient failures for a bounded time.
import { setTimeout as delay } from 'node:timers/promises';
import { type ClientSession, type MongoClient, MongoError } from 'mongodb';
import type { Logger } from 'pino';
import { TransactionScope } from '../transaction-scope.ts';
import { StoreUnavailable } from '../unavailable.ts';
import { isTransient, isUnknownCommit, portError } from './errors.ts';

const RETRY_FOR_MS = 15_000;
const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 500;

export type Log = Pick<Logger, 'debug' | 'warn'>;

export class Transactions {
  readonly #client: MongoClient;
  readonly #log: Log;

  constructor(client: MongoClient, log: Log) {
    this.#client = client;
    this.#log = log;
  }

  /**
   * Runs `work` in a transaction of `store`, and retries it when another writer was first or the server went away before
   * the commit. Throws `WriteConflict` or `StoreUnavailable` after 15 s of retries.
   */
  async run<R>(store: object, work: (session: ClientSession, scope: TransactionScope) => Promise<R>): Promise<R> {
    const deadline = performance.now() + RETRY_FOR_MS;
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await this.#attempt(store, work, deadline);
      if ('result' in outcome) return outcome.result;
      if (performance.now() > deadline) throw outcome.retry;
      this.#log.debug({ attempt, cause: String(outcome.retry) }, 'the transaction failed and is retried');
      await pause(attempt);
    }
  }

  async #attempt<R>(
    store: object,
    work: (session: ClientSession, scope: TransactionScope) => Promise<R>,
    deadline: number,
  ): Promise<{ result: R } | { retry: unknown }> {
    const session = this.#client.startSession();
    try {
      session.startTransaction({ readConcern: { level: 'snapshot' }, writeConcern: { w: 'majority' } });
      const scope = new TransactionScope(store);
      const result = await scope.run(() => work(session, scope));
      await this.#commit(session, deadline);
      return { result };
    } catch (error) {
      // After a commit there is nothing to abort. The driver swallows errors of the abort.
      if (session.inTransaction()) await session.abortTransaction();
      const cause = error instanceof Error && error.cause instanceof MongoError ? error.cause : error;
      if (isTransient(cause) && !isUnknownCommit(cause)) return { retry: portError(error) };
      throw portError(error);
    } finally {
      await session.endSession();
    }
  }

  /** Repeats a commit whose answer was lost: the server answers whether it has committed. */
  async #commit(session: ClientSession, deadline: number): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await session.commitTransaction();
        return;
      } catch (error) {
        if (!isUnknownCommit(error)) throw error;
        this.#log.warn({ attempt, cause: String(error) }, 'the answer to a commit was lost: the commit is repeated');
        if (performance.now() > deadline) {
          // No retry of the whole transaction: it may have been committed.
          throw new StoreUnavailable('it is not known whether the transaction was committed', { cause: error });
        }
      }
      await pause(attempt);
    }
  }
}

/** Exponential back-off with jitter, so that two colliding transactions do not collide again. */
function pause(attempt: number): Promise<void> {
  return delay(Math.random() * Math.min(FIRST_PAUSE_MS * 1.5 ** attempt, LONGEST_PAUSE_MS));
}
