// The rules of jobs: of each ended job the credits add up.
import { urlsOf } from '../events/checked-range.ts';
import type { URLChecked } from '../events/checks.ts';
import type { CreditsRefunded } from '../events/credits.ts';
import type { RecordedEvent } from '../events/event-store.ts';
import type { JobCreated, JobEvent } from '../events/job.ts';
import { checksOf, idOf } from '../events/streams.ts';
import { isTestUser } from '../events/test-user.ts';
import type { Taken } from './account.ts';
import { type Place, placeOf, type ReportFinding } from './findings.ts';
import type { EntryOf, Pairing } from './pairing.ts';
import { ReservationRules } from './reservation-rules.ts';
import type { Spill, SpillMap } from './spill.ts';

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

export class JobRules {
  readonly #reservations: ReservationRules;
  /** A job whose credits add up is forgotten. */
  readonly #jobs: SpillMap<Job>;
  /** Jobs of test keys, until they are deleted: they cost nothing, and have no entries. */
  readonly #of_tests: SpillMap<true>;
  readonly #counts: JobCounts;
  readonly #say: ReportFinding;
  readonly pairings: { readonly reservation: Pairing; readonly refund: Pairing };

  /** `in_memory`: the values of each kind in memory. */
  constructor(spill: Spill, in_memory: number, say: ReportFinding, known?: JobCounts) {
    this.#reservations = new ReservationRules(spill, in_memory, say);
    this.#jobs = spill.map('jobs', in_memory);
    this.#of_tests = spill.map('jobs_of_tests', in_memory);
    this.#counts = known ?? { jobs: 0, jobs_purged: 0 };
    this.#say = say;
    const refunded: Pairing['entries'] = {
      CreditsRefunded: (entry, of) => (entry.transaction_type === 'release' ? [] : this.#refund(entry, of)),
    };
    this.pairings = {
      reservation: this.#reservations,
      refund: { entries: refunded, finish: (isLate) => this.#finish(isLate) },
    };
  }

  get counts(): JobCounts {
    return { ...this.#counts };
  }

  /** What a later audit begins with, besides the maps. */
  get known(): JobCounts {
    return this.#counts;
  }

  deletedLater(job_id: string): void {
    const job = this.#jobs.get(job_id);
    if (job !== undefined) job.is_deleted = true;
  }

  #refund(entry: CreditsRefunded, { user_id, place }: EntryOf): Taken[] {
    const { reference_id: job_id, amount } = entry;
    const job = this.#jobs.get(job_id);
    if (job === undefined) {
      this.#say('refund', place, `job ${job_id} is unknown or was settled before`);
      return [];
    }
    if (job.owner_id !== user_id) this.#say('refund', place, `job ${job_id} belongs to ${job.owner_id}`);
    if (job.refunded !== null) this.#say('refund', place, `job ${job_id} was refunded before`);
    if (job.end === null) this.#say('refund', place, `job ${job_id} has not ended`);
    const taken = this.#reservations.refunded(job.reservations, entry, place);
    job.refunded = (job.refunded ?? 0) + amount;
    job.place = place;
    job.reservations = [];
    this.#settleIfExact(job_id, job);
    return taken;
  }

  /** Whether the log shows that the job's credits add up. */
  #isExact({ allocated, checked, completed, refunded }: Job): boolean {
    return (completed ?? checked) === checked && allocated === checked + (refunded ?? 0);
  }

  #settleIfExact(job_id: string, job: Job): void {
    if (job.end !== null && this.#isExact(job)) this.#forget(job_id, job);
  }

  #forget(job_id: string, job: Job): void {
    this.#reservations.forget(job.reservations);
    this.#jobs.delete(job_id);
  }

  step(event: RecordedEvent, at: number): void {
    const { type, data } = event as unknown as JobEvent;
    const job_id = idOf(event.stream);
    const place = placeOf(event);
    if (type === 'JobCreated') this.#create(job_id, data, place);
    else if (type === 'ReservationVoided') this.#reservations.void(data.reservation_id);
    else this.#follow(job_id, { type, data } as JobEvent, at, place);
  }

  #follow(job_id: string, { type, data }: JobEvent, at: number, place: Place): void {
    if (type === 'JobDeleted') {
      if (this.#of_tests.get(job_id)) this.#of_tests.delete(job_id);
      else this.#counts.jobs_purged += 1;
    }
    const job = this.#jobs.get(job_id);
    if (job === undefined) return;
    switch (type) {
      case 'JobResumed': {
        const { credits_added, credits_allocated, reservation_id } = data;
        if (credits_allocated !== job.allocated + credits_added) {
          this.#say('settlement', place, `${job.allocated} and ${credits_added} make ${credits_allocated}`);
        }
        job.allocated = credits_allocated;
        if (reservation_id) this.#use(reservation_id, credits_added, job_id, job, place);
        return;
      }
      case 'JobCompleted':
        job.completed = data.completed_urls;
        this.#end(job_id, job, 'completed', at, place);
        return;
      case 'JobCancelled':
        this.#end(job_id, job, 'cancelled', at, place);
        return;
      case 'JobFailed':
        this.#end(job_id, job, 'failed', at, place);
        return;
      case 'ResultsExpired':
        this.#expire(job_id, job, data.completed_urls, place);
        return;
      case 'JobDeleted':
        job.is_deleted = true;
        this.#forgetIfRight(job_id, job);
    }
  }

  #create(job_id: string, data: JobCreated, place: Place): void {
    const { owner_id, total_urls: total, credits_allocated: allocated, reservation_id } = data;
    if (isTestUser(owner_id)) {
      this.#of_tests.set(job_id, true);
      return;
    }
    const job: Job = {
      ...{ owner_id, total, allocated, checked: 0, checked_at: null, completed: null },
      ...{ end: null, ended_at: 0, place, refunded: null, reservations: [], is_deleted: false },
    };
    this.#counts.jobs += 1;
    if (allocated > 0) this.#use(reservation_id, allocated, job_id, job, place);
    this.#jobs.set(job_id, job);
  }

  #use(id: string, amount: number, job_id: string, job: Job, place: Place): void {
    const is_used = this.#reservations.use(id, amount, { job_id, user_id: job.owner_id, place });
    if (is_used) job.reservations.push(id);
  }

  /** From here on the log may lack results, and the event says how many there were: never fewer than those that are left. */
  #expire(job_id: string, job: Job, completed_urls: number, place: Place): void {
    if (job.checked > completed_urls || completed_urls > job.allocated) {
      this.#say('settlement', place, `job ${job_id} has ${job.checked} results, but ${completed_urls} expired`);
    }
    job.checked = completed_urls;
    job.is_deleted = false;
    this.#settleIfExact(job_id, job);
  }

  /** A deleted job of which nothing is left to come. */
  #forgetIfRight(job_id: string, job: Job): void {
    const { allocated, completed, refunded } = job;
    const is_right =
      completed === null ? refunded !== null && refunded <= allocated : allocated === completed + (refunded ?? 0);
    if (is_right) this.#forget(job_id, job);
  }

  #end(job_id: string, job: Job, how: Job['end'], at: number, place: Place): void {
    job.end = how;
    job.ended_at = at;
    job.place = place;
    this.#settleIfExact(job_id, job);
  }

  check(event: RecordedEvent): void {
    const { job_id } = checksOf(event.stream);
    // The results of other jobs are not even read.
    if (this.#jobs.get(job_id)?.end === null)
      this.count(job_id, urlsOf(event.data as URLChecked), Date.parse(event.metadata.at));
  }

  /** Counts results; `at`: when they were appended, in milliseconds since the epoch. */
  count(job_id: string, urls: number, at: number): void {
    const job = this.#jobs.get(job_id);
    // What comes after the job's end costs nothing.
    if (job === undefined || job.end !== null) return;
    job.checked += urls;
    if (job.checked === job.total) job.checked_at = at;
  }

  #finish(isLate: (at: number) => boolean): number {
    let open = 0;
    for (const [id, job] of this.#jobs.entries()) {
      if (job.end !== null) {
        if (this.#judge(id, job, isLate)) open += 1;
      } else if (job.checked_at !== null && isLate(job.checked_at)) {
        this.#say('settlement', job.place, `all ${job.total} URLs of job ${id} have results, but it has not ended`);
      }
    }
    return open;
  }

  /** Of a job that has ended, and whose credits do not add up as far as its results are in the log. Returns whether that may be yet. */
  #judge(job_id: string, job: Job, isLate: (at: number) => boolean): boolean {
    const { allocated, checked, completed, refunded, place, end: how } = job;
    const sum = (urls: number) =>
      `job ${job_id}: ${allocated} allocated, ${urls} completed, ${refunded ?? 0} refunded: ${how}`;
    if (job.is_deleted) {
      const is_right = completed === null ? (refunded ?? 0) <= allocated : allocated === completed + (refunded ?? 0);
      if (!is_right) this.#say('settlement', place, sum(completed ?? 0));
      return false;
    }
    if (completed !== null && completed !== checked) {
      this.#say('settlement', place, `job ${job_id} completed ${completed} URLs, but has ${checked} results`);
      return false;
    }
    // Its deletion refunds a failed job.
    if (how === 'failed' && refunded === null) return false;
    const may_follow = refunded === null && checked <= allocated && !isLate(job.ended_at);
    if (!may_follow) this.#say('settlement', place, sum(checked));
    return may_follow;
  }
}
