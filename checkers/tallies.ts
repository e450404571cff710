// What the checker of a process counts, in shared memory. The thread that serves the metrics reads it, also when the checker's thread
// hangs; a thread that replaces another one continues with its counts.
import { VERDICTS, type Verdict } from '../events/checks.ts';

/** Numbers that only grow. */
const COUNTS = ['host_back_offs', ...VERDICTS] as const;
/** Numbers as they are now. */
const LEVELS = ['urls_in_flight', 'urls_waiting', 'hosts_held'] as const;
type Count = (typeof COUNTS)[number];
type Level = (typeof LEVELS)[number];

const NAMES: readonly (Count | Level)[] = [...COUNTS, ...LEVELS];
const PLACES = new Map(NAMES.map((name, place) => [name, place] as const));

export class Tallies {
  readonly memory: SharedArrayBuffer;
  readonly #numbers: BigInt64Array;

  /** `memory`: of the tallies of another thread. */
  constructor(memory = new SharedArrayBuffer(NAMES.length * BigInt64Array.BYTES_PER_ELEMENT)) {
    this.memory = memory;
    this.#numbers = new BigInt64Array(memory);
  }

  count(name: Exclude<Count, Verdict>): void {
    Atomics.add(this.#numbers, PLACES.get(name)!, 1n);
  }

  checked(verdict: Verdict): void {
    Atomics.add(this.#numbers, PLACES.get(verdict)!, 1n);
  }

  level(levels: Readonly<Record<Level, number>>): void {
    for (const name of LEVELS) Atomics.store(this.#numbers, PLACES.get(name)!, BigInt(levels[name]));
  }

  read(name: Count | Level): number {
    return Number(Atomics.load(this.#numbers, PLACES.get(name)!));
  }
}
