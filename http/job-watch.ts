// Watches jobs for those who follow them: however many follow however many jobs, a process asks the documents once a look
// for all of them, and only when these have moved on.
import type { Logger } from 'pino';
import type { Position } from '../events/event-store.ts';
import type { JobDocument } from '../readmodels/jobs.ts';
import type { LiveCollection } from '../readmodels/read-models.ts';

/** So often a follower is told of changes at the most. */
const LOOK_MS = 250;

/** Told how the job is after a look, whether or not it has changed, and null when it was deleted. */
export type Follower = (job: JobDocument | null) => void;

export interface JobWatch {
  /** Until the function that it gives is called. */
  follow(job_id: string, follower: Follower): () => void;
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
    try {
      await look();
      failing = false;
    } catch (error) {
      seen = null;
      if (!failing && followed.size > 0) log.warn({ err: error }, 'jobs that are followed cannot be read');
      failing = true;
    }
    timer = followed.size > 0 ? setTimeout(lookAndGoOn, look_ms) : null;
  }
  return {
    follow(job_id, follower) {
      const followers = followed.get(job_id) ?? new Set();
      followed.set(job_id, followers.add(follower));
      seen = null;
      timer ??= setTimeout(lookAndGoOn, look_ms);
      return () => {
        followers.delete(follower);
        if (followers.size === 0 && followed.get(job_id) === followers) followed.delete(job_id);
      };
    },
    close() {
      followed.clear();
      if (timer) clearTimeout(timer);
    },
  };
}
