// Watches jobs for their followers. However many followers and jobs there are, one look reads the documents once for all
// of them, and only when the documents, or the URLs in flight of a followed job, have changed.
import type { Logger } from 'pino';
import type { Position } from '../../events/event-store.ts';
import type { JobDocument } from '../../readmodels/jobs/jobs.ts';
import type { LiveCollection } from '../../readmodels/read-models.ts';
import type { HandedOut } from '../../roles/role-signs.ts';

/** The interval between looks. */
const LOOK_MS = 250;
/** The interval while a follower expects a change within milliseconds. */
const SOON_MS = 10;

/** Receives the job after each look, changed or not, and null after its deletion. */
export type Follower = (job: JobDocument | null) => void;

export type JobWatch = ReturnType<typeof openJobWatch>;

export interface JobWatchOptions {
  jobs: Pick<LiveCollection<JobDocument>, 'getMany'>;
  /** The position of the log that the documents have reached. */
  position(): Promise<Position>;
  /** Whether a job without a document was deleted: its document can also be missing during a rebuild. */
  is_deleted(job_id: string): Promise<boolean>;
  /** What is handed out now. */
  work(): Pick<HandedOut, 'urls_by_job'> | null;
  log: Logger;
  look_ms?: number;
}

export function openJobWatch({ jobs, position, is_deleted, work, log, look_ms = LOOK_MS }: JobWatchOptions) {
  const followed = new Map<string, Set<Follower>>();
  /** The position and the URLs in flight at the last look; null when a follower has come since and may have missed a change. */
  let seen: string | null = null;
  let timer: NodeJS.Timeout | null = null;
  let failing = false;
  let looking = false;
  /** The number of followers that expect a change within milliseconds. */
  let hurried = 0;
  const goOn = () => setTimeout(lookAndGoOn, hurried > 0 ? Math.min(SOON_MS, look_ms) : look_ms);

  async function look(): Promise<void> {
    const at = await position();
    const ids = [...followed.keys()];
    const in_flight = work()?.urls_by_job;
    const now = `${at} ${ids.map((id) => in_flight && (in_flight[id] ?? 0))}`;
    if (now === seen) return;
    seen = now;
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
      if (!failing && followed.size > 0)
        log.warn({ err: error }, 'followed jobs cannot be read; the next look tries again');
      failing = true;
    }
    looking = false;
    timer = followed.size > 0 ? goOn() : null;
  }
  return {
    /** Returns a function that ends the following. `is_soon`: the follower expects a change within milliseconds. */
    follow(job_id: string, follower: Follower, { is_soon = false }: { is_soon?: boolean } = {}): () => void {
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
    close(): void {
      followed.clear();
      if (timer) clearTimeout(timer);
    },
  };
}
