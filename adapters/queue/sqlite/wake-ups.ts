// Tells whoever waits, in this thread and in the others of the process, that there is something to look for.
// Other processes are not told: who waits looks for itself every few milliseconds too.
import { BroadcastChannel } from 'node:worker_threads';

export class WakeUps {
  readonly #channel: BroadcastChannel;
  readonly #waiting = new Map<string, Set<() => void>>();

  /** Instances of one name wake each other. */
  constructor(name: string) {
    this.#channel = new BroadcastChannel(name);
    this.#channel.onmessage = (event) => this.#wake(String((event as MessageEvent).data));
    this.#channel.unref();
  }

  wake(topic: string): void {
    this.#wake(topic);
    this.#channel.postMessage(topic);
  }

  /** Calls `woken` at every wake-up of the topic until it is told not to. */
  on(topic: string, woken: () => void): () => void {
    const waiting = this.#waiting.get(topic) ?? new Set();
    this.#waiting.set(topic, waiting.add(woken));
    return () => {
      waiting.delete(woken);
      if (waiting.size === 0 && this.#waiting.get(topic) === waiting) this.#waiting.delete(topic);
    };
  }

  /** Until the next wake-up of the topic, but no longer than `limit_ms`. */
  async wait(topic: string, limit_ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const end = () => resolve();
    const timer = setTimeout(end, limit_ms);
    const off = this.on(topic, end);
    signal.addEventListener('abort', end);
    await promise;
    signal.removeEventListener('abort', end);
    off();
    clearTimeout(timer);
  }

  close(): void {
    this.#channel.close();
  }

  #wake(topic: string): void {
    for (const woken of [...(this.#waiting.get(topic) ?? [])]) woken();
  }
}
