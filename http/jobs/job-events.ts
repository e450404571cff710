// Streams the progress of a job, so that clients need not poll.
import { Type } from '../../events/schema.ts';
import type { JobDocument } from '../../readmodels/jobs/jobs.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { openEventStreams, STREAM_LIMITS } from '../frame/answers/event-streams.ts';
import { routeOf } from '../frame/route.ts';
import { groupOf, type Parts } from '../group.ts';
import { deletedEvent, EVENT_ID, eventId, isAfter, isOver, openJobStates } from './job-event-stream.ts';
import { JobStatusView, jobStatusExample } from './job-view.ts';

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
