// What holds for all operations of an API, in words: the beginning of its document, its tags, and what the service sends.
import { Type } from 'typebox';
import { WebhookEvent } from '../../events/webhook.ts';
import type { Json } from './components.ts';
import type { Description } from './document.ts';

const VERSION = '1.0.0';
const license = { name: 'MIT', identifier: 'MIT' };

const COMMON = `
## Requests and answers

Bodies are JSON in UTF-8. Times are in UTC, as RFC 3339 writes them. Fields and parameters that an operation does not know
are refused, so that a misspelt one does no harm. Answers may get new fields in later versions: pass over those that you do
not know. Every answer has an \`X-Request-ID\`; one that a request comes with is kept.

## Reading what was written

The answer to a change names the place in the log that it reached, \`X-Log-Position\`. A read that comes with it, or comes from the
same caller to the same process, waits for at most 2 s until it sees the change.

What is read as JSON has an \`ETag\`: sent back as \`If-None-Match\`, it is answered with 304 and no body while nothing has changed.`;

const GATEWAY = `The API of the console: jobs from files, their results, exports and shares, credits and API keys, and the administrators'
lists. Programs of others use the public API, \`/api/v2/openapi.json\`.
${COMMON}

## Errors

\`{"detail": "...", "code": "..."}\`: a sentence for people and a word for programs. A request that is not as described is 422, with a
list in \`detail\`: \`{"loc": ["query", "limit"], "msg": "must be <= 1000", "type": "maximum"}\` each.

## Lists

\`limit\` and \`offset\`, answered with \`items\` and the \`total\` over all pages.`;

const V2 = `Submit lists of URLs, follow the jobs, page through the results, and be told when they are done.
${COMMON}

## Errors

\`{"error": {"code": "...", "message": "...", "details": {}}}\`. \`code\` is one of a closed list (see \`Error\`), for programs to decide on; \`message\`
says what to do; \`details\` has the rest. A request that is not as described is 422, with the same list of problems in
\`error.details.problems\` and in \`detail\`. Repeat what was answered with 429, 503 or \`idempotency_in_progress\` after \`Retry-After\`
seconds, and what was answered with 500 or not at all after a second, then two, four and so on; never another 4xx.

## Idempotency

Send submissions with an \`Idempotency-Key\`, one UUID v4 for each job that you want. For 24 hours the same key with the same URLs gets the
first answer again, marked \`Idempotency-Replayed: true\`, and makes no second job: a request whose answer was lost is safe to repeat.

## Pages of results

By cursor no result is missed or repeated, even while results arrive: begin with an empty \`cursor\`, go on with \`next_cursor\` until it is
null. By \`limit\` and \`offset\` pages may shift while a job is processing.

## Rate limits

An API key has a number of requests a minute and a day. An answer says how many are left: \`X-RateLimit-Limit\`,
\`X-RateLimit-Remaining\`, and in \`X-RateLimit-Reset\` when they are all there again, in seconds since the epoch. One too many is 429
with \`Retry-After\`. Two kinds of answers have none of the three: a 503, and the refusal of what is no whole HTTP request (400, 408,
413, 417 or 431), which ends the connection.

## Webhooks

A webhook endpoint is sent \`job.completed\` for each job of yours that completes, signed in the header \`Service-Signature\`. Answer
with any 2xx within 15 s; else it is sent again, 8 times in some 28 hours. It may arrive more than once: drop those whose
\`Service-Event-Id\` you know.`;

const TAGS = {
  jobs: 'A job is a list of URLs to check: made, looked at, paused, resumed, cancelled, deleted; with its results.',
  exports: 'The results of a job as files.',
  shares: 'Public, read-only links to a job.',
  analysis: 'Looking before a job is made.',
  domains: 'The blocklist, and how the domains that were checked are doing.',
  account: "One's credits and API keys.",
  usage: 'The credits that are left, and those that were used.',
  webhooks: 'Endpoints that are told of completed jobs, and what was delivered to them.',
  service: 'The service itself: whether it runs, what it measures, how it is described.',
};

export const exampleEvent = {
  id: '5b2e6f4c-93a0-5d1c-b7c4-1d0f4b6a9e55',
  type: 'job.completed',
  created_at: '2026-01-31T09:05:00.000Z',
  data: {
    job_id: '2f0e8f0a-4a2e-4d0c-9a43-0b5f6f1d2c3e',
    status: 'completed',
    total_urls: 420,
    completed_urls: 420,
    broken_urls: 17,
  },
};

const header = (name: string, description: string, example: string): Json => ({
  ...{ name, in: 'header', required: true, description, schema: { type: 'string' }, example },
});

const JOB_COMPLETED: Json = {
  operationId: 'job_completed',
  summary: 'A job is complete',
  description:
    'Posted to each endpoint that hears of it. Redirects are not followed. `Retry-After` of an answer that is no 2xx is kept.',
  tags: ['webhooks'],
  security: [],
  parameters: [
    header(
      'Service-Signature',
      '`t=<timestamp>,v1=<hex>`: the HMAC-SHA256 of the timestamp, a full stop and the body as it came, under the whole signing secret.',
      't=1769850300,v1=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff536d0ce8e108d8bd',
    ),
    header('Service-Event-Id', 'The same at every attempt and for every endpoint.', exampleEvent.id),
    header('Service-Event-Type', 'As `type` in the body.', exampleEvent.type),
    header('Service-Delivery-Id', 'This event to this endpoint.', '0b0d3f9e-2a35-5f43-8f0d-6a0c1e0f7b21'),
  ],
  responses: {
    '2XX': { description: 'It has arrived.' },
    410: { description: 'No more of these: the endpoint is disabled.' },
    '4XX': { description: 'It is sent again, as after everything else that is no 2xx.' },
  },
};

/** As a component of its own. */
export const WebhookEventView = Type.Object(WebhookEvent.properties, { $id: 'WebhookEvent' });

export const GATEWAY_API: Description = {
  title: 'URL checking service: gateway',
  version: VERSION,
  summary: 'The API of the console and of administrators.',
  description: GATEWAY,
  license,
  tags: TAGS,
};

export const PUBLIC_API: Description = {
  title: 'URL checking service: public API',
  version: VERSION,
  summary: 'The API for programs.',
  description: V2,
  license,
  tags: TAGS,
  webhooks: {
    'job.completed': { operation: JOB_COMPLETED, body: { schema: WebhookEventView, example: exampleEvent } },
  },
};
