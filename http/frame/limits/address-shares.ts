// Counts what clients hold of something that all share, such as connections or bytes: in all, and for each address. Decision 171 says why.
import { siteOf, subscriberOf } from '../../../net/cidr.ts';

/** A name that an address counts for, and how many times the limit of an address it may hold. */
export type Holder = readonly [name: string, times: number];

/** Some providers give a /48 to one customer, others share it among many. */
export const SITE_TIMES = 4;

/**
 * An IPv4 address counts for itself. An IPv6 address counts for its /48 and for its /64, the widest first.
 * @example holdersOf('192.0.2.7') // [['192.0.2.7', 1]]
 */
export function holdersOf(address: string): readonly [Holder, ...Holder[]] {
  const site = siteOf(address);
  const subscriber: Holder = [subscriberOf(address), 1];
  return site === null ? [subscriber] : [[site, SITE_TIMES], subscriber];
}

export interface ShareLimits {
  all: number;
  of_an_address: number;
}

export class AddressShares {
  readonly limits: ShareLimits;
  readonly #held = new Map<string, number>();
  #total = 0;

  constructor(limits: ShareLimits) {
    this.limits = limits;
  }

  get total(): number {
    return this.#total;
  }

  /** Whether the holders may hold so much more. A connection of a trusted proxy has no holders: only the limit of all applies. */
  hasRoom(holders: readonly Holder[], more: number): boolean {
    return this.#total + more <= this.limits.all && this.fullHolder(holders, more) === null;
  }

  /** The name of a holder that may not hold so much more; null without one. */
  fullHolder(holders: readonly Holder[], more: number): string | null {
    const full = holders.find(([name, times]) => this.heldBy(name) + more > times * this.limits.of_an_address);
    return full?.[0] ?? null;
  }

  heldBy(name: string): number {
    return this.#held.get(name) ?? 0;
  }

  /** `amount` is negative for what the holders give back. */
  add(holders: readonly Holder[], amount: number): void {
    this.#total += amount;
    for (const [name] of holders) {
      const held = this.heldBy(name) + amount;
      if (held > 0) this.#held.set(name, held);
      else this.#held.delete(name);
    }
  }
}
