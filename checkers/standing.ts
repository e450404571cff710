// What a checker knows of its standing among the others: which hosts are its own, whether the others may take it for dead, and what of
// another one's it still has in hand. Pure: the clock is an argument.
import { assignPartitions, partitionOf } from './partitions.ts';
import type { Members } from './work.ts';

/** A checker that has not heard its own announcement of this time starts no request, because the others soon take it for dead. */
export const CUT_OFF_AFTER_MS = 4_000;
/** Requests to hosts that have moved are given up after this long, so that their new checker may begin. */
export const GIVEN_UP_AFTER_MS = 8_000;

const NOBODY: Members = { view: 0, ids: [], is_mixed: false };

export class Standing {
  readonly id: string;
  /** The view of which this checker is a member. */
  #members = NOBODY;
  /** The latest view that it has heard of. */
  #latest: Members;
  /** The latest view of which work says that this checker is a member, though it may not have heard of that view. */
  #sent_in = 0;
  /** The checker of each partition; null while this one has all. */
  #holders: readonly string[] | null = null;
  /** The latest view of which nothing is in hand that is another's. */
  #settled = 0;
  #changed_at = 0;
  /** When the last of its announcements that came back was sent. */
  #heard_at: number;
  #is_cut_off = false;

  constructor(id: string, now: number, latest = NOBODY) {
    this.id = id;
    this.#latest = latest;
    this.#heard_at = now;
  }

  get members(): Members {
    return this.#members;
  }

  /** The number of the latest view of which it knows to be a member; 0 before the first one. */
  get named_in(): number {
    return Math.max(this.#members.view, this.#sent_in);
  }

  get latest(): Members {
    return this.#latest;
  }

  get settled(): number {
    return this.#settled;
  }

  /** Whether hosts that may be another checker's have to be released. */
  get isUnsettled(): boolean {
    return this.#settled < this.#members.view;
  }

  /** Takes what the dispatcher broadcasts. `expelled`: the others have taken this checker for dead, and what it has is theirs. */
  observe(members: Members, now: number): 'same' | 'changed' | 'expelled' {
    this.learn(members);
    if (members.view < this.#members.view) return 'same';
    if (!members.ids.includes(this.id)) {
      return this.named_in > 0 && members.view >= this.named_in ? 'expelled' : 'same';
    }
    // The dispatcher counts it among the living: whatever it missed, its hosts were given to nobody.
    if (now - this.#heard_at <= CUT_OFF_AFTER_MS) this.#is_cut_off = false;
    if (members.view === this.#members.view) return 'same';
    this.#members = members;
    this.#holders = members.ids.length > 1 ? assignPartitions(members.ids) : null;
    this.#changed_at = now;
    return 'changed';
  }

  /** Notes the latest view that another checker has heard of. */
  learn(latest: Members): void {
    if (latest.view > this.#latest.view) this.#latest = latest;
  }

  /** An announcement that was sent then has come back. */
  observeItself(sent_at: number): void {
    this.#heard_at = Math.max(this.#heard_at, sent_at);
  }

  owns(host: string): boolean {
    return this.#holders === null || this.#holders[partitionOf(host)] === this.id;
  }

  /** Whether a URL that was sent in a view is still for this checker. One on the way from the dispatcher may be ahead of what is known here. */
  isFor(url: string, view: number): boolean {
    this.#sent_in = Math.max(this.#sent_in, view);
    if (this.#holders === null || this.#members.is_mixed || view >= this.#members.view) return true;
    return this.owns(URL.parse(url)?.hostname ?? '');
  }

  mayAsk(now: number): boolean {
    const is_cut_off = now - this.#heard_at > CUT_OFF_AFTER_MS;
    // Nobody tells one that is no member yet that it is still counted.
    if (this.named_in === 0) return !is_cut_off;
    this.#is_cut_off ||= is_cut_off;
    return !this.#is_cut_off;
  }

  /** Whether requests in flight to hosts that have moved are ended by now. */
  isLate(now: number): boolean {
    return now - this.#changed_at > GIVEN_UP_AFTER_MS;
  }

  /** Nothing is in hand any more that is another checker's. */
  settle(): void {
    this.#settled = this.#members.view;
  }
}
