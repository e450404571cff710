// Webhook endpoints in a browser: one is made, tested, sent to again, given a new secret and deleted; hostile answers stay text.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import Stripe from 'stripe';
import { until } from '../support/behind.ts';
import { assertAccessible, consoleAndSite, newUser } from '../support/console.ts';

const { service, site } = consoleAndSite(test, { env: { WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8' } });

const HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(1)>\u202e';

interface Received {
  signature: string;
  body: string;
}

/** A receiver that answers with these statuses in turn, and with the last one from then on. */
async function openReceiver(t: ExecutionContext, statuses: number[]): Promise<{ url: string; received: Received[] }> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    received.push({ signature: String(request.headers['service-signature']), body });
    const status = statuses.length > 1 ? statuses.shift()! : statuses[0]!;
    response.writeHead(status).end(status === 200 ? 'thanks' : HOSTILE);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, received };
}

test('an endpoint is made, gets a signed test and the event of a job, and is deleted', async (t) => {
  const { url, received } = await openReceiver(t, [200]);
  const user = newUser();
  const page = await service.open(t, '/account/webhooks', { user });
  await page.getByRole('heading', { name: 'You have no webhook endpoints yet' }).waitFor();
  await page.getByRole('button', { name: 'New endpoint' }).click();
  await page.getByLabel('URL').fill('ftp://example.com/');
  await page.getByRole('button', { name: 'Make the endpoint' }).click();
  await page.getByRole('alert').getByText('is not a URL that starts with https://').waitFor();
  await page.getByLabel('URL').fill(url);
  await page.getByLabel('pauses').uncheck();
  await assertAccessible(t, page);
  await page.getByRole('button', { name: 'Make the endpoint' }).click();
  const secret = await page.getByLabel('The secret').inputValue();
  await page.getByRole('link', { name: 'Go on to a test' }).click();

  await page.getByRole('heading', { name: 'Nothing was sent yet' }).waitFor();
  t.false((await page.content()).includes(secret));
  await page.getByRole('button', { name: 'Send a test' }).click();
  const deliveries = page.getByRole('table', { name: 'Deliveries' });
  await deliveries.getByRole('row', { name: 'endpoint.test' }).getByText('delivered').waitFor();
  const [{ body, signature }] = received as [Received];
  t.is(Stripe.webhooks.constructEvent(body, signature, secret).type as string, 'endpoint.test');

  const client = await service.client(user);
  const { body: job } = await client.upload(`url\n${site.url}/a\n`);
  const [endpoint] = (await client.ask('GET', '/webhooks/endpoints')).body.items;
  await until(async () => {
    const { body } = await client.ask('GET', `/webhooks/endpoints/${endpoint.id}/deliveries`);
    return body.items.some(
      ({ event, status }: { event: { type: string }; status: string }) =>
        event.type === 'job.completed' && status === 'delivered',
    );
  });
  // The page asks for new deliveries every 15 s by itself.
  await page.reload();
  await page.getByRole('row', { name: 'job.completed' }).getByText('delivered').waitFor();
  await assertAccessible(t, page);
  await page.getByRole('row', { name: 'job.completed' }).getByRole('link').click();
  await page.getByRole('heading', { name: 'urls.csv' }).waitFor();
  t.is(page.url(), `${service.url}/console/jobs/${job.job_id}`);
  await page.goBack();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Delete the endpoint' }).click();
  await page.getByRole('heading', { name: 'You have no webhook endpoints yet' }).waitFor();
});

test('what failed is sent again, a new secret signs beside the old one, and hostile answers stay text', async (t) => {
  const { url, received } = await openReceiver(t, [410, 200]);
  const user = newUser();
  const client = await service.client(user);
  const made = await client.ask('POST', '/webhooks/endpoints', { url });
  const page = await service.open(t, `/account/webhooks/${made.body.id}`, { user });
  await page.getByRole('button', { name: 'Send a test' }).click();
  await page.getByText('disabled: it answered 410').waitFor();
  await page.getByRole('button', { name: 'Enable' }).click();
  await page.getByRole('button', { name: 'Send a test' }).waitFor();
  await page.getByRole('button', { name: 'Open endpoint.test' }).click();
  await page.getByRole('dialog').getByText('onerror').waitFor();
  t.is(await page.locator('main img, main script').count(), 0);
  await assertAccessible(t, page);
  await page.getByRole('button', { name: 'Send again' }).click();
  await page.getByRole('dialog').getByText('delivered').waitFor();
  t.is(new Set(received.map(({ body }) => body)).size, 1);
  await page.getByRole('button', { name: 'Close' }).click();

  await page.getByRole('button', { name: 'New secret' }).click();
  await page.getByRole('button', { name: 'Make a new secret' }).click();
  await page.getByLabel('The secret').and(page.locator(':focus')).waitFor();
  const secret = await page.getByLabel('The secret').inputValue();
  await page.getByRole('button', { name: 'Close' }).click();
  await page.getByText('signed with the old secret too').waitFor();
  await page.getByRole('button', { name: 'Send a test' }).click();
  await page.getByRole('row').filter({ hasText: 'delivered' }).nth(1).waitFor();
  const { body, signature } = received.at(-1)!;
  for (const one of [secret, made.body.signing_secret]) Stripe.webhooks.constructEvent(body, signature, one);
  t.is(received.length, 3);
});

test("an endpoint of somebody else's is not there", async (t) => {
  const client = await service.client(newUser());
  const { body } = await client.ask('POST', '/webhooks/endpoints', { url: `${site.url}/hook` });
  const page = await service.open(t, `/account/webhooks/${body.id}`, { user: newUser() });
  await page.getByText('There is no such webhook endpoint.').waitFor();
  t.is(await page.getByText(site.url).count(), 0);
});
