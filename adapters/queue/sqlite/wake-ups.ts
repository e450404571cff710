// Wakes the waiting consumers of this thread and of the process's other threads when a message was published. Consumers of
// other processes poll.
import { ThreadSignal } from '../../thread-signal.ts';

export class WakeUps {
  readonly #name: string;
  readonly #signals = new Map<string, ThreadSignal>();
  readonly #waiting = new Map<string, Set<() => void>>();

  /** Instances with the same name wake each other. */
  constructor(name: string) {
    this.#name = name;
  }

  wake(topic: string): void {
    this.#wake(topic);
    this.#signal(topic).send();
  }

  /** Calls `woken` at every wake-up of the topic. Returns a function that unsubscribes. */
  on(topic: string, woken: () => void): () => void {
    this.#signal(topic);
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
    for (const signal of this.#signals.values()) signal.close();
  }

  #signal(topic: string): ThreadSignal {
    const signal = this.#signals.get(topic) ?? new ThreadSignal(`${this.#name} ${topic}`, () => this.#wake(topic));
    this.#signals.set(topic, signal);
    return signal;
  }

  #wake(topic: string): void {
    for (const woken of [...(this.#waiting.get(topic) ?? [])]) woken();
  }
}
