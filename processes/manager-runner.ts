// Runs a process manager: pass after pass it finds what is due, does the work for each item, and puts off what fails. One damaged item holds up
// no other; a store that is away ends the pass, and nothing is put off for that.
import type { Position } from '../events/event-store.ts';
import { isOfStore } from '../events/store-faults.ts';
import type { Document, Filter } from '../readmodels/documents.ts';
import type { ReadModels } from '../readmodels/read-models.ts';
import { pause } from '../time/pause.ts';
import { inParallel } from './in-parallel.ts';
import { ManagerWatch } from './manager-watch.ts';
import { Later, type ManagerLogger, type ProcessManager } from './process-manager.ts';
import { firstOthers, PutOff } from './put-off.ts';

const AT_ONCE = 1_000;
const SPACING_MS = 500;
/** The longest time between two passes: one may have left something undone, and the wall clock may be set. */
const IDLE_PASS_MS = 30_000;
/** While nothing can be worked on because there is no room, the next look comes after this time. */
const HELD_UP_MS = 2_000;
/** A pass waits this long for the read models to have what the one before did: before that, they would return the same items again. */
const PROJECTED_MS = 5_000;

export interface RunnerOptions {
  readmodels: Pick<ReadModels, 'collection' | 'moved' | 'passed'>;
  logger: ManagerLogger;
  /** Wall time in Unix milliseconds, without its steps back. */
  now: () => number;
  /** Milliseconds that never go back. */
  monotonic: () => number;
  watch?: ManagerWatch;
}

export interface Pass {
  /** The position of the last event that the work appended; null when it appended none. */
  reached: Position | null;
  /** Whether there was no room for any item. */
  is_held_up: boolean;
}

export class ManagerRunner<Item extends Document, Together = undefined> {
  readonly #manager: ProcessManager<Item, Together>;
  readonly #options: RunnerOptions;
  readonly #put_off: PutOff;
  readonly #watch: ManagerWatch;
  readonly #keyOf: (item: Item) => string;

  constructor(manager: ProcessManager<Item, Together>, options: RunnerOptions) {
    this.#manager = manager;
    this.#options = options;
    this.#put_off = manager.put_off ?? new PutOff(options.monotonic);
    this.#watch = options.watch ?? new ManagerWatch(manager.name, options.monotonic);
    this.#keyOf = (item) => manager.key?.(item) ?? item._id;
  }

  /** Makes passes until `signal` aborts, and calls `onPass` after each. Throws the errors of stores. */
  async run(signal: AbortSignal, onPass: () => void): Promise<void> {
    const { readmodels } = this.#options;
    const { spacing_ms = SPACING_MS, busy_ms = spacing_ms, every_ms } = this.#manager;
    let seen: Position | null = null;
    for (let wait_ms = 0; !signal.aborted; ) {
      if (every_ms === undefined) seen = await readmodels.moved(seen, wait_ms, signal);
      else await pause(wait_ms, signal);
      if (signal.aborted) return;
      const { reached, is_held_up } = await this.pass(signal);
      onPass();
      if (reached !== null) {
        await readmodels.passed(reached, PROJECTED_MS);
        wait_ms = 0;
        await pause(busy_ms, signal);
      } else {
        const longest_ms = is_held_up ? HELD_UP_MS : (every_ms ?? IDLE_PASS_MS);
        wait_ms = Math.max(0, Math.min(longest_ms, await this.#untilDue()) - spacing_ms);
        await pause(spacing_ms, signal);
      }
    }
  }

  /** Makes one pass. Throws when a store is away, after all work of the pass has ended. */
  async pass(signal: AbortSignal): Promise<Pass> {
    const { at_once = AT_ONCE, takes, reads, most_failures = Number.POSITIVE_INFINITY } = this.#manager;
    this.#put_off.begin();
    const limit = typeof at_once === 'number' ? at_once : await at_once();
    if (limit === null) return { reached: null, is_held_up: true };
    const found = await this.#find(limit);
    const taken = takes?.(found) ?? found;
    const worked = { reached: null as Position | null, failures: 0, left: new Set(found) };
    const size = reads?.at_once ?? taken.length;
    for (let from = 0; from < taken.length && !signal.aborted; from += size) {
      const some = taken.slice(from, from + size);
      const together = (await reads?.read(some)) as Together;
      await inParallel(some, (item) => this.#work(item, together, worked, signal), this.#manager.at_a_time);
    }
    const tried_all = taken.length === found.length && worked.failures < most_failures && !signal.aborted;
    this.#put_off.end(found.length < limit && tried_all);
    this.#watch.waits(this.#oldestOf(worked.left), this.#put_off.failed);
    return { reached: worked.reached, is_held_up: false };
  }

  async #find(limit: number): Promise<Item[]> {
    const { finds, order, due_at, key } = this.#manager;
    const documents = this.#options.readmodels.collection(finds.in);
    const where: Filter = due_at ? { ...finds.where, [due_at.field]: this.#dueNow(due_at) } : finds.where;
    const found = await firstOthers(documents, where, order, limit, this.#put_off, this.#keyOf);
    if (!key) return found;
    const by_key = new Map<string, Item>();
    for (const item of found) if (!by_key.has(key(item))) by_key.set(key(item), item);
    return [...by_key.values()];
  }

  async #work(
    item: Item,
    together: Together,
    worked: { reached: Position | null; failures: number; left: Set<Item> },
    signal: AbortSignal,
  ): Promise<void> {
    const { work, most_failures = Number.POSITIVE_INFINITY, retry_ms, fails, level = 'error' } = this.#manager;
    if (signal.aborted || worked.failures >= most_failures) return;
    const id = this.#keyOf(item);
    const { monotonic } = this.#options;
    const waits_ms = monotonic() - (this.#put_off.firstSeenAt(id) ?? monotonic());
    try {
      const done = await work(item, { together, signal, waits_ms });
      if (done instanceof Later) return this.#put_off.rest(id, this.#ageOf(item), done.wait_ms);
      this.#put_off.done(id);
      worked.left.delete(item);
      if (done != null && (worked.reached === null || done > worked.reached)) worked.reached = done;
    } catch (err) {
      if (signal.aborted || isOfStore(err)) throw err;
      worked.failures++;
      this.#watch.itemFailed(err);
      const failures = this.#put_off.failuresOf(id) + 1;
      if (this.#put_off.fail(id, this.#ageOf(item), retry_ms?.(failures, err) ?? null))
        this.#options.logger[level]({ err, id, manager: this.#manager.name, failures }, fails);
    }
  }

  /** How long the oldest of these and of those that are put off waits. */
  #oldestOf(left: Iterable<Item>): number | null {
    let oldest_ms = this.#put_off.oldest_ms;
    for (const item of left) {
      const age_ms = this.#ageOf(item);
      if (oldest_ms === null || age_ms > oldest_ms) oldest_ms = age_ms;
    }
    return oldest_ms;
  }

  /** How long the item's work is due. */
  #ageOf(item: Item): number {
    const { since, due_at } = this.#manager;
    const since_ms = due_at
      ? Date.parse(item[due_at.field] as string) + due_at.after_ms
      : Date.parse(since?.(item) ?? '');
    return Number.isNaN(since_ms) ? 0 : Math.max(0, this.#options.now() - since_ms);
  }

  #dueNow({ after_ms, until_ms }: { after_ms: number; until_ms?: number }) {
    const begun = { $lte: this.#dueBefore(after_ms) };
    return until_ms === undefined ? begun : { ...begun, $gt: this.#dueBefore(until_ms) };
  }

  #dueBefore = (after_ms: number) => new Date(this.#options.now() - after_ms).toISOString();

  /** The time until more is due, or something is tried again. */
  async #untilDue(): Promise<number> {
    const { monotonic, now, readmodels } = this.#options;
    const { finds, due_at } = this.#manager;
    const next_at = this.#put_off.next_at;
    const again_ms = next_at === null ? Number.POSITIVE_INFINITY : next_at - monotonic();
    if (!due_at) return again_ms;
    const { field, after_ms } = due_at;
    const where = { ...finds.where, [field]: { $gt: this.#dueBefore(after_ms) } };
    const [next] = await readmodels.collection(finds.in).find(where, { sort: { [field]: 1 }, limit: 1 });
    return next ? Math.min(again_ms, Date.parse(next[field] as string) + after_ms - now()) : again_ms;
  }
}
