// Wakes the subscriptions of one store when the log has grown: at once for appends of this process, in any thread, and
// within the polling interval for those of other processes, and where appends come one upon the other.
import { realpathSync } from 'node:fs';
import { BroadcastChannel } from 'node:worker_threads';

const POLL_MS = 20;

export class Arrivals {
  readonly #head: () => number;
  readonly #channel: BroadcastChannel;
  /** The subscriptions that wait, each by what wakes it, with the rowid after which it waits. */
  readonly #waiting = new Map<() => void, number>();
  #poll: NodeJS.Timeout | undefined;
  #announced_at = Number.NEGATIVE_INFINITY;

  /** `head`: the rowid of the log's last event now. */
  constructor(path: string, head: () => number) {
    this.#head = head;
    this.#channel = new BroadcastChannel(`event log ${realpathSync(path)}`);
    this.#channel.onmessage = () => this.wake();
    // It would keep a process alive that has nothing to wait for; the poll of a waiting subscription does that.
    this.#channel.unref();
  }

  /** To be called after each commit that appended. */
  announce(): void {
    this.wake();
    const now = performance.now();
    // Who waits in another thread finds it by polling, as soon as a message to each would be worth its cost.
    if (now - this.#announced_at < POLL_MS) return;
    this.#announced_at = now;
    this.#channel.postMessage(null);
  }

  /** Returns when there may be events after the rowid, or `signal` aborts. The caller looks at the log again. */
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

  /** Wakes those that wait for what is at or before `head`; all of them unless told. */
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
      // Not lost: those who are woken look at the log themselves, and wait or fail with it.
      return Number.POSITIVE_INFINITY;
    }
  }

  #stopPolling(): void {
    clearInterval(this.#poll);
    this.#poll = undefined;
  }
}
