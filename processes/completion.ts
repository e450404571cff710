// Completes jobs whose URLs are all checked, and pauses jobs that have used their credits.
import type { CommandContext, Done } from '../commands/aggregate.ts';
import type { Jobs } from '../commands/job.ts';
import { brokenOf } from '../events/checked-range.ts';
import type { URLChecked } from '../events/checks.ts';
import type { EventStore, Position } from '../events/event-store.ts';
import { checksStream } from '../events/streams.ts';
import type { JobDocument } from '../readmodels/jobs.ts';
import type { LiveCollection } from '../readmodels/read-models.ts';
import type { StatsDocument } from '../readmodels/stats.ts';
import { type Apart, TOGETHER } from './put-off.ts';

const AT_ONCE = 1000;
/** Statistics in one read: each document has up to 500 domains. */
const READ_AT_ONCE = 100;

/** Returns the position of the last event that it appended; null when it appended none. */
export async function completeJobs(
  log: EventStore,
  jobs: LiveCollection<JobDocument>,
  stats: LiveCollection<StatsDocument>,
  commands: Jobs,
  context: (job_id: string) => CommandContext,
  apart: Apart = TOGETHER,
): Promise<Position | null> {
  let reached: Position | null = null;
  // The read model may be behind the log. A refusal then says that the job has moved on.
  async function note(running: Promise<Done>): Promise<void> {
    const done = await running;
    if (done.ok && (reached === null || done.position > reached)) reached = done.position;
  }
  const due = await apart.find(jobs, { due: { $in: ['completion', 'ceiling'] } }, AT_ONCE);
  const [finished, at_ceiling] = [
    due.filter(({ due }) => due === 'completion'),
    due.filter(({ due }) => due === 'ceiling'),
  ];
  for (let from = 0; from < finished.length; from += READ_AT_ONCE) {
    const some = finished.slice(from, from + READ_AT_ONCE);
    // The projector writes statistics and jobs in one transaction, so these counts are complete, unless somebody has dropped some.
    const counted = new Map(
      (await stats.getMany(some.map(({ _id }) => _id))).map((document) => [document._id, document]),
    );
    await apart.each(some, async (job) => {
      const { _id, completed_urls } = job;
      const statistics = counted.get(_id);
      const is_counted = statistics?.checked_urls === completed_urls;
      const broken_urls = is_counted ? statistics.broken_urls : await brokenInLog(log, job);
      return note(commands.complete(_id, { completed_urls, broken_urls }, context(_id), job));
    });
  }
  // Only the log knows which ceiling it is.
  await apart.each(at_ceiling, ({ _id, credits_allocated }) =>
    note(commands.run(_id, { type: 'pauseAtCeiling', credits_allocated }, context(_id))),
  );
  return reached;
}

async function brokenInLog(log: EventStore, { _id, total_urls, batch_size }: JobDocument): Promise<number> {
  let broken = 0;
  for (let batch = 0; batch * batch_size < total_urls; batch += 1) {
    for await (const { data } of log.readStream(checksStream(_id, batch))) broken += brokenOf(data as URLChecked);
  }
  return broken;
}
