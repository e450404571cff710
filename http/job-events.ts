// A job as server-sent events. Each is the whole job, and its id says where the job stands: whoever comes back with an
// id misses nothing that still matters, whichever process answers, and nothing is kept for it.
import { hasEnded } from '../events/job.ts';
import type { JobDocument } from '../readmodels/jobs.ts';
import { jobView } from './job-view.ts';

/** Of `Last-Event-ID`; empty: none. */
export const EVENT_ID = '^([0-9]{1,15}(-[0-9]{1,15}){2})?$';

/** All that changes a job's view changes one of these, and none of them ever goes back. */
export const eventId = ({ revision, completed_urls, credits_refunded }: JobDocument) =>
  [revision, completed_urls, credits_refunded].join('-');

/** Whether the first is of a later state than the second, which may be empty. */
export function isAfter(id: string, other: string): boolean {
  if (other === '') return true;
  const others = other.split('-').map(Number);
  const [difference = 0] = id.split('-').flatMap((part, n) => Number(part) - others[n]! || []);
  return difference > 0;
}

/** Nothing will change any more: it has ended, and what it did not use is given back. */
export const isOver = ({ status, due }: JobDocument) => hasEnded(status) && due !== 'settlement';

export const jobEvent = (name: 'progress' | 'end', job: JobDocument) => frame(name, jobView(job), eventId(job));

/** Without an id: there is nothing to come back to. */
export const deletedEvent = (job_id: string) => frame('deleted', { job_id });

function frame(name: string, data: object, id?: string): string {
  const lines = [...(id === undefined ? [] : [`id: ${id}`]), `event: ${name}`, `data: ${JSON.stringify(data)}`];
  return `${lines.join('\n')}\n\n`;
}
