// What a small job leaves in the log when it is deleted: most logs consist of that, and it stays for ever.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test from 'ava';
import { until } from '../support/behind.ts';
import { startTestService } from '../support/service.ts';
import { openSite } from '../support/sites.ts';
import { openReceiver } from '../support/webhook-receiver.ts';

const URLS = 10;
const ENDPOINTS = '/api/v2/webhooks/endpoints';
/** Of the stored texts of an event: its id, type, metadata and data. */
const BYTES: Readonly<Record<string, number>> = {
  CreditsReserved: 620,
  JobCreated: 640,
  JobCompleted: 290,
  WebhookDeliveredAtOnce: 500,
  DomainsChecked: 520,
  JobDeleted: 210,
  JobPurged: 215,
};

interface Row {
  type: string;
  stream: string;
  bytes: number;
}

test('a small job with a webhook leaves seven events when it is deleted, and its delivery stays listed', async (t) => {
  const service = await startTestService({ WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8' });
  t.teardown(() => service.stop());
  const [site, receiver] = [await openSite(), await openReceiver()];
  t.teardown(() => Promise.all([site.close(), receiver.close()]));
  const alice = await service.keyHolder('alice');
  const { body: endpoint } = await alice.ask('POST', ENDPOINTS, { url: receiver.url });
  const deliveries = async () => (await alice.ask('GET', `${ENDPOINTS}/${endpoint.id}/deliveries`)).body.items;

  const db = new DatabaseSync(join(service.data_dir, 'events.db'), { readOnly: true });
  t.teardown(() => db.close());
  const { last } = db.prepare('SELECT max(position) AS last FROM events').get() as { last: number };
  const left = db.prepare(`
    SELECT e.type, s.name AS stream, octet_length(e.id || e.type || e.metadata || e.data) AS bytes
    FROM events e JOIN streams s ON s.id = e.stream_id
    WHERE position > ? AND s.category NOT IN ('api_key_uses', 'personal_keys') ORDER BY position`);
  const rows = () => left.all(last) as unknown as Row[];
  const has = (type: string) => () => rows().some((row) => row.type === type);

  const urls = Array.from({ length: URLS }, (_, n) => `${site.url}/${n}`);
  const { job_id } = (await alice.ask('POST', '/api/v2/jobs', { urls })).body;
  await alice.ended(job_id);
  await until(async () => (await deliveries())[0]?.status === 'delivered');
  await until(has('DomainsChecked'));
  const before = await deliveries();
  t.is((await (await service.client('alice')).ask('DELETE', `/jobs/${job_id}`)).status, 200);
  await until(has('JobPurged'));

  t.deepEqual(
    rows()
      .map(({ type }) => type)
      .sort(),
    Object.keys(BYTES).sort(),
  );
  for (const { type, bytes } of rows()) t.true(bytes <= BYTES[type]!, `${type} has ${bytes} bytes`);
  t.deepEqual(await deliveries(), before);
  t.like(before[0], { event: { data: { job_id } }, attempt_count: 1, given_up_reason: null });
  t.like(before[0].attempts, [{ attempt: 1, status_code: 200, response_excerpt: 'answered 200' }]);
});
