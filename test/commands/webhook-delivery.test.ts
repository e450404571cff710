// A delivery: given what happened, when this is asked, then that happens.
import test from 'ava';
import {
  type AttemptOutcome,
  decide,
  evolve,
  initial,
  RETRY_DELAYS_MS,
  retryDelay,
  type WebhookDeliveryCommand,
} from '../../commands/webhook-delivery.ts';
import type { WebhookDeliveryEvent } from '../../events/webhook.ts';

const NOW = Date.parse('2026-01-31T09:00:00.000Z');
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const delivery = {
  delivery_id: 'd',
  endpoint_id: 'e',
  user_id: 'alice',
  event: {
    id: 'i',
    type: 'job.completed' as const,
    created_at: '2026-01-31T09:00:00.000Z',
    data: { job_id: 'j', status: 'completed' as const, total_urls: 2, completed_urls: 2, broken_urls: 1 },
  },
};
const REQUESTED: WebhookDeliveryEvent = { type: 'WebhookDeliveryRequested', data: delivery };
const DELIVERED: WebhookDeliveryEvent = { type: 'WebhookDelivered', data: {} };
const RESENT: WebhookDeliveryEvent = { type: 'WebhookResendRequested', data: {} };
const attempted = (attempt: number): WebhookDeliveryEvent => ({
  type: 'WebhookAttempted',
  data: { attempt, status_code: 500, error: null, response_excerpt: '', duration_ms: 1, next_attempt_at: null },
});
const attempts = (count: number) => Array.from({ length: count }, (_, i) => attempted(i + 1));

const answered = (status_code: number | null, retry_after_ms: number | null = null): AttemptOutcome => ({
  status_code,
  error: status_code === null ? 'connection_refused' : null,
  response_excerpt: 'hm',
  duration_ms: 12,
  retry_after_ms,
});
/** In the middle of the jitter. */
const record = (attempt: number, outcome: AttemptOutcome): WebhookDeliveryCommand => ({
  ...{ type: 'recordAttempt', delivery, attempt },
  outcome,
  random: 0.5,
});

function when(given: readonly WebhookDeliveryEvent[], command: WebhookDeliveryCommand) {
  return decide(given.reduce(evolve, initial()), command, NOW);
}
/** Types of the events, with what matters of their data. */
function told(given: readonly WebhookDeliveryEvent[], command: WebhookDeliveryCommand) {
  const decided = when(given, command);
  if ('refused' in decided) return decided.refused.code;
  return decided.events.map((event) => {
    if (event.type === 'WebhookAttempted') return [event.data.attempt, event.data.next_attempt_at];
    return event.type === 'WebhookDeliveryGivenUp' ? event.data.reason : event.type;
  });
}
const at = (ms: number) => new Date(NOW + ms).toISOString();

test('a delivery is requested once', (t) => {
  t.deepEqual(when([], { type: 'request', delivery }), { events: [REQUESTED] });
  t.deepEqual(told([REQUESTED], { type: 'request', delivery }), []);
  t.deepEqual(told([REQUESTED, attempted(1), DELIVERED], { type: 'request', delivery }), []);
});

test('a first attempt that is answered with 2xx is the whole delivery', (t) => {
  const event = { type: 'job.completed', job_id: 'j' };
  const data = { endpoint_id: 'e', user_id: 'alice', event, status_code: 200, response_excerpt: 'hm', duration_ms: 12 };
  const at_once = { type: 'WebhookDeliveredAtOnce', data } as WebhookDeliveryEvent;
  t.deepEqual(when([], record(1, answered(200))), { events: [at_once] });
  const silent = { ...answered(204), response_excerpt: '' };
  const { response_excerpt: _, ...rest } = data;
  t.deepEqual(when([], record(1, silent)), {
    events: [{ type: 'WebhookDeliveredAtOnce', data: { ...rest, status_code: 204 } }],
  } as never);
  t.deepEqual(told([at_once], record(1, answered(200))), [], 'another process has sent it too');
  t.deepEqual(told([at_once], { type: 'resend' }), ['WebhookResendRequested']);
  t.deepEqual(told([at_once, RESENT], record(2, answered(200))), [[2, null], 'WebhookDelivered']);
});

test('a first attempt that fails begins the stream', (t) => {
  t.deepEqual(when([], record(1, answered(500))), {
    events: [REQUESTED, ...(when([REQUESTED], record(1, answered(500))) as { events: WebhookDeliveryEvent[] }).events],
  });
  t.deepEqual(told([], record(1, answered(410))), ['WebhookDeliveryRequested', [1, null], 'endpoint_gone']);
});

test('an attempt that is answered with 2xx is the last one', (t) => {
  for (const status of [200, 202, 204, 299]) {
    t.deepEqual(told([REQUESTED], record(1, answered(status))), [[1, null], 'WebhookDelivered'], String(status));
  }
});

test('an attempt records the whole answer', (t) => {
  t.deepEqual(when([REQUESTED], record(1, answered(null))), {
    events: [
      {
        type: 'WebhookAttempted',
        data: {
          attempt: 1,
          endpoint_id: 'e',
          status_code: null,
          error: 'connection_refused',
          response_excerpt: 'hm',
          duration_ms: 12,
          next_attempt_at: at(5000),
        },
      },
    ],
  });
});

test('redirects, errors and no answer are failures, tried again after 5 s, 5 m, 30 m, 2 h, 5 h, 10 h, 10 h', (t) => {
  const after = [5000, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR];
  for (const [before, delay_ms] of after.entries()) {
    for (const status of [null, 199, 301, 302, 400, 404, 500]) {
      const given = [REQUESTED, ...attempts(before)];
      t.deepEqual(told(given, record(before + 1, answered(status))), [[before + 1, at(delay_ms)]]);
    }
  }
  t.deepEqual(told([REQUESTED, ...attempts(7)], record(8, answered(500))), [[8, null], 'no_attempts_left']);
});

test('each delay is at most a fifth shorter or longer', (t) => {
  for (const [i, delay_ms] of RETRY_DELAYS_MS.entries()) {
    t.is(retryDelay(i + 1, null, 0), 0.8 * delay_ms);
    t.is(retryDelay(i + 1, null, 0.5), delay_ms);
    const longest = retryDelay(i + 1, null, 1 - Number.EPSILON)!;
    t.true(longest > 1.19 * delay_ms && longest <= 1.2 * delay_ms);
  }
  t.is(retryDelay(8, null, 0.5), null);
});

test('a Retry-After lengthens a delay, up to ten hours, and never shortens one', (t) => {
  t.is(retryDelay(1, 60_000, 0.5), 60_000);
  t.is(retryDelay(1, 365 * 24 * HOUR, 0.5), 10 * HOUR);
  t.is(retryDelay(4, 1000, 0.5), 2 * HOUR);
  t.is(retryDelay(8, 1000, 0.5), null);
  t.deepEqual(told([REQUESTED], record(1, answered(429, 90_000))), [[1, at(90_000)]]);
});

test('an answer of 410 ends the delivery at once', (t) => {
  t.deepEqual(told([REQUESTED], record(1, answered(410, 90_000))), [[1, null], 'endpoint_gone']);
});

test('a delivery ignores an attempt that it has recorded, or that comes after its end', (t) => {
  t.deepEqual(told([REQUESTED, attempted(1)], record(1, answered(200))), []);
  t.deepEqual(told([REQUESTED], record(2, answered(200))), []);
  t.deepEqual(told([REQUESTED, attempted(1), DELIVERED], record(2, answered(500))), []);
});

test('a delivery is given up once, and only while it is pending', (t) => {
  const giveUp = { type: 'giveUp', delivery, reason: 'endpoint_disabled' } as const;
  t.deepEqual(told([], giveUp), ['WebhookDeliveryRequested', 'endpoint_disabled']);
  t.deepEqual(told([REQUESTED], giveUp), ['endpoint_disabled']);
  const given_up: WebhookDeliveryEvent = { type: 'WebhookDeliveryGivenUp', data: { reason: 'endpoint_disabled' } };
  t.deepEqual(told([REQUESTED, given_up], giveUp), []);
  t.deepEqual(told([REQUESTED, attempted(1), DELIVERED], giveUp), []);
});

test("a resend starts the schedule again, whatever the delivery's status", (t) => {
  const resend = { type: 'resend' } as const;
  t.is(told([], resend), 'delivery_not_found');
  t.deepEqual(told([REQUESTED], resend), [], 'it is due already');
  t.deepEqual(told([REQUESTED, attempted(1)], resend), ['WebhookResendRequested']);
  t.deepEqual(told([REQUESTED, attempted(1), DELIVERED], resend), ['WebhookResendRequested']);
  t.deepEqual(told([REQUESTED, attempted(1), DELIVERED, RESENT], resend), [], 'once is enough');
  const resent = [REQUESTED, ...attempts(8), RESENT];
  t.deepEqual(told(resent, record(9, answered(500))), [[9, at(5000)]]);
});
