// Watches one process manager: its failures, the age of its oldest work, and what it has put off, for the heartbeat of the role.
import { storeFaultOf } from '../events/store-faults.ts';
import { DependencyFault } from '../roles/dependencies.ts';
import type { ManagerName, ManagerSign } from '../roles/managers.ts';

export class ManagerWatch {
  readonly name: ManagerName;
  readonly #now: () => number;
  #failures = 0;
  #failing_since: number | null = null;
  #oldest_since: number | null = null;
  #put_off = 0;
  #reason: string | null = null;
  #sent: { taken: number; refused: number } | null = null;

  /** `monotonic`: milliseconds that never go back. */
  constructor(name: ManagerName, monotonic: () => number) {
    this.name = name;
    this.#now = monotonic;
  }

  /** A pass succeeded. */
  passed(): void {
    this.#failing_since = null;
    if (this.#put_off === 0) this.#reason = null;
  }

  /** A pass failed. */
  failed(error: unknown): void {
    this.#failing_since ??= this.#now();
    this.itemFailed(error);
  }

  /** The work for an item failed, and others were not held up. */
  itemFailed(error: unknown): void {
    this.#failures++;
    this.#reason = reasonOf(error);
  }

  /** What waits after a pass. `oldest_ms`: how long the oldest item waits; null: none does. */
  waits(oldest_ms: number | null, put_off: number): void {
    this.#oldest_since = oldest_ms === null ? null : this.#now() - oldest_ms;
    this.#put_off = put_off;
  }

  /** A receiver answered what was sent to it. */
  sent(is_taken: boolean): void {
    const { taken, refused } = this.#sent ?? { taken: 0, refused: 0 };
    this.#sent = is_taken ? { taken: taken + 1, refused } : { taken, refused: refused + 1 };
  }

  sign(): ManagerSign {
    const now = this.#now();
    const since = (at: number | null) => (at === null ? null : Math.max(0, Math.round(now - at)));
    const failing_ms = since(this.#failing_since);
    return {
      ...{ name: this.name, failures: this.#failures, failing_ms, put_off: this.#put_off, reason: this.#reason },
      ...(this.#sent && { sent: this.#sent }),
      // What a pass that fails would have found waits at least since it fails.
      oldest_pending_ms: Math.max(since(this.#oldest_since) ?? 0, failing_ms ?? 0),
    };
  }
}

/** Messages may name addresses and passwords. */
function reasonOf(error: unknown): string | null {
  const [first] = error instanceof AggregateError ? error.errors : [error];
  if (first instanceof DependencyFault) return first.message;
  const fault = storeFaultOf(first);
  if (fault !== null) return fault === 'storage_full' ? 'there is no room to write' : 'a store does not answer';
  const { code, cause } = first as { code?: unknown; cause?: { code?: unknown } };
  const known = code ?? cause?.code;
  return typeof known === 'string' ? known : null;
}
