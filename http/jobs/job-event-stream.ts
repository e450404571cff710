// A job as server-sent events. Each event holds the whole job, and its id names the job's state. A client that reconnects with the
// id of its last event therefore gets the current state from any process, and no process keeps a history.
import { hasEnded } from '../../events/job.ts';
import type { JobDocument } from '../../readmodels/jobs/jobs.ts';
import type { InFlight } from './in-flight.ts';
import { type JobStatusView, jobStatusView } from './job-view.ts';

/** The pattern of `Last-Event-ID`; an empty value means none. */
export const EVENT_ID = '^([0-9]{1,15}(-[0-9]{1,15}){2})?$';

/** Every change of a job raises one of these three numbers, and none of them ever falls. The URLs in flight are no change of the job. */
export const eventId = ({ revision, completed_urls, credits_refunded }: JobDocument) =>
  [revision, completed_urls, credits_refunded].join('-');

/**
 * Whether the first event id is of a later state than the second, which may be empty.
 * @example isAfter('0-420-0', '0-400-0') // true
 */
export function isAfter(id: string, other: string): boolean {
  if (other === '') return true;
  const others = other.split('-').map(Number);
  const [difference = 0] = id.split('-').flatMap((part, n) => Number(part) - others[n]! || []);
  return difference > 0;
}

/** Whether the job will never change again: it has ended, and the ledger has its unused credits back. */
export const isOver = ({ status, due }: JobDocument) => hasEnded(status) && due !== 'settlement';

/** A state of a job, with the texts of its events. Each is made when it is first asked for, and kept. */
export class JobState {
  readonly id: string;
  readonly urls_in_flight: number | null;
  readonly #view: JobStatusView;
  readonly #texts = new Map<string, string>();

  constructor(job: JobDocument, inFlight: InFlight) {
    this.id = eventId(job);
    this.#view = jobStatusView(job, inFlight);
    this.urls_in_flight = this.#view.urls_in_flight;
  }

  event(name: 'progress' | 'end' | 'in_flight'): string {
    const text =
      this.#texts.get(name) ?? (name === 'in_flight' ? inFlightEvent(this.#view) : jobEvent(name, this.#view, this.id));
    this.#texts.set(name, text);
    return text;
  }
}

/** The states of jobs: the followers of a job are given the same document at a look, and share what is made of it. */
export function openJobStates(inFlight: InFlight): (job: JobDocument) => JobState {
  const made = new WeakMap<JobDocument, JobState>();
  return (job) => {
    let state = made.get(job);
    if (!state) made.set(job, (state = new JobState(job, inFlight)));
    return state;
  };
}

export const jobEvent = (name: 'progress' | 'end', view: JobStatusView, id: string) => frame(name, view, id);

/** Between two changes of the job: other URLs are in flight. It has no id, because a client that reconnects is told them anew. */
export const inFlightEvent = (view: JobStatusView) => frame('in_flight', view);

/** The event of a deleted job. It has no id, because there is nothing to reconnect to. */
export const deletedEvent = (job_id: string) => frame('deleted', { job_id });

function frame(name: string, data: object, id?: string): string {
  const lines = [...(id === undefined ? [] : [`id: ${id}`]), `event: ${name}`, `data: ${JSON.stringify(data)}`];
  return `${lines.join('\n')}\n\n`;
}
