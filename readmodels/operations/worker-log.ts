// Searches the worker log. A process that is asked for it keeps the columns of all segments in memory, 26 to 46 bytes an entry, and reads
// what has changed since: so that any filter, total and page of a million entries takes milliseconds, on either store.

import { DAY_MS, HOUR_MS } from '../../time/units.ts';
import type { Page, Paging } from '../pages.ts';
import { groupHolds } from '../results/results.ts';
import { type LogFilter, LogFollower, passes, type WorkerLogLimits, type WorkerLogReadModels } from './log-follower.ts';
import { entriesOf, type LogEntry, logJobs } from './log-segments.ts';
import type { LogOptions } from './log-tally.ts';

export interface LogHour {
  /** The beginning of the hour, in Unix milliseconds. */
  hour_ms: number;
  entries: number;
  non_2xx: number;
  errors: number;
  answers: number;
  duration_total_ms: number;
}

export type WorkerLog = ReturnType<typeof openWorkerLog>;

export interface WorkerLogSettings {
  worker_log_entries: number;
  worker_log_days: number;
}
export const workerLogLimits = ({ worker_log_entries, worker_log_days }: WorkerLogSettings): WorkerLogLimits => ({
  max_entries: worker_log_entries,
  max_age_ms: worker_log_days * DAY_MS,
});

export function openWorkerLog(
  readmodels: WorkerLogReadModels,
  limits: WorkerLogLimits,
  now: () => number,
  monotonic = () => performance.now(),
) {
  const follower = new LogFollower(readmodels, limits, now, monotonic);
  const jobs = readmodels.collection(logJobs);
  return {
    /** Reads what has changed. */
    refresh: () => follower.refresh(),
    /** Does that while the log is asked for, and forgets it once nobody has asked for a minute: the next one to ask has it read whole. */
    keepUp: () => follower.keepUp(),
    /** The newest entries first; `page` counts from 1. */
    async list(filter: LogFilter, { limit, offset }: Paging): Promise<Page<LogEntry>> {
      await follower.asked();
      const items: LogEntry[] = [];
      let total = 0;
      for await (const pass of follower.passing(filter)) {
        let before = Math.max(0, offset - total);
        total += pass.count;
        if (before >= pass.count || items.length >= limit) continue;
        const entryAt = entriesOf(pass.segment);
        for (let place = pass.segment.entries - 1; place >= pass.from && items.length < limit; place--) {
          if (passes(pass, place) && before-- <= 0) items.push(entryAt(place));
        }
      }
      return { items, total };
    },
    async find({ job_id, index, attempt }: Pick<LogEntry, 'job_id' | 'index' | 'attempt'>): Promise<LogEntry | null> {
      // The job's document says at once when there is no such job.
      if ((await jobs.get(job_id)) === null) return null;
      // Nothing is awaited between this and the search: a process that sleeps there forgets what it has read.
      await follower.asked();
      for await (const { segment, ...pass } of follower.passing({ job_id })) {
        for (let place = segment.entries - 1; place >= pass.from; place--) {
          const is_it = segment.index[place] === index && (segment.attempt?.[place] ?? 1) === attempt;
          if (is_it && passes({ segment, ...pass }, place)) return entriesOf(segment)(place);
        }
      }
      return null;
    },
    /** The most frequent domains first, at most `max_domains`, and all codes. */
    async options(max_domains: number): Promise<LogOptions> {
      await follower.asked();
      return follower.tally.options(await Array.fromAsync(follower.passing({})), max_domains);
    },
    /** Every hour from `from_ms` to `to_ms`, the oldest first. */
    stats: (from_ms: number, to_ms: number) => statsOf(follower, from_ms, to_ms),
  };
}

async function statsOf(follower: LogFollower, from_ms: number, to_ms: number): Promise<LogHour[]> {
  await follower.asked();
  const first = Math.floor(from_ms / HOUR_MS);
  const hours = Array.from({ length: Math.floor(to_ms / HOUR_MS) - first + 1 }, (_, n): LogHour => {
    const counts = { entries: 0, non_2xx: 0, errors: 0, answers: 0, duration_total_ms: 0 };
    return { hour_ms: (first + n) * HOUR_MS, ...counts };
  });
  for await (const pass of follower.passing({})) {
    const { segment, from } = pass;
    if (segment.until_ms < first * HOUR_MS) continue;
    const hour_of = segment.ranges.map(({ at_ms }) => hours[Math.floor(at_ms / HOUR_MS) - first]);
    const is_2xx = segment.outcomes.map(([status]) => groupHolds('2xx', status));
    const is_error = segment.outcomes.map(([, error]) => error !== null);
    for (let place = from; place < segment.entries; place++) {
      const hour = hour_of[segment.range[place]!];
      if (hour === undefined || !passes(pass, place)) continue;
      const outcome = segment.outcome[place]!;
      hour.entries++;
      if (!is_2xx[outcome]) hour.non_2xx++;
      if (is_error[outcome]) hour.errors++;
      if (segment.duration[place] === 0) continue;
      hour.answers++;
      hour.duration_total_ms += segment.duration[place]! - 1;
    }
  }
  return hours;
}
