// What a test can make the server do wrong, and what it can see of what reached the server.
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * What a server of a cluster, or one that has just started, answers instead of doing its work. `aborted` is what an
 * append gets that is repeated before its first write was replicated.
 */
export type Refusal = 'not_leader' | 'no_leader_info' | 'not_ready' | 'aborted';

export class Faults {
  /** Every call is taken and never answered while this is true; what came meanwhile is answered when it is false again. */
  #speaking: PromiseWithResolvers<void> | null = null;
  /** Of the next appends this many are made and not acknowledged. */
  lost_acknowledgements = 0;
  /** Whether a lost acknowledgement also breaks the connections; else the call stays open without an answer. */
  breaks_connections = false;
  /** Waited before each answer. */
  delay_ms = 0;
  /** Appends of more bytes than this are refused, as by the real server's `--max-append-size`, which is so by default. */
  max_append_bytes = 2 ** 20;
  /** The next calls that append, read or delete are each refused with the next one of these. */
  refusals: Refusal[] = [];

  /** Appends that reached the log, repeated ones included. */
  appends_received = 0;
  /** Pages of the log that subscriptions took while they were not live. */
  page_reads = 0;
  /** Reads and subscriptions that go on. */
  reads_open = 0;
  #readsChanged = Promise.withResolvers<void>();

  set silent(silent: boolean) {
    if (silent) this.#speaking ??= Promise.withResolvers<void>();
    else {
      this.#speaking?.resolve();
      this.#speaking = null;
    }
  }

  get silent(): boolean {
    return this.#speaking !== null;
  }

  readBegan(): void {
    this.reads_open += 1;
    this.#readsChanged.resolve();
    this.#readsChanged = Promise.withResolvers();
  }

  readEnded(): void {
    this.reads_open -= 1;
    this.#readsChanged.resolve();
    this.#readsChanged = Promise.withResolvers();
  }

  /** Resolves when so many reads and subscriptions go on. */
  async readsOpen(count: number): Promise<void> {
    while (this.reads_open !== count) await this.#readsChanged.promise;
  }

  /** Awaited before each answer. */
  async beforeAnswer(): Promise<void> {
    if (this.delay_ms > 0) await sleep(this.delay_ms);
    while (this.#speaking !== null) await this.#speaking.promise;
  }
}
