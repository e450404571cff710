// Wakes the waiting consumers of this thread and of the process's other threads when a message was published. Consumers of
// other processes poll.
import { BroadcastChannel } from 'node:worker_threads';

export class WakeUps {
  readonly #channel: BroadcastChannel;
  readonly #waiting = new Map<string, Set<() => void>>();

  /** Instances with the same name wake each other. */
  constructor(name: string) {
    this.#channel = new BroadcastChannel(name);
    this.#channel.onmessage = (event) => this.#wake(String((event as MessageEvent).data));
    this.#channel.unref();
  }

  wake(topic: string): void {
    this.#wake(topic);
    this.#channel.postMessage(topic);
  }

  /** Calls `woken` at every wake-up of the topic. Returns a function that unsubscribes. */
  on(topic: string, woken: () => void): () => void {
    const waiting = this.#waiting.get(topic) ?? new Set();
    this.#waiting.set(topic, waiting.add(woken));
    return () => {
      waiting.delete(woken);
      if (waiting.size === 0 && this.#waiting.get(topic) === waiting) this.#waiting.delete(topic);
    };
  }

  /** Resolves at the next wake-up of the topic, after `limit_ms`, or when `signal` aborts. Returns whether the topic woke it. */
  async wait(topic: string, limit_ms: number, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const end = () => resolve(false);
    const timer = setTimeout(end, limit_ms);
    const off = this.on(topic, () => resolve(true));
    signal.addEventListener('abort', end);
    const is_woken = await promise;
    signal.removeEventListener('abort', end);
    off();
    clearTimeout(timer);
    return is_woken;
  }

  close(): void {
    this.#channel.close();
  }

  #wake(topic: string): void {
    for (const woken of [...(this.#waiting.get(topic) ?? [])]) woken();
  }
}
