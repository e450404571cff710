// A URL whose host is a private address is not sold: it is rejected when it is submitted, with its row, the reason and the setting that
// allows it. A name that leads to such an address stays a result.
import test from 'ava';
import { startTestService, type TestClient, type TestService } from '../support/service.ts';
import { openSite } from '../support/sites.ts';

let service: TestService;
test.before(async () => {
  service = await startTestService({ CHECKER_ALLOW_ADDRESSES: '10.1.0.0/16', SIGNUP_CREDITS: '10' });
});
test.after.always(() => service?.stop());

/** Nobody answers there; 10.1.2.3 is the one that the setting allows. */
const LIST = ['url', 'http://localhost:1/', 'http://127.0.0.1:1/', 'http://10.1.2.3:1/', 'https://[::1]/', '10.2.0.1'];
const SAYS = /CHECKER_ALLOW_ADDRESSES/;

const balanceOf = async (client: TestClient) => (await client.ask('GET', '/users/me/credits')).body.credit_balance;

test('private addresses of a file are rejected, unpaid, with row, reason and setting', async (t) => {
  const client = await service.client('uploader');
  const { status, body: job } = await client.upload(LIST.join('\n'));
  t.is(status, 201);
  t.like(job, { total_urls: 2, invalid_urls_rejected: 3, credits_allocated: 2 });
  const { body: rejected } = await client.ask('GET', `/jobs/${job.job_id}/rejected`);
  t.deepEqual(
    rejected.items.map(({ row, value, reason }: Record<string, unknown>) => [row, value, reason]),
    [
      [3, 'http://127.0.0.1:1/', 'private_address'],
      [5, 'https://[::1]/', 'private_address'],
      [6, '10.2.0.1', 'private_address'],
    ],
  );
  t.regex(rejected.items[0].message, SAYS);
  t.like(await client.ended(job.job_id), { completed_urls: 2, status: 'completed' });
  t.is(await balanceOf(client), 8);
  const { body: results } = await client.ask('GET', `/jobs/${job.job_id}/results`);
  t.like(results.items[0], { url: 'http://localhost:1/', verdict: 'unreachable', error_code: 'blocked_address' });
});

test('a list of private addresses alone becomes no job, in either API', async (t) => {
  const client = await service.client('lister');
  const urls = ['http://127.0.0.1/', 'http://169.254.169.254/latest/meta-data'];
  const gateway = await client.upload(urls.join('\n'));
  t.is(gateway.status, 422);
  t.true(JSON.stringify(gateway.body).includes('CHECKER_ALLOW_ADDRESSES'), JSON.stringify(gateway.body));
  const holder = await service.keyHolder('lister');
  const v2 = await holder.ask('POST', '/api/v2/jobs', { urls });
  t.is(v2.status, 422);
  t.true(JSON.stringify(v2.body).includes('CHECKER_ALLOW_ADDRESSES'), JSON.stringify(v2.body));
  t.is(await balanceOf(client), 10);
});

test('an analysis says before a job what a job would reject', async (t) => {
  const client = await service.client('analyst');
  const form = new FormData();
  form.append('file', new Blob([LIST.join('\n')]), 'urls.csv');
  const { body } = await client.send('/analyze-csv', { method: 'POST', body: form });
  t.like(body, { cost: 2, invalid: { count: 3 } });
  t.is(body.invalid.samples[0].reason, 'private_address');
});

test('what the setting allows is checked', async (t) => {
  const site = await openSite();
  const open = await startTestService();
  t.teardown(async () => {
    await open.stop();
    await site.close();
  });
  const client = await open.client('alice');
  const { body: job } = await client.upload(`url\n${site.url}/fine\n`);
  t.like(await client.ended(job.job_id), { completed_urls: 1, invalid_urls_rejected: 0 });
});
