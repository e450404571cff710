// Replays every account, job and payment from the log alone, and reports each entry that breaks a rule. Its memory does not grow with
// the length of the log: what was not used lately is in a temporary file.
import { BEGINNING, type RecordedEvent } from '../events/event-store.ts';
import { categoryOf, checksOf, idOf, isBilled } from '../events/streams.ts';
import { AUDITED_WORK, type AuditedWork, type HalfDoneCounts, WORK } from '../events/two-streams.ts';
import { openBillingTree } from './billing-tree.ts';
import { type Digests, KIND } from './digests.ts';
import { EntryRules } from './entry-rules.ts';
import { type Place, placeOf, type ReportFinding, type Rule } from './findings.ts';
import { JobRules } from './job-rules.ts';
import { isOfLater } from './known-types.ts';
import { GrowingTree } from './merkle.ts';
import { type Pairing, pairEntry } from './pairing.ts';
import { PaymentRules } from './payment-rules.ts';
import { openSpill, type Spill } from './spill.ts';
import type { AuditOptions, AuditReport, AuditState, LedgerAudit } from './types.ts';

/** The streams that prove the ledger. */
export const AUDITED = ['credits', 'job', 'checks', 'payment', 'subscription'] as const;

const GRACE_MS = 2 * 3_600_000;
const IN_MEMORY = 40_000;
const NONE_OPEN = Object.fromEntries(AUDITED_WORK.map((work) => [WORK[work].audited.as, 0])) as HalfDoneCounts;

const nothingFound = (): AuditReport => ({
  ...{ position: BEGINNING, at: null, events: 0, entries: 0, accounts: 0, balance: 0, owed: 0, tallies: {} },
  ...{ root_hash: '', heads_checked: 0, billing_events: 0, billing_root_hash: '', jobs: 0, jobs_purged: 0 },
  ...{ open: NONE_OPEN, violations: 0, later: 0 },
});

export const openLedgerAudit = (options: AuditOptions): LedgerAudit => new Auditor(options);

/** Shows each event to the rules of its category. */
class Auditor implements LedgerAudit {
  readonly #found: AuditOptions['found'];
  readonly #grace_ms: number;
  readonly #spill: Spill;
  readonly #entries: EntryRules;
  readonly #jobs: JobRules;
  readonly #payments: PaymentRules;
  readonly #billing: ReturnType<typeof openBillingTree>;
  readonly #pairings: Readonly<Record<AuditedWork, Pairing>>;
  readonly #report: AuditReport;
  /** The time of the latest event so far, in milliseconds since the epoch. */
  #last_at: number;

  constructor({ found, heads = [], grace_ms = GRACE_MS, in_memory = IN_MEMORY, from }: AuditOptions) {
    const { spill = openSpill(), state = null } = from ?? {};
    this.#found = found;
    this.#grace_ms = grace_ms;
    this.#spill = spill;
    this.#report = state?.report ?? nothingFound();
    this.#last_at = state?.last_at ?? Number.NEGATIVE_INFINITY;
    const say: ReportFinding = (rule, place, message) => this.#say(rule, place, message);
    this.#jobs = new JobRules(spill, in_memory, say, state?.report);
    this.#payments = new PaymentRules(spill, in_memory, say);
    this.#pairings = { ...this.#jobs.pairings, payment: this.#payments };
    this.#entries = new EntryRules({
      ...{ spill, in_memory, heads, say, report: this.#report },
      tree: state === null ? new GrowingTree() : GrowingTree.from(state.tree.size, state.tree.frontier),
      pair: (entry, of) => AUDITED_WORK.flatMap((work) => pairEntry(this.#pairings[work], entry, of)),
    });
    this.#billing = openBillingTree(state?.billing ?? { size: 0, frontier: [] }, heads, say);
  }

  #say(rule: Rule, place: Place, message: string): void {
    this.#report.violations += 1;
    const { position, stream, revision } = place;
    this.#found({ rule, position, stream, revision, message });
  }

  take(event: RecordedEvent): void {
    this.#report.events += 1;
    this.#report.position = event.position;
    try {
      const category = categoryOf(event.stream);
      if (isBilled(category)) this.#billing.take(event);
      // Most events, whose time nobody asks for.
      if (category === 'checks') {
        if (isOfLater(event)) this.#later(event);
        else this.#jobs.check(event);
        return;
      }
      this.#judge(event, Date.parse(event.metadata.at), null);
    } catch (error) {
      this.#blame(event, error);
    }
  }

  takeDigests({ kinds, numbers, whole, position, ...lists }: Digests): void {
    const names = JSON.parse(lists.names) as string[];
    const facts = JSON.parse(lists.data) as unknown[];
    let [fact, name, other] = [0, 0, 0];
    for (let n = 0; n < kinds.length; n += 1) {
      if (kinds[n] === KIND.whole) {
        this.take(eventOf(whole[other++]!));
        continue;
      }
      const [time, number] = [numbers[2 * n]!, numbers[2 * n + 1]!];
      this.#report.events += 1;
      if (kinds[n] === KIND.results) this.#jobs.count(names[name++]!, number, time);
      else {
        const [position, stream, type] = [names[name++]!, names[name++]!, names[name++]!];
        const event = { position, stream, type, revision: number, data: facts[fact++] } as RecordedEvent;
        try {
          this.#judge(event, time, kinds[n] === KIND.entry ? names[name++]! : null);
        } catch (error) {
          this.#blame(event, error);
        }
      }
    }
    this.#report.position = position;
  }

  /** Goes on after an event of a later version, of whose job nothing can be said any more. */
  #later(event: RecordedEvent): void {
    this.#report.later += 1;
    const category = categoryOf(event.stream);
    if (category === 'job') this.#jobs.deletedLater(idOf(event.stream));
    else if (category === 'checks') this.#jobs.deletedLater(checksOf(event.stream).job_id);
    else if (category === 'credits') this.#entries.enterLater(event);
  }

  /** `previous`: the hash before an entry, where its own is known to be computed of it. */
  #judge(event: RecordedEvent, time: number, previous: string | null): void {
    const category = categoryOf(event.stream);
    // Events that a thread has read ahead come without metadata, and those of later versions as they are.
    if (isOfLater(event)) {
      this.#later(event);
      return;
    }
    // Without a time, a step would never be late.
    if (Number.isNaN(time)) {
      const message = `${event.type} has the time ${event.metadata.at}, which is none`;
      this.#say('unreadable', placeOf(event), message);
    } else if (time > this.#last_at) this.#last_at = time;
    if (category === 'credits') this.#entries.enter(event, time, previous);
    else if (category === 'job') this.#jobs.step(event, time);
    else if (category === 'payment') this.#payments.pay(event, time);
  }

  #blame(event: RecordedEvent, error: unknown): void {
    // A defect of this program must not pass for a defect of the log.
    if (!(error instanceof SyntaxError || error instanceof TypeError || error instanceof RangeError)) throw error;
    this.#say('unreadable', placeOf(event), `${event.type} cannot be read: ${error.message}`);
    if (categoryOf(event.stream) === 'credits') this.#entries.skip(event);
  }

  /** The time of the latest event so far. */
  #lastTime(): string | null {
    return Number.isFinite(this.#last_at) ? new Date(this.#last_at).toISOString() : null;
  }

  isLate(at: number): boolean {
    return this.#last_at - at > this.#grace_ms;
  }

  finish(is_partial = false): AuditReport {
    const before = this.#report.violations;
    if (!is_partial) {
      this.#entries.finish();
      this.#billing.finish();
    }
    const late = (at: number) => this.isLate(at);
    const open = { ...NONE_OPEN };
    for (const work of AUDITED_WORK) open[WORK[work].audited.as] = this.#pairings[work].finish(late);
    const { violations } = this.#report;
    this.#report.violations = before;
    return {
      ...{ ...this.#report, at: this.#lastTime(), ...this.#jobs.counts, violations, open },
      root_hash: this.#entries.tree.root().toString('hex'),
      billing_events: this.#billing.tree.size,
      billing_root_hash: this.#billing.tree.root().toString('hex'),
    };
  }

  state(): AuditState {
    return {
      report: { ...this.#report, at: this.#lastTime(), ...this.#jobs.known },
      last_at: Number.isFinite(this.#last_at) ? this.#last_at : null,
      tree: { size: this.#entries.tree.size, frontier: this.#entries.tree.frontier() },
      billing: { size: this.#billing.tree.size, frontier: this.#billing.tree.frontier() },
    };
  }

  deletedLater(job_id: string): void {
    this.#jobs.deletedLater(job_id);
  }

  position() {
    return this.#report.position;
  }

  firstEntry() {
    return this.#entries.first;
  }

  entries(): number {
    return this.#report.entries;
  }

  violations(): number {
    return this.#report.violations;
  }

  later(): number {
    return this.#report.later;
  }

  balances() {
    return this.#entries.balances();
  }

  close(): void {
    this.#spill.close();
  }
}

/** Its parts are parsed where they are used, and what cannot be parsed throws there. */
const eventOf = ({ position, row: [, revision, type, id, metadata, data, stream] }: Digests['whole'][number]) =>
  ({
    ...{ position, stream, revision, type, id },
    get metadata() {
      return JSON.parse(metadata);
    },
    get data() {
      return JSON.parse(data);
    },
  }) as RecordedEvent;
