// Maintenance mode of whole processes over one folder: two that serve HTTP, one of them killed, requests and a job under way.
import { mkdtemp, rm } from 'node:fs/promises';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { issueLocalToken } from '../../adapters/identity/index.ts';
import { until } from '../support/behind.ts';
import { type Answer, answerOf, openTestClient } from '../support/service.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { openSite, page } from '../support/sites.ts';

/** The first half of an upload is sent; `finish` sends the rest and returns the answer. */
async function halfAnUpload(url: string, token: string, content: string) {
  const boundary = 'half';
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\nContent-Type: text/csv\r\n\r\n`;
  const answered = Promise.withResolvers<Answer>();
  const headers = { authorization: `Bearer ${token}`, 'content-type': `multipart/form-data; boundary=${boundary}` };
  const request = http.request(`${url}/jobs`, { method: 'POST', headers }, async (response) => {
    const body = Buffer.concat(await response.toArray());
    const { statusCode: status = 0, headers: answer_headers } = response;
    answered.resolve(await answerOf(new Response(body, { status, headers: answer_headers as Record<string, string> })));
  });
  request.on('error', answered.reject);
  await new Promise((resolve) => request.write(head + content.slice(0, content.length / 2), resolve));
  return (): Promise<Answer> => {
    request.end(`${content.slice(content.length / 2)}\r\n--${boundary}--\r\n`);
    return answered.promise;
  };
}

test('two processes that serve HTTP refuse commands alike, also after a kill and in the middle of an upload', async (t) => {
  t.timeout(300_000);
  const held: (() => void)[] = [];
  let is_held = true;
  const site = await openSite((request, response) => {
    const answer = () => page(request, response);
    if (is_held) held.push(answer);
    else answer();
  });
  const data_dir = await mkdtemp(join(tmpdir(), 'url-checker-maintenance-'));
  const started: ServiceProcess[] = [];
  t.teardown(async () => {
    await Promise.all(started.map((service) => service.kill()));
    await site.close();
    await rm(data_dir, { recursive: true, force: true });
  });
  const start = async (ROLES: string) => {
    const checker = { CHECKER_ALLOW_ADDRESSES: '127.0.0.0/8', CHECKER_RETRIES: '0' };
    const settings = { ...checker, AGENCY_SECRET: 's'.repeat(32), SIGNUP_CREDITS: '300' };
    const service = await startServiceProcess({ DATA_DIR: data_dir, ROLES, ...settings });
    started.push(service);
    return service;
  };
  const [all, other] = [await start('http,projector,processes,checker'), await start('http')];
  const tokenOf = (user_id: string, is_admin: boolean) =>
    issueLocalToken(data_dir, { user_id, email: `${user_id}@example.com`, is_admin, hours: 1 });
  const [alice, root] = [await tokenOf('alice', false), await tokenOf('root', true)];
  const as = (token: string, { url }: ServiceProcess = all) => openTestClient(url, token);
  const balance = async () => (await as(alice).ask('GET', '/users/me/credits')).body.credit_balance;
  const modeOf = async ({ url }: ServiceProcess) => {
    const ready = (await (await fetch(`${url}/readyz`)).json()) as { maintenance?: { message: string } };
    return ready.maintenance ?? null;
  };

  const job_id = (await as(alice).upload(`${site.url}/a\n${site.url}/b\n`)).body.job_id;
  const key = (await as(alice).ask('POST', '/users/me/api-keys', { name: 'k' })).body.key;
  await until(() => held.length > 0);
  const finish = await halfAnUpload(other.url, alice, `${site.url}/c\n${site.url}/d\n`);

  const message = 'We move.';
  t.is((await as(root).ask('POST', '/admin/maintenance', { enabled: true, message })).status, 200);
  t.like(await as(alice).upload(`${site.url}/e\n`), { status: 503, body: { code: 'maintenance', detail: message } });
  await until(async () => (await modeOf(other))?.message === message);
  const refused = await finish();
  t.like(
    refused,
    { status: 503, body: { code: 'maintenance', detail: message } },
    'it began before, and came too late',
  );
  t.is(refused.headers.get('retry-after'), '60');
  t.is(await balance(), 298, 'only the job of before has credits');
  t.like(await as(key, other).ask('POST', '/api/v2/jobs', { urls: [`${site.url}/f`] }), {
    status: 503,
    body: { error: { code: 'maintenance', message } },
  });

  await other.kill();
  const again = await start('http');
  t.like(
    await as(alice, again).ask('POST', `/jobs/${job_id}/cancel`),
    { status: 503 },
    'the first request after a start',
  );
  t.is((await as(root, again).ask('PATCH', '/admin/users/alice', { custom_limit: 7 })).status, 200);
  const event = { event: 'referral', agency_id: 'a1' };
  const agency = await as(root, again).ask('POST', '/agency-events', event, { 'x-agency-secret': 's'.repeat(32) });
  t.is(agency.status, 202);

  is_held = false;
  for (const answer of held) answer();
  t.like(await as(alice, again).ended(job_id), { status: 'completed', completed_urls: 2 }, 'a running job goes on');
  t.like(await as(root, again).ask('POST', '/admin/maintenance'), { status: 200, body: { enabled: false } });
  await until(async () => (await modeOf(all)) === null);
  t.is((await as(alice).upload(`${site.url}/g\n`)).status, 201);
});
