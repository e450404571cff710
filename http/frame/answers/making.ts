// What an answer is made of, which its steps note before they read it: `Repeats` asks later whether it is still so.
import type { Unchanged } from '../../../events/unchanged.ts';

export class Making {
  /** The request that the answer is for. */
  readonly key: string;
  /** Null as soon as something cannot tell whether it is still so. */
  of: Unchanged[] | null = [];

  constructor(key: string) {
    this.key = key;
  }

  add(unchanged: Unchanged | null): void {
    if (unchanged) this.of?.push(unchanged);
    else this.of = null;
  }
}
