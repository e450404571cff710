// Two deployments behind one address: the front one serves what it is not told to forward.
import test from 'ava';
import { openTestClient, startTestService } from '../support/service.ts';
import { openSite, page } from '../support/sites.ts';

test('jobs, account and exports of another deployment are used through this one', async (t) => {
  const [site, back] = await Promise.all([openSite(page), startTestService({ TRUSTED_PROXIES: '127.0.0.1' })]);
  const SERVICE_URLS = ['jobs', 'account', 'exports', 'usage'].map((group) => `${group}=${back.url}`).join();
  const front = await startTestService({ SERVICE_URLS });
  t.teardown(() => Promise.all([front.stop(), back.stop(), site.close()]));
  const alice = openTestClient(front.url, (await back.client('alice')).token);
  const uploaded = await alice.upload(`${site.url}/a\n${site.url}/status/404\n`);
  t.is(uploaded.status, 201, JSON.stringify(uploaded.body));
  const { job_id } = uploaded.body;
  t.like(await alice.ended(job_id), { status: 'completed', completed_urls: 2 });
  t.is((await alice.ask('GET', '/users/me/credits')).body.credit_balance, 298);
  t.regex((await alice.ask('GET', `/jobs/${job_id}/export?format=csv`)).body, /status\/404,404/);

  const key = (await alice.ask('POST', '/users/me/api-keys', { name: 'through' })).body.key;
  const program = openTestClient(front.url, key);
  const waited = await program.ask('POST', '/api/v2/jobs/wait?wait_seconds=60', { urls: [`${site.url}/b`] });
  t.like(waited.body, { status: 'completed', timed_out: false, completed_urls: 1 });
  t.is((await program.ask('GET', '/api/v2/usage')).body.credit_balance, 297);

  const events = await fetch(`${front.url}/jobs/${job_id}/events`, {
    headers: { authorization: `Bearer ${alice.token}` },
  });
  t.regex(await events.text(), /event: /);
  t.is((await alice.ask('GET', '/credits/packages')).status, 200);
  // The front deployment knows neither the token nor the job.
  t.is((await alice.ask('POST', '/check-domains', { domains: ['a.example'] })).status, 401);
});
