// A page that stays open while the service restarts, or while its session ends: it says so, and goes on where it can.
import test from 'ava';
import { consoleAndSite, newUser } from '../support/console.ts';
import { freePort } from '../support/free-port.ts';

const { service, site } = consoleAndSite(test, { env: freePort().then((port) => ({ PORT: String(port) })) });

const NOT_CURRENT = 'The connection to the service is lost: what you see is not current.';

/** A job that waits for credits, so that its page follows it for as long as the test wants. */
async function waitingJob(user: string) {
  const client = await service.client(user);
  const { body } = await client.upload(Array.from({ length: 301 }, (_, n) => `${site.url}/?n=${n}`).join('\n'));
  await client.ended(body.job_id);
  return { client, job_id: body.job_id as string };
}

test.serial('a page that is open while the service restarts says that it is stale, and recovers', async (t) => {
  const user = newUser();
  const { client, job_id } = await waitingJob(user);
  const job = await service.open(t, `/jobs/${job_id}?status_group=2xx`, { user });
  await job.getByText('300 results').waitFor();
  const account = await job.context().newPage();
  await account.goto(`${service.url}/console/account`);
  await account.getByRole('heading', { name: 'Account' }).waitFor();

  await service.restart(async () => {
    await job.getByText(NOT_CURRENT).waitFor();
    await account.getByRole('link', { name: 'API keys' }).click();
    await account.getByRole('heading', { name: 'The service cannot be reached' }).waitFor();
  });
  await job.getByText(NOT_CURRENT).waitFor({ state: 'detached' });
  await job.getByRole('alert').first().waitFor({ state: 'detached' });
  await client.ask('POST', `/jobs/${job_id}/cancel`);
  await job.getByText('cancelled', { exact: true }).waitFor();
  await account.getByRole('heading', { name: 'You have no API keys yet' }).waitFor();
  t.true(job.url().endsWith('?status_group=2xx'));
  t.is(await job.getByText('300 results').count(), 1);
});

test.serial('a page whose session is ended elsewhere shows nothing more of its user', async (t) => {
  const user = newUser();
  const { job_id } = await waitingJob(user);
  const page = await service.open(t, `/jobs/${job_id}`, { user });
  await page.clock.install();
  await page.reload();
  await page.getByText('300 results').waitFor();
  const [{ name, value } = { name: '', value: '' }] = await page.context().cookies();
  const ended = await fetch(`${service.url}/console/session`, {
    method: 'DELETE',
    headers: { cookie: `${name}=${value}`, 'x-console': '1', origin: service.url },
  });
  t.is(ended.status, 204);
  // The page asks nothing while its job waits.
  await page.clock.fastForward(60_000);
  await page.getByRole('heading', { name: 'You are not signed in' }).waitFor();
  t.is(await page.getByText('urls.csv').count(), 0);
  t.is(await page.getByRole('button', { name: user }).count(), 0);
});
