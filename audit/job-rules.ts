// The rules of reservations and jobs: each reservation is used or released once, and of each ended job the credits add up.
import { urlsOf } from '../events/checked-range.ts';
import type { URLChecked } from '../events/checks.ts';
import type { CreditsRefunded, CreditsReserved } from '../events/credits.ts';
import type { RecordedEvent } from '../events/event-store.ts';
import type { JobEvent } from '../events/job.ts';
import { checksOf, idOf } from '../events/streams.ts';
import { isTestUser } from '../events/test-user.ts';
import type { Taken } from './account.ts';
import { type Place, placeOf, type ReportFinding } from './findings.ts';
import type { EntryOf, Pairing } from './pairing.ts';
import type { Spill, SpillMap } from './spill.ts';

interface Reservation extends Taken, EntryOf {
  job_id: string;
  amount: number;
  /** The API key with a limit of credits that asked for it. */
  key_id?: string | undefined;
  state: 'open' | 'used' | 'voided';
}

interface Job {
  owner_id: string;
  total: number;
  allocated: number;
  /** URLs with a result before the job's end: once the results have expired, by what that event says. */
  checked: number;
  /** When the last of its URLs had a result, in milliseconds since the epoch; null before. */
  checked_at: number | null;
  /** Says the event that completed the job. */
  completed: number | null;
  end: 'completed' | 'cancelled' | 'failed' | null;
  ended_at: number;
  /** Of the event to blame: the refund, or before it the end. */
  place: Place;
  refunded: number | null;
  /** The ids of the reservations that it has used. */
  reservations: string[];
  /** Or its results expired after the last event that the audit took. */
  is_deleted: boolean;
}

/** What the log has of jobs. */
export interface JobCounts {
  jobs: number;
  /** Those that were deleted, whether the store still shows their results or not. */
  jobs_purged: number;
}

/** `in_memory`: the values of each kind in memory. */
export function openJobRules(spill: Spill, in_memory: number, say: ReportFinding, known?: JobCounts) {
  const reservations: SpillMap<Reservation> = spill.map('reservations', in_memory);
  /** The reservations that were voided before they came: an append may be stored after whoever waited for it has given up. */
  const voided: SpillMap<true> = spill.map('voided_reservations', in_memory);
  /** A job whose credits add up is forgotten. */
  const jobs: SpillMap<Job> = spill.map('jobs', in_memory);
  const counts: JobCounts = known ?? { jobs: 0, jobs_purged: 0 };
  /** Jobs of test keys, until they are deleted: they cost nothing, and have no entries. */
  const of_tests: SpillMap<true> = spill.map('jobs_of_tests', in_memory);

  function reserve(entry: CreditsReserved, of: EntryOf): void {
    const { reservation_id: id, reference_id: job_id, amount, parts, key_id } = entry;
    if (reservations.get(id)) say('reservation', of.place, `reservation ${id} comes twice`);
    const state = voided.get(id) ? 'voided' : 'open';
    reservations.set(id, { ...of, job_id, amount: -amount, parts, key_id, state });
    voided.delete(id);
  }

  function release(entry: CreditsRefunded, { user_id, place }: EntryOf): Taken[] {
    const { reference_id: id, amount } = entry;
    const reservation = reservations.get(id);
    if (!reservation || reservation.user_id !== user_id) {
      say('reservation', place, `reservation ${id}, which is released, is unknown or was resolved before`);
      return [];
    }
    if (reservation.state !== 'voided') {
      const why = reservation.state === 'used' ? `job ${reservation.job_id} uses it` : 'its job could still use it';
      say('reservation', place, `reservation ${id} is released, but ${why}`);
    }
    if (reservation.amount !== amount) {
      say('reservation', place, `${amount} of the ${reservation.amount} of reservation ${id} are released`);
    }
    holdKeys(entry, [reservation], place);
    reservations.delete(id);
    return [reservation];
  }

  function refund(entry: CreditsRefunded, { user_id, place }: EntryOf): Taken[] {
    const { reference_id: job_id, amount } = entry;
    const job = jobs.get(job_id);
    if (job === undefined) {
      say('refund', place, `job ${job_id} is unknown or was settled before`);
      return [];
    }
    if (job.owner_id !== user_id) say('refund', place, `job ${job_id} belongs to ${job.owner_id}`);
    if (job.refunded !== null) say('refund', place, `job ${job_id} was refunded before`);
    if (job.end === null) say('refund', place, `job ${job_id} has not ended`);
    const taken = job.reservations.flatMap((id) => reservations.get(id) ?? []);
    holdKeys(entry, taken, place);
    job.refunded = (job.refunded ?? 0) + amount;
    job.place = place;
    for (const id of job.reservations) reservations.delete(id);
    job.reservations = [];
    settleIfExact(job_id, job);
    return taken;
  }

  /** What goes back to API keys is what they had asked for, of the last reservations first. Services before the limits of keys named none. */
  function holdKeys({ of_keys, amount }: CreditsRefunded, taken: readonly Reservation[], place: Place): void {
    if (of_keys === undefined) return;
    const right = new Map<string, number>();
    let left = amount;
    for (const { key_id, amount: reserved } of taken.toReversed()) {
      const back = Math.min(reserved, left);
      left -= back;
      if (key_id !== undefined && back > 0) right.set(key_id, (right.get(key_id) ?? 0) + back);
    }
    const is_right = of_keys.length === right.size && of_keys.every((part) => right.get(part.key_id) === part.amount);
    if (!is_right)
      say('refund', place, `${JSON.stringify(of_keys)} go back to API keys, of ${JSON.stringify([...right])}`);
  }

  /** Whether the log shows that the job's credits add up. */
  function isExact({ allocated, checked, completed, refunded }: Job): boolean {
    return (completed ?? checked) === checked && allocated === checked + (refunded ?? 0);
  }

  function settleIfExact(job_id: string, job: Job): void {
    if (job.end !== null && isExact(job)) forget(job_id, job);
  }

  function forget(job_id: string, job: Job): void {
    for (const id of job.reservations) reservations.delete(id);
    jobs.delete(job_id);
  }

  function step(event: RecordedEvent, at: number): void {
    const { type, data } = event as unknown as JobEvent;
    const job_id = idOf(event.stream);
    const place = placeOf(event);
    switch (type) {
      case 'JobCreated': {
        if (isTestUser(data.owner_id)) {
          of_tests.set(job_id, true);
          return;
        }
        const { owner_id, total_urls: total, credits_allocated: allocated, reservation_id } = data;
        const job: Job = {
          owner_id,
          total,
          allocated,
          checked: 0,
          checked_at: null,
          completed: null,
          end: null,
          ended_at: 0,
          place,
          refunded: null,
          reservations: [],
          is_deleted: false,
        };
        counts.jobs += 1;
        if (allocated > 0) use(reservation_id, allocated, job, job_id, place);
        jobs.set(job_id, job);
        return;
      }
      case 'ReservationVoided': {
        const reservation = reservations.get(data.reservation_id);
        if (reservation === undefined) voided.set(data.reservation_id, true);
        else if (reservation.state === 'open') reservation.state = 'voided';
        return;
      }
    }
    if (type === 'JobDeleted') {
      if (of_tests.get(job_id)) of_tests.delete(job_id);
      else counts.jobs_purged += 1;
    }
    const job = jobs.get(job_id);
    if (job === undefined) return;
    switch (type) {
      case 'JobResumed': {
        const { credits_added, credits_allocated, reservation_id } = data;
        if (credits_allocated !== job.allocated + credits_added) {
          say('settlement', place, `${job.allocated} and ${credits_added} make ${credits_allocated}`);
        }
        job.allocated = credits_allocated;
        if (reservation_id) use(reservation_id, credits_added, job, job_id, place);
        return;
      }
      case 'JobCompleted':
        job.completed = data.completed_urls;
        end(job_id, job, 'completed', at, place);
        return;
      case 'JobCancelled':
        end(job_id, job, 'cancelled', at, place);
        return;
      case 'JobFailed':
        end(job_id, job, 'failed', at, place);
        return;
      case 'ResultsExpired':
        expire(job_id, job, data.completed_urls, place);
        return;
      case 'JobDeleted':
        job.is_deleted = true;
        forgetIfRight(job_id, job);
    }
  }

  /** From here on the log may lack results, and the event says how many there were: never fewer than those that are left. */
  function expire(job_id: string, job: Job, completed_urls: number, place: Place): void {
    if (job.checked > completed_urls || completed_urls > job.allocated) {
      say('settlement', place, `job ${job_id} has ${job.checked} results, but ${completed_urls} expired`);
    }
    job.checked = completed_urls;
    job.is_deleted = false;
    settleIfExact(job_id, job);
  }

  /** A deleted job of which nothing is left to come. */
  function forgetIfRight(job_id: string, job: Job): void {
    const { allocated, completed, refunded } = job;
    const is_right =
      completed === null ? refunded !== null && refunded <= allocated : allocated === completed + (refunded ?? 0);
    if (is_right) forget(job_id, job);
  }

  function end(job_id: string, job: Job, how: Job['end'], at: number, place: Place): void {
    job.end = how;
    job.ended_at = at;
    job.place = place;
    settleIfExact(job_id, job);
  }

  function use(id: string, amount: number, job: Job, job_id: string, place: Place): void {
    const reservation = reservations.get(id);
    if (reservation?.state !== 'open') {
      const why = reservation ? `was ${reservation.state} before` : 'is unknown or was resolved before';
      say('reservation', place, `reservation ${id} ${why}`);
      return;
    }
    if (reservation.job_id !== job_id || reservation.user_id !== job.owner_id) {
      say('reservation', place, `reservation ${id} is of job ${reservation.job_id} and user ${reservation.user_id}`);
    }
    if (reservation.amount !== amount) {
      say('reservation', place, `reservation ${id} is of ${reservation.amount}, the job was allocated ${amount} by it`);
    }
    reservation.state = 'used';
    job.reservations.push(id);
  }

  function check(event: RecordedEvent): void {
    const { job_id } = checksOf(event.stream);
    // The results of other jobs are not even read.
    if (jobs.get(job_id)?.end === null) count(job_id, urlsOf(event.data as URLChecked), Date.parse(event.metadata.at));
  }

  /** Counts results; `at`: when they were appended, in milliseconds since the epoch. */
  function count(job_id: string, urls: number, at: number): void {
    const job = jobs.get(job_id);
    // What comes after the job's end costs nothing.
    if (job === undefined || job.end !== null) return;
    job.checked += urls;
    if (job.checked === job.total) job.checked_at = at;
  }

  const reservation: Pairing = {
    entries: {
      CreditsReserved: reserve,
      CreditsRefunded: (data, of) => (data.transaction_type === 'release' ? release(data, of) : []),
    },
    finish(isLate) {
      let open = 0;
      for (const [id, { state, at, amount, place }] of reservations.entries()) {
        if (state === 'used') continue;
        if (isLate(at)) say('reservation', place, `reservation ${id} of ${amount} was neither used nor released`);
        else open += 1;
      }
      return open;
    },
  };

  const settlement: Pairing = {
    entries: { CreditsRefunded: (data, of) => (data.transaction_type === 'release' ? [] : refund(data, of)) },
    finish(isLate) {
      let open = 0;
      for (const [id, job] of jobs.entries()) {
        if (job.end !== null) {
          if (judge(id, job, isLate)) open += 1;
        } else if (job.checked_at !== null && isLate(job.checked_at)) {
          say('settlement', job.place, `all ${job.total} URLs of job ${id} have results, but it has not ended`);
        }
      }
      return open;
    },
  };

  /** Of a job that has ended, and whose credits do not add up as far as its results are in the log. Returns whether that may be yet. */
  function judge(job_id: string, job: Job, isLate: (at: number) => boolean): boolean {
    const { allocated, checked, completed, refunded, place, end: how } = job;
    const sum = (urls: number) =>
      `job ${job_id}: ${allocated} allocated, ${urls} completed, ${refunded ?? 0} refunded: ${how}`;
    if (job.is_deleted) {
      const is_right = completed === null ? (refunded ?? 0) <= allocated : allocated === completed + (refunded ?? 0);
      if (!is_right) say('settlement', place, sum(completed ?? 0));
      return false;
    }
    if (completed !== null && completed !== checked) {
      say('settlement', place, `job ${job_id} completed ${completed} URLs, but has ${checked} results`);
      return false;
    }
    // Its deletion refunds a failed job.
    if (how === 'failed' && refunded === null) return false;
    const may_follow = refunded === null && checked <= allocated && !isLate(job.ended_at);
    if (!may_follow) say('settlement', place, sum(checked));
    return may_follow;
  }

  return {
    pairings: { reservation, refund: settlement },
    step,
    check,
    count,
    deletedLater(job_id: string): void {
      const job = jobs.get(job_id);
      if (job !== undefined) job.is_deleted = true;
    },
    counts: (): JobCounts => ({ ...counts }),
    /** What a later audit begins with, besides the maps. */
    known: () => counts,
  };
}
