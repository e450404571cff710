// Completes jobs whose URLs are all checked, and pauses jobs that have used their credits.
import type { CommandContext, Done } from '../commands/aggregate.ts';
import type { Jobs } from '../commands/job.ts';
import type { Position } from '../events/event-store.ts';
import type { JobDocument } from '../readmodels/jobs.ts';
import type { LiveCollection } from '../readmodels/read-models.ts';
import type { StatsDocument } from '../readmodels/stats.ts';
import { type Apart, TOGETHER } from './put-off.ts';

const AT_ONCE = 1000;

/** Returns the position of the last event that it appended; null when it appended none. */
export async function completeJobs(
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
  // The projector writes statistics and jobs in one transaction, so these counts are complete.
  const found = finished.length > 0 ? await stats.getMany(finished.map(({ _id }) => _id)) : [];
  const broken = new Map(found.map(({ _id, broken_urls }) => [_id, broken_urls]));
  await apart.each(finished, (job) => {
    const { _id, completed_urls } = job;
    const counts = { completed_urls, broken_urls: broken.get(_id) ?? 0 };
    return note(commands.complete(_id, counts, context(_id), job));
  });
  // Only the log knows which ceiling it is.
  await apart.each(at_ceiling, ({ _id, credits_allocated }) =>
    note(commands.run(_id, { type: 'pauseAtCeiling', credits_allocated }, context(_id))),
  );
  return reached;
}
