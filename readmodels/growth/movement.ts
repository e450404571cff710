// Waits for the read models' position to move. Any number of waiters share one watch and one read: the store is read after a
// change, and once in a while in case the watch has missed one.
import type { Position } from '../../events/event-store.ts';

const LOOK_MS = 2_000;

export interface MovementOptions {
  /** Reads the position. Its errors go to all who wait. */
  read: () => Promise<Position>;
  /** The number of flips that the reads have noticed. */
  flips: () => number;
  /** Calls `changed` when the position may have moved. */
  watch: (changed: () => void) => void;
  /** Milliseconds that never go back. */
  monotonic: () => number;
}

export class Movement {
  readonly #options: MovementOptions;
  readonly #waiting = new Set<() => void>();
  #is_watching = false;
  /** Goes up with every change that was noticed. */
  #changes = 0;
  #read: { changes: number; position: Position } | null = null;
  #reading: Promise<void> | null = null;
  #look: NodeJS.Timeout | null = null;

  constructor(options: MovementOptions) {
    this.#options = options;
  }

  /** Resolves with a position other than `seen`; after a flip, after `timeout_ms`, and when `signal` aborts, with the last one that was read. */
  async from(seen: Position | null, timeout_ms: number, signal: AbortSignal): Promise<Position> {
    const { monotonic, flips } = this.#options;
    const before = flips();
    const until = monotonic() + timeout_ms;
    for (;;) {
      const position = await this.#position();
      const left_ms = until - monotonic();
      if (position !== seen || flips() !== before || left_ms <= 0 || signal.aborted) return position;
      await this.next(left_ms, signal);
    }
  }

  /** Resolves after the next change, after `timeout_ms`, or when `signal` aborts. */
  next(timeout_ms: number, signal?: AbortSignal): Promise<void> {
    this.#watch();
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        this.#waiting.delete(done);
        if (this.#waiting.size === 0) this.#stopLooking();
        resolve();
      };
      const timer = setTimeout(done, timeout_ms);
      signal?.addEventListener('abort', done);
      this.#waiting.add(done);
      this.#look ??= setTimeout(() => this.#changed(), LOOK_MS);
      if (signal?.aborted) done();
    });
  }

  async #position(): Promise<Position> {
    this.#watch();
    const noticed = this.#changes;
    while (this.#read === null || this.#read.changes < noticed) {
      this.#reading ??= this.#readOnce().finally(() => (this.#reading = null));
      await this.#reading;
    }
    return this.#read.position;
  }

  async #readOnce(): Promise<void> {
    // A change during the read makes its answer out of date.
    const changes = this.#changes;
    this.#read = { changes, position: await this.#options.read() };
  }

  #watch(): void {
    if (this.#is_watching) return;
    this.#is_watching = true;
    this.#options.watch(() => this.#changed());
  }

  #changed(): void {
    this.#changes += 1;
    this.#stopLooking();
    for (const wake of [...this.#waiting]) wake();
  }

  #stopLooking(): void {
    if (this.#look) clearTimeout(this.#look);
    this.#look = null;
  }
}
