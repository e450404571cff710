// The gaps that jobs want between their own requests to one host. Each holds one lane of the scheduler, so that other jobs go on to that host.
import type { Lane } from './lanes.ts';

export class Paces {
  /** When the next task of a lane may start. */
  readonly #held = new Map<Lane, number>();

  hold(lane: Lane, until: number): void {
    this.#held.set(lane, until);
  }

  /** Calls `freed` for each lane whose gap has passed. */
  sweep(now: number, freed: (lane: Lane) => void): void {
    for (const [lane, until] of this.#held) {
      if (until > now) continue;
      this.#held.delete(lane);
      freed(lane);
    }
  }
}
