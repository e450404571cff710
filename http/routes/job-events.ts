// The progress of a job as it happens, for whoever would else ask again and again.
import { Type } from '../../events/schema.ts';
import type { JobDocument } from '../../readmodels/jobs.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { openEventStreams, STREAM_LIMITS } from '../event-streams.ts';
import { groupOf, type Parts } from '../group.ts';
import { deletedEvent, EVENT_ID, eventId, isAfter, isOver, jobEvent } from '../job-events.ts';
import { jobExample } from '../job-view.ts';
import { routeOf } from '../route.ts';

function wire({ jobWatch, closing }: Parts) {
  const eventStreams = openEventStreams();
  closing.addEventListener('abort', eventStreams.close);
  return { jobWatch, eventStreams };
}
export type Deps = ReturnType<typeof wire>;
const route = routeOf<Deps>(GATEWAY);

const EXAMPLE = `retry: 2000

id: 0-420-0
event: progress
data: ${JSON.stringify(jobExample)}

`;

export const events = route({
  method: 'GET',
  path: '/jobs/{job_id}/events',
  access: 'owner',
  lasting: true,
  summary: 'Follow a job: its progress as server-sent events',
  description:
    'First how the job stands, then `progress` whenever it has changed, a few times a second at the most; each event ' +
    'holds the whole job, as `GET /jobs/{job_id}` does. `end` is the last one, when the job has ended and its credits are ' +
    'settled; `deleted` ends the stream of a job that is gone. A paused job is waited for. Comments come in between, so that ' +
    'proxies take the stream for alive. A stream that ends without one of these two events (it lasts half an hour at the ' +
    'most, and no longer than the process) is to be opened again, with the id of the last event as `Last-Event-ID`.\n\n' +
    'The token goes into the header `Authorization`, never into a URL, which is logged on its way. `EventSource` of browsers ' +
    'cannot send it: read the stream by `fetch`.',
  tags: ['jobs'],
  headers: Type.Object({
    'last-event-id': Type.Optional(
      Type.String({
        pattern: EVENT_ID,
        examples: ['0-420-0'],
        description: 'Of the last event that was received: nothing is sent again up to it. Empty: from now on.',
      }),
    ),
  }),
  responses: {
    200: {
      description: 'The events, as they happen.',
      content_type: 'text/event-stream; charset=utf-8',
      schema: Type.String(),
      example: EXAMPLE,
      headers: { 'X-Accel-Buffering': 'So that nginx passes on each event at once.' },
    },
    204: { description: '`Last-Event-ID` is that of the event `end`: there is nothing to wait for.' },
  },
  errors: { 429: `You follow ${STREAM_LIMITS.of_a_user} jobs already; the header Retry-After says when to try again.` },
  handler({ job, headers, caller }, { jobWatch, eventStreams }) {
    const { _id: job_id } = job;
    let sent = headers['last-event-id'] ?? '';
    if (isOver(job) && eventId(job) === sent) return { status: 204 };
    const stream = eventStreams.open(caller.user_id);

    function tell(now: JobDocument | null): void {
      if (now === null) stream.end(deletedEvent(job_id));
      else if (isOver(now)) stream.end(jobEvent('end', now));
      else if (isAfter(eventId(now), sent)) {
        sent = eventId(now);
        stream.send(jobEvent('progress', now));
      }
    }
    tell(job);
    stream.readable.once('close', jobWatch.follow(job_id, tell));
    return {
      stream: stream.readable,
      headers: { 'cache-control': 'no-store, no-transform', 'x-accel-buffering': 'no' },
    };
  },
});

export const group = groupOf(wire, [events]);
