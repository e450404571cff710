// A log that the questions of examples/sql have different answers for: three users, five jobs over two months, and what they paid.
import { foldRange } from '../../events/checked-range.ts';
import type { Outcome } from '../../events/checks.ts';
import type { EventStore } from '../../events/event-store.ts';
import { uuidV5 } from '../../events/ids.ts';
import { FOUND } from './behind.ts';

const ROOT = '00000000-0000-4000-8000-000000000000';
const BROKEN: Partial<Outcome> = { status_code: 404, is_broken: true, verdict: 'broken' };
const SOFT: Partial<Outcome> = { is_soft_404: true, verdict: 'soft_404' };
const AWAY: Partial<Outcome> = {
  ...{ status_code: null, is_broken: true, verdict: 'unreachable' },
  ...{ error_code: 'response_timeout', attempts: 3, tried_ms: 9_000, response_time_ms: null },
};
const MOVED: Partial<Outcome> = {
  ...{ verdict: 'redirected', redirect_chain: ['https://new.example/'], final_url: 'https://new.example/' },
  redirect_statuses: [301],
};

interface Job {
  job_id: string;
  user: string;
  day: string;
  /** From its beginning to its end. */
  seconds: number;
  /** What is found of the URLs https://HOST/N. */
  found: readonly (readonly [host: string, outcome: Partial<Outcome>])[];
}

const JOBS: readonly Job[] = [
  {
    ...{ job_id: 'jan-1', user: 'ann', day: '2026-01-05', seconds: 20 },
    found: [
      ['a.example', {}],
      ['a.example', BROKEN],
      ['b.example', SOFT],
      ['b.example', MOVED],
      ['c.example', AWAY],
    ],
  },
  {
    ...{ job_id: 'jan-2', user: 'ann', day: '2026-01-20', seconds: 40 },
    found: [
      ['a.example', BROKEN],
      ['a.example', {}],
    ],
  },
  { ...{ job_id: 'feb-1', user: 'ann', day: '2026-02-03', seconds: 60 }, found: [['a.example', {}]] },
  { ...{ job_id: 'jan-3', user: 'ben', day: '2026-01-06', seconds: 10 }, found: Array(12).fill(['b.example', {}]) },
];

export async function fillAnalysed(log: EventStore): Promise<void> {
  const revisions = new Map<string, number>();
  let events = 0;
  async function add(stream: string, at: string, type: string, data: unknown, actor = 'user:test'): Promise<void> {
    const id = uuidV5(ROOT, String(++events));
    const event = { id, type, data, metadata: { command_id: id, causation_id: id, actor, at } };
    const appended = await log.append(stream, revisions.get(stream) ?? 'no_stream', [event]);
    if (!appended.ok) throw new Error(`${stream} is not appended`);
    revisions.set(stream, appended.revision);
  }
  const balances = new Map<string, number>();
  function entry(
    user: string,
    at: string,
    type: string,
    transaction_type: string,
    amount: number,
    reference_id: string,
    more: object,
  ) {
    const balance_after = (balances.get(user) ?? 0) + amount;
    balances.set(user, balance_after);
    const id = `${transaction_type}:${reference_id}`;
    const facts = { transaction_id: id, transaction_type, amount, reference_id, balance_after, hash: '0'.repeat(64) };
    return add(`credits-${user}`, at, type, { ...facts, ...more });
  }
  async function pay(
    user: string,
    day: string,
    payment_id: string,
    amount_cents: number,
    plan: string | null,
  ): Promise<void> {
    const at = `${day}T08:00:00.000Z`;
    const facts = {
      user_id: user,
      provider: 'sandbox',
      customer_id: null,
      amount_cents,
      currency: 'usd',
      credits: 100,
    };
    const period = plan && { subscription_id: 's', plan, interval: 'month', period_start: at, period_end: at };
    await add(`payment-${payment_id}`, at, 'PaymentReceived', {
      ...facts,
      ...{ expires_at: null, package_id: plan === null ? 'pack' : null, period, paid_at: at },
    });
    const type = plan === null ? 'purchase' : 'subscription';
    await entry(user, at, 'CreditsGranted', type, 100, payment_id, { expires_at: null });
  }

  for (const [user, day] of [
    ['ann', '2026-01-01'],
    ['ben', '2026-01-02'],
    ['eve', '2026-02-01'],
  ] as const) {
    await add(`user-${user}`, `${day}T07:00:00.000Z`, 'UserRegistered', { user_id: user, email: null });
  }
  await add('subscription-ann', '2026-01-03T07:00:00.000Z', 'TrialStarted', {
    ...{ plan: 'pro', credits: 100, job_id: 'x' },
    ...{ period_start: '2026-01-03T07:00:00.000Z', period_end: '2026-02-03T07:00:00.000Z' },
  });
  await pay('ann', '2026-01-04', 'p1', 2900, 'pro');
  await pay('ben', '2026-01-05', 'p2', 500, null);
  for (const { job_id, user, day, seconds, found } of JOBS) {
    const at = (second: number) => `${day}T09:00:${String(second).padStart(2, '0')}.000Z`;
    await entry(user, at(0), 'CreditsReserved', 'reservation', -found.length, job_id, {
      reservation_id: `${job_id}:0`,
      parts: [],
    });
    await add(`job-${job_id}`, at(0), 'JobCreated', {
      ...{ job_id, owner_id: user, owner_email: null, source: 'api', total_urls: found.length, batch_size: 100 },
      ...{ credits_allocated: found.length, reservation_id: `${job_id}:0`, duplicates_removed: 0 },
      ...{ invalid_urls_rejected: 0, blocked_urls_skipped: 0, filename: null, blob_key: null },
    });
    const urls = found.map(([host], n) => `https://${host}/${n}`);
    await add(`urls-${job_id}`, at(0), 'UrlsListed', { job_id, from_index: 0, urls, rows: [1] });
    if (job_id === 'jan-2') {
      await add(`job-${job_id}`, at(1), 'JobPaused', { reason: 'owner' });
      await add(`job-${job_id}`, at(31), 'JobResumed', {
        credits_added: 0,
        credits_allocated: found.length,
        reservation_id: null,
      });
    }
    const outcomes = found.map(
      ([, outcome], n): Outcome => ({ ...FOUND, final_url: urls[n]!, response_time_ms: 10 * (n + 1), ...outcome }),
    );
    for (const outcome of outcomes) if (outcome.status_code === null) outcome.final_url = null;
    await add(
      `checks-${job_id}-0`,
      at(seconds - 1 < 60 ? Math.max(1, seconds - 1) : 59),
      'URLChecked',
      foldRange(job_id, 0, urls, outcomes),
      `checker:${user}`,
    );
    const broken_urls = outcomes.filter(({ is_broken }) => is_broken).length;
    const ended = new Date(Date.parse(at(0)) + seconds * 1000).toISOString();
    await add(`job-${job_id}`, ended, 'JobCompleted', { completed_urls: found.length, broken_urls });
  }
  await pay('ann', '2026-02-04', 'p3', 2900, 'pro');
  await add('payment-p2', '2026-02-05T08:00:00.000Z', 'PaymentReversed', {
    ...{
      reversal_id: 'r',
      kind: 'refund',
      amount_cents: 200,
      currency: 'usd',
      reversed_at: '2026-02-05T08:00:00.000Z',
    },
  });
  for (const [delivery_id, status_code] of [
    ['d1', 200],
    ['d2', 503],
  ] as const) {
    const stream = `webhook_delivery-${delivery_id}`;
    const at = '2026-02-03T09:02:00.000Z';
    const data = { job_id: 'feb-1', status: 'completed', total_urls: 1, completed_urls: 1, broken_urls: 0 };
    const event = { id: 'e', type: 'job.completed', created_at: at, data };
    await add(stream, at, 'WebhookDeliveryRequested', { delivery_id, endpoint_id: 'hook', user_id: 'ann', event });
    const attempt = {
      attempt: 1,
      status_code,
      error: null,
      response_excerpt: '',
      duration_ms: 5,
      next_attempt_at: null,
    };
    await add(stream, at, 'WebhookAttempted', attempt);
    if (status_code === 200) await add(stream, at, 'WebhookDelivered', {});
    else await add(stream, at, 'WebhookDeliveryGivenUp', { reason: 'endpoint_gone' });
  }
}
