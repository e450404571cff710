// The texts and schemas that both documents share: conventions, tags, problems, and the webhooks.
import { type TSchema, Type } from '../../events/schema.ts';
import {
  EndpointTestWebhook,
  JobCancelledWebhook,
  JobCompletedWebhook,
  JobFailedWebhook,
  JobPausedWebhook,
  type WebhookEvent,
} from '../../events/webhook.ts';
import type { Webhook } from '../frame/api.ts';
import type { Json } from '../frame/document-parts.ts';

export const VERSION = '1.0.0';
export const LICENSE = { name: 'MIT', identifier: 'MIT' };

export const COMMON = `
## Requests and answers

Bodies are JSON in UTF-8. Times are in UTC, in the format of RFC 3339. The service refuses fields and parameters that an operation
does not have, so that a misspelt one does no harm. Later versions may add fields to answers: ignore those that you do not
know. Every answer has an \`X-Request-ID\`; the service keeps the id that a request brings.

## Read your writes

The answer to a change has the header \`X-Log-Position\`. A read that sends this position, or comes from the same caller to the same
process, waits for up to 2 s until it sees the change.

Answers to reads of JSON have an \`ETag\`. Send it as \`If-None-Match\`: while nothing has changed, the service answers 304 without a body.`;

export const TAGS = {
  jobs: 'A job is a list of URLs to check. Create, read, pause, resume, cancel and delete jobs, and read their results.',
  exports: 'The results of a job as files.',
  shares: 'Public, read-only links to a job.',
  analysis: 'Check a file or some domains before you create a job.',
  domains: 'The blocklist, and the health of checked domains.',
  account: 'Your profile, credits, limits and API keys, and all that the service keeps of you.',
  billing: 'Plans and packages of credits, and how to pay for them.',
  console: 'The pages of the service in a browser, and the sessions of browsers.',
  usage: 'Your remaining and used credits.',
  'webhook-endpoints':
    'Your URLs that receive events of your jobs, and the log of the deliveries to them. The callbacks of `createWebhookEndpoint` are what they receive.',
  growth:
    'Figures of users, activity, money and the paywall, for administrators. They are counted as the guide `metrics.md` says.',
  audit: 'Signed heads of the credit ledger, and proofs that nothing in it was changed.',
  public: 'Statistics that everybody may see.',
  administration: 'What only administrators may do.',
  proxies: 'The proxies that checkers send their requests through, and how they do.',
  'worker-logs': 'What checkers asked and what came of it, an entry for each attempt, for administrators.',
  intake: 'Events of agencies and of the console, for the views of administrators.',
  inbound: 'Webhooks that other services send to this one.',
  service: 'Probes, metrics and documents of the service.',
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

const operationOf = (type: string, operationId: string, summary: string, description: string): Json => ({
  operationId,
  summary,
  description: `${description} The service follows no redirects, and respects the \`Retry-After\` of an answer other than 2xx.`,
  tags: ['webhook-endpoints'],
  security: [],
  parameters: [
    header(
      'Service-Signature',
      '`t=<timestamp>,v1=<hex>`: the HMAC-SHA256 of the timestamp, a full stop and the raw body, under the whole signing secret. ' +
        'For some time after a change of the secret there is a `v1` of each secret.',
      't=1769850300,v1=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff536d0ce8e108d8bd',
    ),
    header('Service-Event-Id', 'The id of the event, equal at every attempt and for every endpoint.', exampleEvent.id),
    header('Service-Event-Type', 'The `type` of the body.', type),
    header('Service-Delivery-Id', 'The id of this event at this endpoint.', '0b0d3f9e-2a35-5f43-8f0d-6a0c1e0f7b21'),
  ],
  responses: {
    '2XX': { description: 'The endpoint has the event.' },
    410: { description: 'The endpoint wants no more events: the service disables it.' },
    '4XX': { description: 'The service sends the event again, as after every other answer than 2xx.' },
  },
});

const named = <Schema extends TSchema>(schema: Schema, $id: string): Schema => ({ ...schema, $id });

interface SentEvent {
  schema: TSchema;
  /** In the words of the document: the name of its operation, a summary, and when it is sent. */
  says: readonly [id: string, summary: string, description: string];
  data: object;
}

const { job_id } = exampleEvent.data;
const SENT = {
  'job.completed': {
    schema: named(JobCompletedWebhook, 'JobCompletedWebhook'),
    says: ['jobCompleted', 'A job has completed', 'All URLs of the job are checked.'],
    data: exampleEvent.data,
  },
  'job.paused': {
    schema: named(JobPausedWebhook, 'JobPausedWebhook'),
    says: [
      'jobPaused',
      'A job has paused',
      'Its owner paused it, or it has used its credits (`credit_ceiling`): buy credits and resume it. `GET /api/v2/jobs/{id}` has its progress.',
    ],
    data: { job_id, status: 'paused', total_urls: 420, credits_allocated: 300, pause_reason: 'credit_ceiling' },
  },
  'job.failed': {
    schema: named(JobFailedWebhook, 'JobFailedWebhook'),
    says: ['jobFailed', 'A job has failed', 'Its results stay: `GET /api/v2/jobs/{id}` has their count.'],
    data: { job_id, status: 'failed', total_urls: 420, failure_reason: 'no_progress' },
  },
  'job.cancelled': {
    schema: named(JobCancelledWebhook, 'JobCancelledWebhook'),
    says: ['jobCancelled', 'A job was cancelled', 'Its results stay: `GET /api/v2/jobs/{id}` has their count.'],
    data: { job_id, status: 'cancelled', total_urls: 420 },
  },
  'endpoint.test': {
    schema: named(EndpointTestWebhook, 'EndpointTestWebhook'),
    says: [
      'endpointTest',
      'A test that the owner asked for',
      'Sent to the one endpoint of `POST /api/v2/webhooks/endpoints/{id}/test`, whatever it subscribes to.',
    ],
    data: { endpoint_id: '7d5f0a52-6a44-4b0f-9f0e-0d6f4f6f2a11' },
  },
} satisfies Record<WebhookEvent['type'], SentEvent>;

/** The requests that the service sends, by the type of their event. */
const WEBHOOKS: Readonly<Record<string, Webhook>> = Object.fromEntries(
  Object.entries<SentEvent>(SENT).map(
    ([
      type,
      {
        schema,
        says: [id, summary, description],
        data,
      },
    ]) => {
      const operation = operationOf(type, id, summary, description);
      return [type, { operation, body: { schema, example: { ...exampleEvent, type, data } } }];
    },
  ),
);

/** The event of a webhook, as a component of the document. */
export const WebhookEventView = named(
  Type.Union([
    SENT['job.completed'].schema,
    SENT['job.paused'].schema,
    SENT['job.failed'].schema,
    SENT['job.cancelled'].schema,
    SENT['endpoint.test'].schema,
  ]),
  'WebhookEvent',
);

export const text = { type: 'string' };
export const PROBLEM: Json = {
  type: 'object',
  required: ['loc', 'msg', 'type'],
  properties: {
    loc: {
      type: 'array',
      items: { anyOf: [{ type: 'string' }, { type: 'integer' }] },
      description: 'The path to the problem: body, query, path or header, then names and indexes.',
    },
    msg: { ...text, description: 'What is wrong, for people.' },
    type: { ...text, description: 'A code for programs.' },
    value: { description: 'The wrong value, for an entry of a list.' },
  },
};
export const PROBLEMS: Json = { type: 'array', items: { $ref: '#/components/schemas/ValidationError' } };

/** The operation that asks for them exists in both APIs. */
export const WEBHOOK_CALLBACKS = {
  ...{ of: 'createWebhookEndpoint', url: '{$request.body#/url}', requests: WEBHOOKS },
};
