// Runs transactions on MongoDB and retries transient failures for a bounded time.
import { setTimeout as delay } from 'node:timers/promises';
import type { ClientSession, MongoClient } from 'mongodb';
import type { Logger } from 'pino';
import { TransactionTooLarge, WriteConflict } from '../../../readmodels/documents.ts';
import { TransactionScope } from '../transaction-scope.ts';
import { StoreUnavailable } from '../unavailable.ts';
import { isTransient, isUnknownCommit, portError } from './errors.ts';

const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 500;

export type Log = Pick<Logger, 'debug' | 'warn'>;

export class Transactions {
  readonly #client: MongoClient;
  readonly #log: Log;
  readonly #retry_for_ms: number;

  constructor(client: MongoClient, log: Log, retry_for_ms: number) {
    this.#client = client;
    this.#log = log;
    this.#retry_for_ms = retry_for_ms;
  }

  /**
   * Runs `work` in a transaction of `store`, and retries it when another writer was first or the server went away before
   * the commit. Throws `WriteConflict`, `TransactionTooLarge` or `StoreUnavailable` when retries have not helped.
   */
  async run<R>(store: object, work: (session: ClientSession, scope: TransactionScope) => Promise<R>): Promise<R> {
    const deadline = performance.now() + this.#retry_for_ms;
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await this.#attempt(store, work);
      if ('result' in outcome) return outcome.result;
      if (performance.now() > deadline) throw attempt === 1 ? tooLong(outcome.retry) : outcome.retry;
      this.#log.debug({ attempt, cause: String(outcome.retry) }, 'the transaction failed and is retried');
      await pause(attempt);
    }
  }

  async #attempt<R>(
    store: object,
    work: (session: ClientSession, scope: TransactionScope) => Promise<R>,
  ): Promise<{ result: R } | { retry: unknown }> {
    const session = this.#client.startSession();
    let is_committing = false;
    try {
      session.startTransaction({ readConcern: { level: 'snapshot' }, writeConcern: { w: 'majority' } });
      const scope = new TransactionScope(store);
      const result = await scope.run(() => work(session, scope));
      is_committing = true;
      await this.#commit(session);
      return { result };
    } catch (error) {
      // After a commit there is nothing to abort. The driver swallows errors of the abort.
      if (session.inTransaction()) await session.abortTransaction();
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
      if (isTransient(cause) && !(is_committing && isUnknownCommit(cause))) return { retry: portError(error) };
      throw portError(error);
    } finally {
      await session.endSession();
    }
  }

  /**
   * Repeats a commit whose answer was lost: the server answers whether it has committed. The time for that begins with the loss, however long
   * the work took: nobody else finds out what became of the transaction.
   */
  async #commit(session: ClientSession): Promise<void> {
    let deadline: number | undefined;
    for (let attempt = 1; ; attempt += 1) {
      try {
        await session.commitTransaction();
        return;
      } catch (error) {
        if (!isUnknownCommit(error)) throw error;
        this.#log.warn({ attempt, cause: String(error) }, 'the answer to a commit was lost: the commit is repeated');
        deadline ??= performance.now() + this.#retry_for_ms;
        if (performance.now() > deadline) {
          // No retry of the whole transaction: it may have been committed.
          throw new StoreUnavailable('it is not known whether the transaction was committed', { cause: error });
        }
      }
      await pause(attempt);
    }
  }
}

/**
 * Aborts the transactions that a client with this `appName` has left open. The server keeps them when the connection breaks, for
 * `transactionLifetimeLimitSeconds`, a minute by default. Of its own user's sessions a client needs no right to do this.
 */
export async function endTransactionsOf(client: MongoClient, app_name: string): Promise<void> {
  const admin = client.db('admin');
  const of_client = { appName: app_name, 'transaction.parameters': { $exists: true } };
  const open = admin.aggregate<{ lsid?: { id: unknown } }>(
    [{ $currentOp: { idleSessions: true } }, { $match: of_client }],
    { readConcern: { level: 'local' } }, // it takes no other
  );
  const sessions = (await open.toArray()).flatMap(({ lsid }) => (lsid ? [{ id: lsid.id }] : []));
  if (sessions.length > 0) await admin.command({ killSessions: sessions });
}

/** A single attempt has taken longer than the time for all: the server, whose limit may be shorter than ours, gave the transaction up. */
function tooLong(error: unknown): unknown {
  return error instanceof WriteConflict ? new TransactionTooLarge(error.message, { cause: error }) : error;
}

/** Exponential back-off with jitter, so that two colliding transactions do not collide again. */
function pause(attempt: number): Promise<void> {
  return delay(Math.random() * Math.min(FIRST_PAUSE_MS * 1.5 ** attempt, LONGEST_PAUSE_MS));
}
