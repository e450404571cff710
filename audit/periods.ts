// Periods of the books that are closed: what each held when it was closed, and what came later and touches it.
import type { CreditsEvent } from '../events/credits.ts';
import type { RecordedEvent } from '../events/event-store.ts';
import type { PeriodClosed } from '../events/service.ts';
import { categoryOf, idOf } from '../events/streams.ts';
import { entryOf, reading } from './source.ts';
import type { Spill } from './spill.ts';

/** `dated`: it changes the figures of the period. `refers`: it gives back what the period has, and belongs to its own day. */
type Effect = 'dated' | 'refers';

export interface LateEvent {
  /** The last day of the period. */
  until: string;
  effect: Effect;
  position: string;
  /** When it was appended, and the day of which it is. */
  at: string;
  date: string;
  actor: string;
  stream: string;
  type: string;
  /** Of a ledger's entry; null of an event of a payment. */
  amount: number | null;
  reference_id: string;
}

export interface CheckedPeriod {
  closed: PeriodClosed;
  /** Now, of what was there when it was closed. */
  entries: number;
  credits: number;
  /** Later ones. */
  dated: number;
  refers: number;
}

const IN_MEMORY = 100_000;
const DAY_CHARS = 'yyyy-mm-dd'.length;

/** Takes the events of ledgers and payments in the order of the log. */
export class ClosedPeriods {
  readonly checked: readonly CheckedPeriod[];
  /** The first day of each thing that later events may give back, by its stream's category and its id. */
  readonly #days;
  #ledger_entries = 0;
  #payment_events = 0;

  /** `periods`: in the order in which they were closed. */
  constructor(periods: readonly PeriodClosed[], spill: Spill) {
    this.checked = periods.map((closed) => ({ closed, entries: 0, credits: 0, dated: 0, refers: 0 }));
    this.#days = spill.map<string>('days', IN_MEMORY);
  }

  /** Returns what the event is to a closed period; null for nothing. Throws `UnreadableEvent`. */
  take(event: RecordedEvent): LateEvent | null {
    if (this.checked.length === 0) return null;
    const is_entry = categoryOf(event.stream) === 'credits';
    const place = is_entry ? this.#ledger_entries++ : this.#payment_events++;
    const date = dayOf(event);
    const entry = is_entry ? entryOf(event) : null;
    const reference_id = entry?.reference_id ?? idOf(event.stream);
    const own = this.#periodOf(date);
    if (entry !== null) this.#count(entry, place, date);
    const is_late = own !== undefined && place >= placesIn(own.closed, is_entry);
    for (const id of openedBy(event)) if (this.#days.get(id) === undefined) this.#days.set(id, date);
    if (is_late) return this.#late(own, 'dated', event, { date, entry, reference_id });
    const day = GIVES_BACK.includes(event.type)
      ? this.#days.get(`${categoryOf(event.stream)} ${reference_id}`)
      : undefined;
    const other = day === undefined ? undefined : this.#periodOf(day);
    if (other === undefined || other === own || place < placesIn(other.closed, is_entry)) return null;
    return this.#late(other, 'refers', event, { date, entry, reference_id });
  }

  /** All that was taken so far. */
  get taken() {
    return { ledger_entries: this.#ledger_entries, payment_events: this.#payment_events };
  }

  #periodOf(date: string): CheckedPeriod | undefined {
    return this.checked.find(({ closed }) => date <= closed.until);
  }

  #count({ amount }: CreditsEvent['data'], place: number, date: string): void {
    for (const period of this.checked) {
      if (place >= period.closed.ledger_entries || date > period.closed.until) continue;
      period.entries += 1;
      period.credits += amount;
    }
  }

  #late(
    period: CheckedPeriod,
    effect: Effect,
    { position, metadata, stream, type }: RecordedEvent,
    { date, entry, reference_id }: { date: string; entry: CreditsEvent['data'] | null; reference_id: string },
  ): LateEvent {
    period[effect] += 1;
    const { at, actor } = metadata;
    const { until } = period.closed;
    return { until, effect, position, at, date, actor, stream, type, amount: entry?.amount ?? null, reference_id };
  }
}

const placesIn = ({ ledger_entries, payment_events }: PeriodClosed, is_entry: boolean) =>
  is_entry ? ledger_entries : payment_events;

/** What later events name when they give back what this one has: a job and its reservation, a grant, or a payment. */
function openedBy({ type, stream, data }: RecordedEvent): string[] {
  if (type === 'PaymentReceived') return [`payment ${idOf(stream)}`];
  if (type !== 'CreditsReserved' && type !== 'CreditsGranted') return [];
  const { reference_id, reservation_id } = data as { reference_id: string; reservation_id?: string };
  return [reference_id, reservation_id].flatMap((id) => (id === undefined ? [] : [`credits ${id}`]));
}
const GIVES_BACK: readonly string[] = [
  ...['CreditsRefunded', 'CreditsReversed', 'CreditsRestored', 'PaymentReversed', 'PaymentReversalLifted'],
];

/** The day (UTC) of an entry, or the one that the provider names of a payment. Throws `UnreadableEvent`. */
function dayOf(event: RecordedEvent): string {
  return reading(event, ({ data, metadata }) => {
    const { paid_at, reversed_at, lifted_at } = data as Partial<Record<string, string>>;
    return new Date(paid_at ?? reversed_at ?? lifted_at ?? metadata.at).toISOString().slice(0, DAY_CHARS);
  });
}

/** A period that is about to be closed: all is in time. */
export const openPeriod = (until: string): PeriodClosed => ({
  ...{ until, ledger_entries: Number.POSITIVE_INFINITY, payment_events: Number.POSITIVE_INFINITY },
  ...{ entries: 0, credits: 0, reason: '' },
});

/** Whether the log has, of what was there at the closing, what the closing says. */
export const isAsClosed = ({ closed, entries, credits }: CheckedPeriod): boolean =>
  closed.entries === entries && closed.credits === credits;
