// The rules of reservations: each is used by its job or released, once, and what goes back to API keys is what they had asked for.
import type { CreditsRefunded, CreditsReserved } from '../events/credits.ts';
import type { Taken } from './account.ts';
import type { Place, ReportFinding } from './findings.ts';
import type { EntryOf, Pairing } from './pairing.ts';
import type { Spill, SpillMap } from './spill.ts';

interface Reservation extends Taken, EntryOf {
  job_id: string;
  amount: number;
  /** The API key with a limit of credits that asked for it. */
  key_id?: string | undefined;
  state: 'open' | 'used' | 'voided';
}

/** Who uses reservations: a job of a user. */
interface Using {
  job_id: string;
  user_id: string;
  place: Place;
}

export class ReservationRules implements Pairing {
  readonly #all: SpillMap<Reservation>;
  /** Those that were voided before they came: an append may be stored after whoever waited for it has given up. */
  readonly #voided: SpillMap<true>;
  readonly #say: ReportFinding;
  readonly entries: Pairing['entries'] = {
    CreditsReserved: (entry, of) => this.#reserve(entry, of),
    CreditsRefunded: (entry, of) => (entry.transaction_type === 'release' ? this.#release(entry, of) : []),
  };

  /** `in_memory`: the values of each kind in memory. */
  constructor(spill: Spill, in_memory: number, say: ReportFinding) {
    this.#all = spill.map('reservations', in_memory);
    this.#voided = spill.map('voided_reservations', in_memory);
    this.#say = say;
  }

  #reserve(entry: CreditsReserved, of: EntryOf): void {
    const { reservation_id: id, reference_id: job_id, amount, parts, key_id } = entry;
    if (this.#all.get(id)) this.#say('reservation', of.place, `reservation ${id} comes twice`);
    const state = this.#voided.get(id) ? 'voided' : 'open';
    this.#all.set(id, { ...of, job_id, amount: -amount, parts, key_id, state });
    this.#voided.delete(id);
  }

  void(id: string): void {
    const reservation = this.#all.get(id);
    if (reservation === undefined) this.#voided.set(id, true);
    else if (reservation.state === 'open') reservation.state = 'voided';
  }

  #release(entry: CreditsRefunded, { user_id, place }: EntryOf): Taken[] {
    const { reference_id: id, amount } = entry;
    const reservation = this.#all.get(id);
    if (!reservation || reservation.user_id !== user_id) {
      this.#say('reservation', place, `reservation ${id}, which is released, is unknown or was resolved before`);
      return [];
    }
    if (reservation.state !== 'voided') {
      const why = reservation.state === 'used' ? `job ${reservation.job_id} uses it` : 'its job could still use it';
      this.#say('reservation', place, `reservation ${id} is released, but ${why}`);
    }
    if (reservation.amount !== amount) {
      this.#say('reservation', place, `${amount} of the ${reservation.amount} of reservation ${id} are released`);
    }
    this.#holdKeys(entry, [reservation], place);
    this.#all.delete(id);
    return [reservation];
  }

  /** Returns whether the job may use it. */
  use(id: string, amount: number, { job_id, user_id, place }: Using): boolean {
    const reservation = this.#all.get(id);
    if (reservation?.state !== 'open') {
      const why = reservation ? `was ${reservation.state} before` : 'is unknown or was resolved before';
      this.#say('reservation', place, `reservation ${id} ${why}`);
      return false;
    }
    if (reservation.job_id !== job_id || reservation.user_id !== user_id) {
      this.#say(
        'reservation',
        place,
        `reservation ${id} is of job ${reservation.job_id} and user ${reservation.user_id}`,
      );
    }
    if (reservation.amount !== amount) {
      this.#say(
        'reservation',
        place,
        `reservation ${id} is of ${reservation.amount}, the job was allocated ${amount} by it`,
      );
    }
    reservation.state = 'used';
    return true;
  }

  /** Those that a refund gives back. They are used up. */
  refunded(ids: readonly string[], entry: CreditsRefunded, place: Place): Taken[] {
    const taken = ids.flatMap((id) => this.#all.get(id) ?? []);
    this.#holdKeys(entry, taken, place);
    this.forget(ids);
    return taken;
  }

  forget(ids: readonly string[]): void {
    for (const id of ids) this.#all.delete(id);
  }

  /** What goes back to API keys is what they had asked for, of the last reservations first. Services before the limits of keys named none. */
  #holdKeys({ of_keys, amount }: CreditsRefunded, taken: readonly Reservation[], place: Place): void {
    if (of_keys === undefined) return;
    const right = new Map<string, number>();
    let left = amount;
    for (const { key_id, amount: reserved } of taken.toReversed()) {
      const back = Math.min(reserved, left);
      left -= back;
      if (key_id !== undefined && back > 0) right.set(key_id, (right.get(key_id) ?? 0) + back);
    }
    const named = [...right].every(([key_id, back]) =>
      of_keys.some((part) => part.key_id === key_id && part.amount === back),
    );
    const is_right = named && of_keys.length === right.size;
    if (!is_right)
      this.#say('refund', place, `${JSON.stringify(of_keys)} go back to API keys, of ${JSON.stringify([...right])}`);
  }

  finish(isLate: (at: number) => boolean): number {
    let open = 0;
    for (const [id, { state, at, amount, place }] of this.#all.entries()) {
      if (state === 'used') continue;
      if (isLate(at)) this.#say('reservation', place, `reservation ${id} of ${amount} was neither used nor released`);
      else open += 1;
    }
    return open;
  }
}
