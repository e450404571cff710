// The living checkers, and which of them asks a host. When they change, a host goes to another checker only when its former one has let it
// go, or is dead: at no time have two the same host. Pure: the clock is an argument.
import { assignPartitions, PARTITIONS, partitionOf } from '../checkers/partitions.ts';
import type { Alive, Members as View } from '../checkers/work.ts';

/** A checker that is silent for this long is dead. It has stopped asking before: see `CUT_OFF_AFTER_MS`. */
const DEAD_AFTER_MS = 5_000;
const ANNOUNCE_MS = 1_000;
/** A dispatcher that has not looked, or has not heard itself, for this long cannot tell who is silent. */
const DEAF_AFTER_MS = 2_500;
/** The steps between two numbers of views of one dispatcher. The rest tells those of two dispatchers apart. */
const VIEW_STEP = 2 ** 16;

const EXPELLED_KEPT = 1000;

const NOBODY: View = { view: 0, ids: [], is_mixed: false };

/** The target of work for whichever checker takes it. */
export const ANYONE = '';

export interface MembersChange {
  /** Whether work has other targets from now on. */
  has_changed: boolean;
  /** Checkers, or `ANYONE`, that will never do what was sent to them. */
  gone: readonly string[];
  /** The partitions that a checker has let go: it will do none of their work that was sent to it. */
  released: ReadonlyMap<string, ReadonlySet<number>>;
  /** Another dispatcher has worked meanwhile, so that nobody knows what was sent. */
  is_superseded: boolean;
}

interface Checker {
  at: number;
  has_subject: boolean;
  /** The latest view that it knows of, and the latest of which it has nothing in hand that is another's. */
  view: number;
  settled: number;
}

export class Members {
  /** In [0, VIEW_STEP). */
  readonly #nonce: number;
  readonly #checkers = new Map<string, Checker>();
  #left: string[] = [];
  /** Those that were taken for dead: each hears that it was, and comes back under another name. */
  readonly #expelled = new Set<string>();
  #view: View = NOBODY;
  /** The checker of each partition, and the one that gets it. */
  #holders: string[] = [];
  #wanted: readonly string[] = [];
  /** The partitions that their holders are asked to let go, with the view that first said so. */
  readonly #moving = new Map<number, number>();
  /** Nobody gets work before all have settled this view, because an earlier dispatcher may have been moving hosts, or anyone had any. */
  #barrier: number | null = null;
  /** The latest view of another dispatcher. */
  #other: View = NOBODY;
  #has_sent = false;
  #looked_at: number;
  #heard_itself_at = 0;
  #announced_at = Number.NEGATIVE_INFINITY;
  #must_announce = false;
  /** Since when this dispatcher hears who is there. */
  #hears_since = 0;
  /** It has not heard all of them since then, so that it does not know whether another dispatcher has worked meanwhile. */
  #is_deaf = false;

  constructor(nonce: number, now: number) {
    this.#nonce = nonce;
    this.#looked_at = now;
  }

  observe(alive: Alive, now: number): void {
    const { id, leaves, has_subject = false, view = 0, settled = 0, latest } = alive;
    if (leaves) {
      if (this.#checkers.delete(id)) this.#left.push(id);
      return;
    }
    if (latest && latest.view > Math.max(this.#view.view, this.#other.view)) this.#other = latest;
    // One that is unknown and has worked was taken for dead by an earlier dispatcher: others may have its hosts.
    if (this.#view.view > 0 && view > 0 && !this.#checkers.has(id)) this.#expel(id);
    // One that never heard that it was a member has nothing that others have now.
    if (view === 0) this.#expelled.delete(id);
    if (alive.is_cut_off === true || this.#expelled.has(id)) this.#must_announce = true;
    if (this.#expelled.has(id)) return;
    this.#checkers.set(id, { at: now, has_subject, view, settled });
  }

  /** What this dispatcher broadcasts has come back. */
  observeItself({ view }: View, now: number): void {
    if (view % VIEW_STEP === this.#nonce) this.#heard_itself_at = now;
  }

  /** The caller runs it regularly, and handles what has changed. */
  look(now: number): MembersChange {
    const is_superseded = this.#other.view > this.#view.view && this.#has_sent;
    if (is_superseded) this.#forget();
    const was_deaf = this.#is_deaf;
    this.#attend(now);
    if (this.#view.view === 0) this.#inherit(now);
    const gone = [...this.#left, ...this.#dead(now)];
    this.#left = [];
    const ids = [...this.#checkers.keys()].sort();
    // Whoever joins waits until the hosts that move have moved. A death cannot wait.
    const may_change = gone.length > 0 || (this.#moving.size === 0 && this.#barrier === null);
    const is_new = may_change && ids.join() !== this.#view.ids.join();
    const { is_mixed, ids: before } = this.#view;
    if (is_new) this.#change(ids, now);
    // What was sent to anyone is sent again to those whose hosts it has.
    if (is_new && !this.isForAnyone && (before.length === 0 || is_mixed)) gone.push(ANYONE);
    this.#is_deaf = [...this.#checkers.values()].some(({ at }) => at < this.#hears_since);
    const released = this.#settle();
    const has_changed = is_new || released.size > 0 || this.#lift() || was_deaf !== this.#is_deaf;
    return { has_changed, gone, released, is_superseded };
  }

  /** Whether work goes to whichever checker takes it, because some take no other. */
  get isForAnyone(): boolean {
    return this.#view.is_mixed;
  }

  get targets(): readonly string[] {
    return this.isForAnyone ? [ANYONE] : this.#view.ids;
  }

  /** For the messages of now. */
  get view(): number {
    return this.#view.view;
  }

  /** Who gets the work of a URL; null while its host moves, or nobody is there. */
  targetOf(url: string): string | null {
    this.#has_sent = true;
    if (this.isForAnyone) return ANYONE;
    if (this.#barrier !== null || this.#is_deaf || this.#view.ids.length === 0) return null;
    if (this.#view.ids.length === 1 && this.#moving.size === 0) return this.#view.ids[0]!;
    const partition = this.partitionOf(url);
    return this.#moving.has(partition) ? null : this.#holders[partition]!;
  }

  partitionOf(url: string): number {
    return partitionOf(URL.parse(url)?.hostname ?? '');
  }

  /** What to broadcast now; null for nothing. A lone checker is told until it knows. */
  announcement(now: number): View | null {
    const { ids, view } = this.#view;
    const is_told = ids.length < 2 && ids.every((id) => this.#checkers.get(id)?.view === view);
    if (view === 0 || (is_told && !this.#must_announce) || now - this.#announced_at < ANNOUNCE_MS) return null;
    this.#must_announce = false;
    this.#announced_at = now;
    return this.#view;
  }

  #forget(): void {
    this.#view = NOBODY;
    this.#holders = [];
    this.#moving.clear();
    this.#barrier = null;
    this.#has_sent = false;
  }

  /** Members under an earlier dispatcher, which may be silent by now, still count as alive; those that were none then are not the same ones. */
  #inherit(now: number): void {
    for (const [id, { view }] of this.#checkers) {
      if (view === 0 || this.#other.ids.includes(id)) continue;
      this.#checkers.delete(id);
      this.#expel(id);
    }
    for (const id of this.#other.ids) {
      this.#expelled.delete(id);
      if (!this.#checkers.has(id)) this.#checkers.set(id, { at: now, has_subject: true, view: 0, settled: 0 });
    }
  }

  #expel(id: string): void {
    this.#must_announce = true;
    this.#expelled.add(id);
    if (this.#expelled.size > EXPELLED_KEPT) this.#expelled.delete(this.#expelled.values().next().value!);
  }

  /** Notes since when this dispatcher hears: after a sleep, or while the queue is away, silence says nothing of the others. */
  #attend(now: number): void {
    const looked_at = this.#looked_at;
    this.#looked_at = now;
    const is_deaf = this.#view.ids.length > 1 && now - this.#heard_itself_at > DEAF_AFTER_MS;
    if (now - looked_at > DEAF_AFTER_MS || is_deaf) this.#hears_since = now;
  }

  #dead(now: number): string[] {
    // Nobody else could do the work of a lone one.
    if (this.#checkers.size < 2) return [];
    const silent = [...this.#checkers].filter(([, { at }]) => now - Math.max(at, this.#hears_since) > DEAD_AFTER_MS);
    for (const [id] of silent) {
      this.#checkers.delete(id);
      this.#expel(id);
    }
    return silent.map(([id]) => id);
  }

  #change(ids: readonly string[], now: number): void {
    const is_unsure = this.#view.view === 0 || this.#view.is_mixed || this.#barrier !== null;
    const last = Math.max(this.#view.view, this.#other.view);
    const view = (Math.floor(last / VIEW_STEP) + 1) * VIEW_STEP + this.#nonce;
    const is_mixed = [...this.#checkers.values()].some(({ has_subject }) => !has_subject);
    // It announces few views of one checker, which change nothing.
    if (this.#view.ids.length < 2) this.#heard_itself_at = now;
    this.#view = { view, ids, is_mixed };
    this.#announced_at = Number.NEGATIVE_INFINITY;
    this.#barrier = is_unsure && ids.length > 1 ? view : null;
    const before = this.#wanted;
    this.#wanted = ids.length === 0 ? [] : assignPartitions(ids);
    if (is_unsure || ids.length === 0) {
      this.#holders = [...this.#wanted];
      this.#moving.clear();
      return;
    }
    for (let partition = 0; partition < PARTITIONS; partition++) {
      const [from, to] = [this.#holders[partition], this.#wanted[partition]!];
      if (from === undefined || !this.#checkers.has(from)) {
        this.#holders[partition] = to;
        this.#moving.delete(partition);
      } else if (from !== to && (!this.#moving.has(partition) || before[partition] === from)) {
        // A holder that was to keep it in the view before has not let it go since.
        this.#moving.set(partition, view);
      }
    }
  }

  /** Gives partitions that their holders have let go to their next ones. A holder that lives does so within `GIVEN_UP_AFTER_MS`. */
  #settle(): Map<string, Set<number>> {
    const released = new Map<string, Set<number>>();
    if (this.#is_deaf) return released;
    for (const [partition, since] of this.#moving) {
      const holder = this.#holders[partition]!;
      if (this.#checkers.get(holder)!.settled < since) continue;
      this.#moving.delete(partition);
      this.#holders[partition] = this.#wanted[partition]!;
      released.set(holder, (released.get(holder) ?? new Set()).add(partition));
    }
    return released;
  }

  #lift(): boolean {
    const barrier = this.#barrier;
    if (barrier === null || this.#is_deaf) return false;
    // Whoever is dead has been taken out, and whoever joins is in a later view.
    const are_settled = this.#view.ids.every((id) => {
      const checker = this.#checkers.get(id);
      return !checker?.has_subject || checker.settled >= barrier;
    });
    if (!are_settled) return false;
    this.#barrier = null;
    return true;
  }
}
