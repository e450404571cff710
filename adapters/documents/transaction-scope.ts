// The state of one transaction: open, failed by a write, or over.
import { AsyncLocalStorage } from 'node:async_hooks';
import { TransactionTooLarge } from '../../readmodels/documents.ts';

/** A longer transaction is rolled back, because others wait for it. MongoDB has the same limit. */
const TRANSACTION_LIMIT_MS = 60_000;

export class TransactionScope {
  static readonly #current = new AsyncLocalStorage<TransactionScope>();
  readonly #store: object;
  readonly #limit_ms: number;
  #state: 'open' | 'failed' | 'over' = 'open';
  #failure: unknown;

  constructor(store: object, limit_ms = TRANSACTION_LIMIT_MS) {
    this.#store = store;
    this.#limit_ms = limit_ms;
  }

  /** Throws inside the callback of an open transaction of `store`, where a further transaction would wait for itself. */
  static refuseWithin(store: object): void {
    const scope = TransactionScope.#current.getStore();
    if (scope && scope.#store === store && scope.#state !== 'over') {
      throw new Error('inside a transaction, use the collections of the store that its callback received');
    }
  }

  /** Throws the error that failed the transaction, or an error when it is over. */
  check(): void {
    if (this.#state === 'over') throw new Error('the transaction has ended: its collections can no longer be used');
    if (this.#state === 'failed') throw this.#failure;
  }

  /** Dooms the transaction: it rolls back even when the callback catches the error. */
  fail(error: unknown): void {
    if (this.#state !== 'open') return;
    this.#state = 'failed';
    this.#failure = error;
  }

  /** Returns the callback's result. Throws the callback's error, or the error that failed the transaction meanwhile. */
  async run<R>(callback: () => Promise<R>): Promise<R> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(
      () => reject(new TransactionTooLarge(`the transaction took more than ${this.#limit_ms} ms and was rolled back`)),
      this.#limit_ms,
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
