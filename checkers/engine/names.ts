// The checks whose names are not known yet. They take no slot: a name server that is slow, or a zone that never answers, keeps
// no request waiting. Owners share the lookups in turn, and one check of each host waits for its name.
import type { CheckInHand } from './check-in-hand.ts';
import type { Resolver, Vetted } from './resolver.ts';
import { Scheduler } from './scheduler.ts';

/** Names that are looked up at a time. Zones that never answer hold each for some ten seconds. */
const NAMES_AT_ONCE = 1024;

export class Names {
  readonly #resolver: Resolver;
  readonly #resolved: (check: CheckInHand, vetted: Vetted) => void;
  readonly #scheduler = new Scheduler<CheckInHand>(NAMES_AT_ONCE, () => 1);

  /** `resolved` is called once for each check that was added, also for one that was removed while its name was looked up. */
  constructor(resolver: Resolver, resolved: (check: CheckInHand, vetted: Vetted) => void) {
    this.#resolver = resolver;
    this.#resolved = resolved;
  }

  /** Number of names that wait for a lookup. */
  get waiting(): number {
    return this.#scheduler.startable;
  }

  add(check: CheckInHand, first: boolean): void {
    this.#scheduler.add(check, first);
  }

  remove(check: CheckInHand): void {
    this.#scheduler.remove(check);
  }

  /** Looks up as many names as it may. */
  start(): void {
    for (let check = this.#scheduler.next(); check !== undefined; check = this.#scheduler.next()) {
      const asked = check;
      this.#resolver.resolve(asked.host, (vetted) => {
        this.#scheduler.release(asked);
        this.#resolved(asked, vetted);
      });
    }
  }

  /** The caller runs it regularly. */
  sweep(): void {
    this.#scheduler.sweep(false);
  }
}
