// Wakes the subscriptions of one store when the log has grown: at once after an append by any thread of this process, and
// within the polling interval after an append by another process or in a burst of appends.
import { realpathSync } from 'node:fs';
import { BroadcastChannel } from 'node:worker_threads';

const POLL_MS = 20;

export class Arrivals {
  readonly #head: () => number;
  readonly #channel: BroadcastChannel;
  /** Waiting subscriptions: each one's wake function, and the rowid after which it waits. */
  readonly #waiting = new Map<() => void, number>();
  #poll: NodeJS.Timeout | undefined;
  #announced_at = Number.NEGATIVE_INFINITY;

  /** `head` reads the rowid of the log's last event. */
  constructor(path: string, head: () => number) {
    this.#head = head;
    this.#channel = new BroadcastChannel(`event log ${realpathSync(path)}`);
    this.#channel.onmessage = () => this.wake();
    // The channel alone does not keep the process alive; the polling timer of a waiting subscription does.
    this.#channel.unref();
  }

  /** The writer calls this after each commit that appended events. */
  announce(): void {
    this.wake();
    const now = performance.now();
    // In a burst of appends the other threads poll, which is cheaper than a message to each thread after each commit.
    if (now - this.#announced_at < POLL_MS) return;
    this.#announced_at = now;
    this.#channel.postMessage(null);
  }

  /** Resolves when there may be events after `rowid`, or when `signal` aborts. The caller then reads the log again. */
  async wait(rowid: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.#look() > rowid) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = () => resolve();
    this.#waiting.set(wake, rowid);
    signal.addEventListener('abort', wake);
    this.#poll ??= setInterval(() => this.wake(this.#look()), POLL_MS);
    await promise;
    signal.removeEventListener('abort', wake);
    this.#waiting.delete(wake);
    if (this.#waiting.size === 0) this.#stopPolling();
  }

  /** Wakes the subscriptions that wait after a rowid below `head`; without `head`, all of them. */
  wake(head = Number.POSITIVE_INFINITY): void {
    for (const [wake, rowid] of this.#waiting) if (head > rowid) wake();
  }

  close(): void {
    this.#channel.close();
    this.#stopPolling();
  }

  #look(): number {
    try {
      return this.#head();
    } catch {
      // The woken subscriptions read the log themselves, and wait or fail with this error.
      return Number.POSITIVE_INFINITY;
    }
  }

  #stopPolling(): void {
    clearInterval(this.#poll);
    this.#poll = undefined;
  }
}
