// Watches jobs for those who follow them: however many follow however many jobs, a process asks the documents once a look
// for all of them, and only when these have moved on.
import type { Logger } from 'pino';
import type { Position } from '../events/event-store.ts';
import type { JobDocument } from '../readmodels/jobs.ts';
import type { LiveCollection } from '../readmodels/read-models.ts';

/** So often a follower is told of changes at the most. */
const LOOK_MS = 250;
/** While somebody waits for what is a matter of milliseconds. */
const SOON_MS = 10;

/** Told how the job is after a look, whether or not it has changed, and null when it was deleted. */
export type Follower = (job: JobDocument | null) => void;

export interface JobWatch {
  /** Until the function that it gives is called. `is_soon`: what it waits for is a matter of milliseconds. */
  follow(job_id: string, follower: Follower, how?: { is_soon?: boolean }): () => void;
  close(): void;
}

export interface JobWatchOptions {
  jobs: Pick<LiveCollection<JobDocument>, 'getMany'>;
  /** How far the documents have seen the log. */
  position(): Promise<Position>;
  /** Of a job that has no document: it may be that the documents are just being built anew. */
  is_deleted(job_id: string): Promise<boolean>;
  log: Logger;
  look_ms?: number;
}

export function openJobWatch({ jobs, position, is_deleted, log, look_ms = LOOK_MS }: JobWatchOptions): JobWatch {
  const followed = new Map<string, Set<Follower>>();
  /** What the last look saw; null when somebody has come since who may have missed something. */
  let seen: Position | null = null;
  let timer: NodeJS.Timeout | null = null;
  let failing = false;
  let looking = false;
  /** How many followers wait for what is a matter of milliseconds. */
  let hurried = 0;
  const goOn = () => setTimeout(lookAndGoOn, hurried > 0 ? Math.min(SOON_MS, look_ms) : look_ms);

  async function look(): Promise<void> {
    const at = await position();
    if (at === seen) return;
    seen = at;
    const ids = [...followed.keys()];
    const found = new Map((await jobs.getMany(ids)).map((job) => [job._id, job]));
    for (const id of ids) {
      const job = found.get(id) ?? null;
      if (job === null && !(await is_deleted(id))) continue;
      for (const tell of followed.get(id) ?? []) tell(job);
    }
  }
  async function lookAndGoOn(): Promise<void> {
    looking = true;
    try {
      await look();
      failing = false;
    } catch (error) {
      seen = null;
      if (!failing && followed.size > 0) log.warn({ err: error }, 'jobs that are followed cannot be read');
      failing = true;
    }
    looking = false;
    timer = followed.size > 0 ? goOn() : null;
  }
  return {
    follow(job_id, follower, { is_soon = false } = {}) {
      const followers = followed.get(job_id) ?? new Set();
      followed.set(job_id, followers.add(follower));
      seen = null;
      if (is_soon) hurried++;
      if (is_soon && timer && !looking) {
        clearTimeout(timer);
        timer = null;
      }
      timer ??= goOn();
      return () => {
        if (!followers.delete(follower)) return;
        if (is_soon) hurried--;
        if (followers.size === 0 && followed.get(job_id) === followers) followed.delete(job_id);
      };
    },
    close() {
      followed.clear();
      if (timer) clearTimeout(timer);
    },
  };
}
