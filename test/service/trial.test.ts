// A trial, from outside: the first job of an API key to complete begins it, with the credits that the operator gives.
import test from 'ava';
import { until } from '../support/behind.ts';
import { startTestService } from '../support/service.ts';
import { openSite } from '../support/sites.ts';

test('a trial shows the credits that it gave', async (t) => {
  const service = await startTestService({ SIGNUP_CREDITS: '7', TRIAL_CREDITS: '777' });
  const site = await openSite((_request, response) => response.end('fine'));
  try {
    const alice = await service.client('alice');
    const quota = async () => (await alice.ask('GET', '/users/me/quota')).body;
    t.like(await quota(), {
      plan: 'free',
      limits: { plan_credits: 7 },
      trial: { is_active: false, is_available: true },
    });
    const key = await service.keyHolder('alice');
    t.is((await key.ask('POST', '/api/v2/jobs', { urls: [`${site.url}/fine`] })).status, 201);
    await until(async () => (await quota()).trial.is_active);
    t.like(await quota(), { plan: 'pro', limits: { plan_credits: 777 }, trial: { is_available: false } });
    t.is((await alice.ask('GET', '/users/me/credits')).body.credit_balance, 7 - 1 + 777);
  } finally {
    await service.stop();
    await site.close();
  }
});

test('the first API run of a paying subscriber begins no trial, and leaves usage and limits as they are', async (t) => {
  const service = await startTestService({ SIGNUP_CREDITS: '7', TRIAL_CREDITS: '777', PAYMENT_SANDBOX: 'on' });
  const site = await openSite((_request, response) => response.end('fine'));
  try {
    const alice = await service.client('alice');
    const quota = async () => (await alice.ask('GET', '/users/me/quota')).body;
    const { body } = await alice.ask('POST', '/checkout/create', { plan: 'starter' });
    const path = new URL(body.checkout_url).pathname;
    await fetch(`${service.url}${path}/pay`, { method: 'POST', redirect: 'manual' });
    await until(async () => (await quota()).plan === 'starter');
    const before = await quota();
    const key = await service.keyHolder('alice');
    const { body: job } = await key.ask('POST', '/api/v2/jobs', { urls: [`${site.url}/fine`] });
    await key.ended(job.job_id);
    // A later command of the same user, which the processes take in the order of the log.
    const { body: later } = await key.ask('POST', '/api/v2/jobs', { urls: [`${site.url}/later`] });
    await key.ended(later.job_id);
    const after = await quota();
    t.like(after, { plan: 'starter', limits: { plan_credits: before.limits.plan_credits } });
    t.false(after.trial.is_active);
    const ledger = (await alice.ask('GET', '/users/me/credit-transactions')).body.items;
    t.false(ledger.some((one: { transaction_type: string }) => one.transaction_type === 'trial'));
  } finally {
    await service.stop();
    await site.close();
  }
});
