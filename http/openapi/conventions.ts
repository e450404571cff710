// What the documents of the APIs have in common: words that hold for all operations, tags, errors, and what the service sends.
import { Type } from '../../events/schema.ts';
import { WebhookEvent } from '../../events/webhook.ts';
import type { Json } from './components.ts';

export const VERSION = '1.0.0';
export const LICENSE = { name: 'MIT', identifier: 'MIT' };

export const COMMON = `
## Requests and answers

Bodies are JSON in UTF-8. Times are in UTC, as RFC 3339 writes them. Fields and parameters that an operation does not know
are refused, so that a misspelt one does no harm. Answers may get new fields in later versions: pass over those that you do
not know. Every answer has an \`X-Request-ID\`; one that a request comes with is kept.

## Reading what was written

The answer to a change names the place in the log that it reached, \`X-Log-Position\`. A read that comes with it, or comes from the
same caller to the same process, waits for at most 2 s until it sees the change.

What is read as JSON has an \`ETag\`: sent back as \`If-None-Match\`, it is answered with 304 and no body while nothing has changed.`;

export const TAGS = {
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

export const JOB_COMPLETED: Json = {
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

export const text = { type: 'string' };
export const PROBLEM: Json = {
  type: 'object',
  required: ['loc', 'msg', 'type'],
  properties: {
    loc: {
      type: 'array',
      items: { type: ['string', 'integer'] },
      description: 'Where: body, query, path or header, then the way to it.',
    },
    msg: { ...text, description: 'What is wrong there, for people.' },
    type: { ...text, description: 'A word for programs.' },
    value: { description: 'What was there, for an entry of a list.' },
  },
};
export const PROBLEMS: Json = { type: 'array', items: { $ref: '#/components/schemas/ValidationError' } };
