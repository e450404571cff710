// A trial, from outside: the first job of an API key to complete begins it, with the credits that the operator gives.
import test from 'ava';
import { until } from './support/behind.ts';
import { startTestService } from './support/service.ts';
import { openSite } from './support/sites.ts';

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
