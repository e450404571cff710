// Streams the progress of a job, so that clients need not poll.

import { hasEnded } from '../../events/job.ts';
import { Type } from '../../events/schema.ts';
import type { JobDocument } from '../../readmodels/jobs/jobs.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { openEventStreams, STREAM_LIMITS } from '../frame/answers/event-streams.ts';
import { routeOf } from '../frame/route.ts';
import { groupOf, type Parts } from '../group.ts';
import type { InFlight } from './in-flight.ts';
import { JobStatusView, jobStatusExample, jobStatusView } from './job-view.ts';

/** The pattern of `Last-Event-ID`; an empty value means none. */
export const EVENT_ID = '^([0-9]{1,15}(-[0-9]{1,15}){2})?$';

function wire({ jobWatch, inFlight, closing, config }: Parts) {
  const eventStreams = openEventStreams({
    ...STREAM_LIMITS,
    all: config.max_event_streams,
    of_a_user: config.event_streams_per_user,
    of_an_address: config.event_streams_per_address,
  });
  closing.addEventListener('abort', eventStreams.close);
  return { jobWatch, stateOf: openJobStates(inFlight), eventStreams };
}
export type Deps = ReturnType<typeof wire>;
const route = routeOf<Deps>(GATEWAY, 'jobs');

/** An event of the stream, as its lines `id:`, `event:` and `data:` make it. */
const StreamedEvent = Type.Union(
  [
    Type.Object(
      {
        id: Type.String({ pattern: EVENT_ID, description: 'The state of the job, to send as `Last-Event-ID`.' }),
        event: Type.Enum(['progress', 'end'] as const, { $id: 'JobEventName' }),
        data: JobStatusView,
      },
      { $id: 'JobChanged' },
    ),
    Type.Object({ event: Type.Literal('in_flight'), data: JobStatusView }, { $id: 'JobInFlight' }),
    Type.Object(
      { event: Type.Literal('deleted'), data: Type.Object({ job_id: Type.String() }, { $id: 'DeletedJob' }) },
      { $id: 'JobDeleted' },
    ),
  ],
  {
    $id: 'JobStreamEvent',
    description: 'An event of the stream: its fields `id`, `event` and `data`, whose JSON is parsed here.',
  },
);

const EXAMPLE = `retry: 2000

id: 0-420-0
event: progress
data: ${JSON.stringify(jobStatusExample)}

`;

export const events = route({
  id: 'followJob',
  method: 'GET',
  path: '/jobs/{job_id}/events',
  access: 'owner',
  lasting: true,
  summary: 'Follow the progress of a job as server-sent events',
  description:
    'The stream begins with the current state, and sends `progress` after each change, at most a few times a second. Each event holds ' +
    'the whole job, like `GET /jobs/{job_id}`. Between two changes `in_flight`, without an id, says that other URLs are in flight. `end` is the last event, when the job has ended and its credits are settled; ' +
    '`deleted` ends the stream of a deleted job. A paused job keeps its stream. Comments in between keep proxies from closing the ' +
    'stream. It lasts half an hour at most, and no longer than the process and your token or session. When it ends without `end` or `deleted`, open it again ' +
    'with the id of the last event as `Last-Event-ID`.\n\n' +
    'Send the token in the header `Authorization`, never in a URL, which proxies log. The `EventSource` of browsers cannot send this ' +
    'header: read the stream with `fetch`.',
  headers: Type.Object({
    'last-event-id': Type.Optional(
      Type.String({
        pattern: EVENT_ID,
        examples: ['0-420-0'],
        description: 'The id of the last event that you received. The stream then sends only later states.',
      }),
    ),
  }),
  responses: {
    200: {
      description: 'The events.',
      content_type: 'text/event-stream; charset=utf-8',
      schema: Type.String({ contentMediaType: 'text/event-stream', contentSchema: Type.Array(StreamedEvent) }),
      example: EXAMPLE,
      headers: { 'X-Accel-Buffering': '`no`: nginx passes each event on at once.' },
    },
    204: { description: '`Last-Event-ID` is the id of the event `end`: no further event will come.' },
  },
  errors: {
    429: 'You, or your address, follow as many jobs as the service allows. The header Retry-After says when to try again.',
  },
  handler({ job, headers, caller, ip, isStillAdmitted }, { jobWatch, stateOf, eventStreams }) {
    const { _id: job_id } = job;
    let sent = headers['last-event-id'] ?? '';
    /** Undefined: what a client that reconnects was told. */
    let sent_in_flight: number | null | undefined;
    if (isOver(job) && eventId(job) === sent) return { status: 204 };
    const stream = eventStreams.open({ user_id: caller.user_id, ip }, isStillAdmitted);

    function send(now: JobDocument | null): void {
      if (now === null) {
        stream.end(deletedEvent(job_id));
        return;
      }
      const state = stateOf(now);
      const { id, urls_in_flight } = state;
      if (isOver(now)) stream.end(state.event('end'));
      else if (isAfter(id, sent)) stream.send(state.event('progress'));
      else if (id === sent && urls_in_flight !== sent_in_flight)
        stream.send(state.event('in_flight'), state.event('progress'));
      else return;
      sent = id;
      sent_in_flight = urls_in_flight;
    }
    send(job);
    stream.readable.once('close', jobWatch.follow(job_id, send));
    return {
      stream: stream.readable,
      headers: { 'cache-control': 'no-store, no-transform', 'x-accel-buffering': 'no' },
    };
  },
});

export const group = groupOf(wire, [events]);

// A job as server-sent events. Each event holds the whole job, and its id names the job's state. A client that reconnects with the
// id of its last event therefore gets the current state from any process, and no process keeps a history.

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
class JobState {
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
const inFlightEvent = (view: JobStatusView) => frame('in_flight', view);

/** The event of a deleted job. It has no id, because there is nothing to reconnect to. */
const deletedEvent = (job_id: string) => frame('deleted', { job_id });

function frame(name: string, data: object, id?: string): string {
  const lines = [...(id === undefined ? [] : [`id: ${id}`]), `event: ${name}`, `data: ${JSON.stringify(data)}`];
  return `${lines.join('\n')}\n\n`;
}
