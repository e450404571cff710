// What this machine can do at present: how many requests it may have in flight, and whether files, memory, ports or names are
// missing. What the machine lacks keeps URLs waiting and is told; it decides none.
import { mostInFlight } from '../../net/open-files.ts';
import { canOpenFile } from './errors.ts';
import { DEFAULT_SETTINGS } from './limits.ts';
import { watchMemory } from './memory.ts';
import { Room } from './room.ts';
import { watchThread } from './thread-load.ts';
import type { EngineParts, EngineSettings } from './types.ts';
import { Width } from './width.ts';

const STARVED = 'the machine lacks files, memory or ports for requests';

export class Capacity {
  /** Limits the requests to those for which this machine has files, memory and ports. */
  readonly room: Room;
  /** Null when a setting fixes the number of slots. */
  readonly #width: Width | null;
  readonly #starved: EngineParts['starved'];
  readonly #isBusy: () => boolean;
  readonly #isShortOfMemory: () => boolean;
  /** Why no name can be looked up; null while names can. */
  #names_away: string | null = null;

  constructor(settings: EngineSettings, parts: EngineParts, now: () => number) {
    this.#starved = parts.starved;
    this.#isBusy = parts.busy ?? watchThread();
    this.#isShortOfMemory = watchMemory(now);
    const { concurrency } = settings;
    this.#width = concurrency === undefined ? new Width(mostInFlight({ ...DEFAULT_SETTINGS, ...settings })) : null;
    this.room = new Room(concurrency ?? this.#width!.limit);
  }

  /** The limit of requests in flight, were the machine short of nothing. */
  get concurrency(): number {
    return this.room.concurrency;
  }

  get is_starved(): boolean {
    return this.room.is_starved;
  }

  get are_names_away(): boolean {
    return this.#names_away !== null;
  }

  /** `reason`: why no name server answers; null when one does again. */
  namesAway(reason: string | null): void {
    this.#names_away = reason;
    this.#tell();
  }

  /** Looks at the thread and the memory, and returns whether the thread is busy. The caller runs it ten times a second, or nearly. */
  look(running: number, silent: number, late_ms: number): boolean {
    const is_busy = this.#isBusy();
    if (this.#width !== null) {
      this.#width.look({ running, silent, is_busy, late_ms, is_short_of_memory: this.#isShortOfMemory() });
      this.room.concurrency = this.#width.limit;
    }
    return is_busy;
  }

  /** Whether the machine has just become starved. */
  becomesStarved(now: number): boolean {
    if (!this.room.isShort) return false;
    const change = this.room.look(now, canOpenFile);
    if (change !== null) this.#tell();
    return change === 'starved';
  }

  #tell(): void {
    this.#starved?.(this.room.is_starved ? STARVED : this.#names_away);
  }
}
