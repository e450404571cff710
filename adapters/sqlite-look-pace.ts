// Paces the looks for what other processes have written to a SQLite file: short intervals while looks find something, long ones
// after a second in which they found nothing. What this process writes itself its threads report to each other at once.

const BUSY_MS = 20;
const CALM_MS = 100;
const CALM_AFTER_MS = 1_000;

export class LookPace {
  #found_at = performance.now();

  /** A look has found something that no thread of this process had reported. */
  found(): void {
    this.#found_at = performance.now();
  }

  /** The time until the next look, in ms. */
  get interval_ms(): number {
    return performance.now() - this.#found_at < CALM_AFTER_MS ? BUSY_MS : CALM_MS;
  }
}
