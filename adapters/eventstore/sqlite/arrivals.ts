// Wakes the subscriptions of one store when the log has grown: at once after an append by any thread of this process, and
// at the next look after an append by another process or in a burst of appends.
import { realpathSync } from 'node:fs';
import { LookPace } from '../../sqlite-look-pace.ts';
import { ThreadSignal } from '../../thread-signal.ts';

/** The least time between two signals to the other threads. */
const ANNOUNCE_MS = 20;

export class Arrivals {
  readonly #head: () => number;
  readonly #signal: ThreadSignal;
  /** Waiting subscriptions: each one's wake function, and the rowid after which it waits. */
  readonly #waiting = new Map<() => void, number>();
  readonly #pace = new LookPace();
  #timer: NodeJS.Timeout | undefined;
  #announced_at = Number.NEGATIVE_INFINITY;

  /** `head` reads the rowid of the log's last event. */
  constructor(path: string, head: () => number) {
    this.#head = head;
    // The signal alone does not keep the process alive; the timer of a waiting subscription does.
    this.#signal = new ThreadSignal(`event log ${realpathSync(path)}`, () => this.wake());
  }

  /** The writer calls this after each commit that appended events. */
  announce(): void {
    this.wake();
    const now = performance.now();
    // In a burst of appends the other threads look, which is cheaper than a signal to each thread after each commit.
    if (now - this.#announced_at < ANNOUNCE_MS) return;
    this.#announced_at = now;
    this.#signal.send();
  }

  /** Resolves when there may be events after `rowid`, or when `signal` aborts. The caller then reads the log again. */
  async wait(rowid: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.#look() > rowid) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = () => resolve();
    this.#waiting.set(wake, rowid);
    signal.addEventListener('abort', wake);
    if (this.#timer === undefined) this.#lookLater();
    await promise;
    signal.removeEventListener('abort', wake);
    this.#waiting.delete(wake);
    if (this.#waiting.size === 0) this.#stopLooking();
  }

  /** Wakes the subscriptions that wait after a rowid below `head`; without `head`, all of them. Returns whether it woke any. */
  wake(head = Number.POSITIVE_INFINITY): boolean {
    let has_woken = false;
    for (const [wake, rowid] of this.#waiting) {
      if (head <= rowid) continue;
      has_woken = true;
      wake();
    }
    return has_woken;
  }

  close(): void {
    this.#signal.close();
    this.#stopLooking();
  }

  #look(): number {
    try {
      return this.#head();
    } catch {
      // The woken subscriptions read the log themselves, and wait or fail with this error.
      return Number.POSITIVE_INFINITY;
    }
  }

  #lookLater(): void {
    this.#timer = setTimeout(() => {
      if (this.wake(this.#look())) this.#pace.found();
      this.#lookLater();
    }, this.#pace.interval_ms);
  }

  #stopLooking(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
