// The life of one transaction as its callback sees it: open, failed by a write, or over.
import { AsyncLocalStorage } from 'node:async_hooks';
import { WriteConflict } from '../../readmodels/documents.ts';

/** A transaction that takes longer is undone: others wait for it. MongoDB's own limit. */
const TRANSACTION_LIMIT_MS = 60_000;

export class TransactionScope {
  static readonly #current = new AsyncLocalStorage<TransactionScope>();
  readonly #store: object;
  #state: 'open' | 'failed' | 'over' = 'open';
  #failure: unknown;

  constructor(store: object) {
    this.#store = store;
  }

  /** Throws when called by a callback of an open transaction of `store`: it would wait for itself. */
  static refuseWithin(store: object): void {
    const scope = TransactionScope.#current.getStore();
    if (scope && scope.#store === store && scope.#state !== 'over') {
      throw new Error('inside a transaction, write through the collections that it was given');
    }
  }

  /** Throws what failed the transaction, or that it is over. */
  check(): void {
    if (this.#state === 'over') throw new Error('the transaction is over: its collections cannot be used any more');
    if (this.#state === 'failed') throw this.#failure;
  }

  /** Nothing is committed from now on, even when the callback catches the error: a write is all or none. */
  fail(error: unknown): void {
    if (this.#state !== 'open') return;
    this.#state = 'failed';
    this.#failure = error;
  }

  /** Calls `callback` and gives its result; throws what it threw, or what failed the transaction meanwhile. */
  async run<R>(callback: () => Promise<R>): Promise<R> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(
      () => reject(new WriteConflict(`a transaction of more than ${TRANSACTION_LIMIT_MS} ms was undone`)),
      TRANSACTION_LIMIT_MS,
    );
    try {
      const result = await Promise.race([TransactionScope.#current.run(this, callback), late]);
      this.check();
      return result;
    } finally {
      clearTimeout(timer);
      this.#state = 'over';
    }
  }
}
