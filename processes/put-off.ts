// Items whose work failed, or is not due yet, are left alone for a while, so that they hold up no other. When what made several of them
// fail has ended, one of them finds out within seconds, and all are tried again at once.
import type { Document, Filter, Reading } from '../readmodels/documents.ts';

/** Work that failed is tried again after this long. */
const AGAIN_MS = 5 * 60_000;
/** As often, a few that failed are tried to find out whether the fault has ended. */
const PROBE_MS = 5_000;
const PROBED = 3;
/** Documents of each read that follows a first one full of work that is put off. */
const READ_AT_ONCE = 1_000;
/** A failure of one item is logged again after this long. */
const TELL_AGAIN_MS = 5 * 60_000;

interface Wait {
  first_seen_at: number;
  /** Since when the item waits, by the monotonic clock. */
  since_at: number;
  tried_at: number;
  again_at: number;
  /** 0: its work is not due. */
  failures: number;
  /** Whether the failure says something of this item alone. */
  is_alone: boolean;
  told_at: number;
}

export class PutOff {
  readonly #now: () => number;
  /** In the order in which they were tried. */
  readonly #waits = new Map<string, Wait>();
  /** Those that this pass may try. */
  readonly #let_through = new Set<string>();
  #probed_at = Number.NEGATIVE_INFINITY;

  /** `monotonic`: milliseconds that never go back. */
  constructor(monotonic: () => number) {
    this.#now = monotonic;
  }

  has(id: string): boolean {
    return this.#waits.has(id) && !this.#let_through.has(id);
  }

  /** Those that failed. */
  get failed(): number {
    let failed = 0;
    for (const { failures } of this.#waits.values()) if (failures > 0) failed++;
    return failed;
  }

  /** When the first item is to be tried again; null: none waits. */
  get next_at(): number | null {
    let next: number | null = null;
    for (const wait of this.#waits.values()) {
      const at =
        wait.failures > 0 && !wait.is_alone ? Math.min(wait.again_at, wait.tried_at + PROBE_MS) : wait.again_at;
      if (next === null || at < next) next = at;
    }
    return next;
  }

  /** How long the oldest item waits; null: none does. */
  get oldest_ms(): number | null {
    let oldest: number | null = null;
    for (const { since_at } of this.#waits.values()) oldest = Math.min(oldest ?? since_at, since_at);
    return oldest === null ? null : this.#now() - oldest;
  }

  firstSeenAt(id: string): number | null {
    return this.#waits.get(id)?.first_seen_at ?? null;
  }

  failuresOf(id: string): number {
    return this.#waits.get(id)?.failures ?? 0;
  }

  /** Before a pass: lets through what is to be tried again. */
  begin(): void {
    const now = this.#now();
    let probes = now - this.#probed_at >= PROBE_MS ? PROBED : 0;
    for (const [id, { again_at, tried_at, failures, is_alone }] of this.#waits) {
      const is_probe = probes > 0 && failures > 0 && !is_alone && now - tried_at >= PROBE_MS;
      if (again_at > now && !is_probe) continue;
      this.#let_through.add(id);
      if (again_at > now) [this.#probed_at, probes] = [now, probes - 1];
    }
  }

  /** After a pass: forgets what was let through and is not there any more. `found_all`: the pass has found all that there is. */
  end(found_all = true): void {
    for (const id of this.#let_through) if (found_all) this.#waits.delete(id);
    this.#let_through.clear();
  }

  /** The work for an item that waits for `age_ms` failed. Returns whether this is news for the log. `wait_ms`: of this item alone. */
  fail(id: string, age_ms = 0, wait_ms: number | null = null): boolean {
    const now = this.#now();
    const { failures = 0, told_at = Number.NEGATIVE_INFINITY } = this.#waits.get(id) ?? {};
    const is_news = failures === 0 || now - told_at >= TELL_AGAIN_MS;
    this.#set(id, age_ms, {
      again_at: now + (wait_ms ?? AGAIN_MS),
      failures: failures + 1,
      is_alone: wait_ms !== null,
      told_at: is_news ? now : told_at,
    });
    return is_news;
  }

  /** The work for an item that waits for `age_ms` is to be looked at later. */
  rest(id: string, age_ms: number, wait_ms: number): void {
    const again_at = this.#now() + wait_ms;
    this.#set(id, age_ms, { again_at, failures: 0, is_alone: true, told_at: Number.NEGATIVE_INFINITY });
  }

  /** The work for an item is done. When it had failed, the others that failed are tried at once: the fault has ended. */
  done(id: string): void {
    const wait = this.#waits.get(id);
    if (wait === undefined) return;
    this.#waits.delete(id);
    this.#let_through.delete(id);
    if (wait.failures === 0 || wait.is_alone) return;
    for (const other of this.#waits.values()) if (other.failures > 0 && !other.is_alone) other.again_at = this.#now();
  }

  #set(id: string, age_ms: number, wait: Omit<Wait, 'first_seen_at' | 'since_at' | 'tried_at'>): void {
    const now = this.#now();
    const { first_seen_at = now, since_at = now - age_ms } = this.#waits.get(id) ?? {};
    this.#waits.delete(id);
    this.#let_through.delete(id);
    this.#waits.set(id, { ...wait, first_seen_at, since_at, tried_at: now });
  }
}

/**
 * The first documents, in the order of a field, that are not put off; at most `limit`, however many stand before them. `idOf`: what is put
 * off where it is not the document itself.
 */
export async function firstOthers<T extends Document>(
  documents: Pick<Reading<T>, 'find'>,
  filter: Filter,
  field: keyof T & string,
  limit: number,
  put_off: Pick<PutOff, 'has'>,
  idOf: (document: T) => string = ({ _id }) => _id,
): Promise<T[]> {
  const others: T[] = [];
  const sort = { [field]: 1 } as const;
  for (let [after, size]: [string[] | undefined, number] = [undefined, limit]; ; size = READ_AT_ONCE) {
    const found = await documents.find(filter, { sort, limit: size, ...(after && { after }) });
    others.push(...found.filter((document) => !put_off.has(idOf(document))).slice(0, limit - others.length));
    const last = found.at(-1);
    if (last === undefined || found.length < size || others.length === limit) return others;
    after = [...new Set([field, '_id'] as const)].map((name) => last[name] as string);
  }
}
