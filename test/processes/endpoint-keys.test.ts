// What a webhook's receiver answered can be read until its endpoint is deleted, and not after it.
import { randomBytes } from 'node:crypto';
import test from 'ava';
import { openWebhookDeliveries } from '../../commands/webhook-delivery.ts';
import { openWebhookEndpoints } from '../../commands/webhook-endpoints.ts';
import { upcast, withCodec } from '../../events/codec.ts';
import { BEGINNING } from '../../events/event-store.ts';
import { openPersonalKeys } from '../../events/personal-keys.ts';
import { webhookDeliveryStream } from '../../events/streams.ts';
import type { WebhookDeliveryRequested } from '../../events/webhook.ts';
import { destroyKeys } from '../../processes/endpoint-keys.ts';
import { openRemovals } from '../../processes/removals.ts';
import { commandContext, openTestStores } from '../support/stores.ts';

const SECRET = randomBytes(32);
const outcome = { status_code: 500, error: null, duration_ms: 1, retry_after_ms: null, response_excerpt: 'dear Alice' };

test('the answers of a receiver go with its endpoint, also those that come after its deletion', async (t) => {
  const { log: stored } = await openTestStores(t);
  const opened = () => withCodec(stored, openPersonalKeys(stored, SECRET));
  const log = opened();
  const [endpoints, deliveries] = [openWebhookEndpoints(log), openWebhookDeliveries(log)];
  const requested = new Map<string, WebhookDeliveryRequested>();
  for (const endpoint_id of ['kept', 'deleted', 'never tried']) {
    const endpoint = { endpoint_id, user_id: 'alice', url: 'https://a.example/', events: [] };
    await endpoints.run('alice', { type: 'create', endpoint }, commandContext());
    const event = {
      id: 'e',
      type: 'endpoint.test',
      created_at: new Date().toISOString(),
      data: { endpoint_id },
    } as const;
    const delivery = { delivery_id: endpoint_id, endpoint_id, user_id: 'alice', event };
    requested.set(endpoint_id, delivery);
    await deliveries.run(endpoint_id, { type: 'request', delivery }, commandContext());
  }
  const attempt = (id: string, number: number) => {
    const command = {
      type: 'recordAttempt',
      delivery: requested.get(id)!,
      attempt: number,
      outcome,
      random: 0,
    } as const;
    return deliveries.run(id, command, commandContext());
  };
  await attempt('kept', 1);
  await attempt('deleted', 1);
  const excerpts = async (id: string, from = opened()) => {
    const events = await Array.fromAsync(from.readStream(webhookDeliveryStream(id)));
    return events.flatMap(({ type, data }) =>
      type === 'WebhookAttempted' ? [(data as typeof outcome).response_excerpt] : [],
    );
  };
  t.deepEqual(await excerpts('deleted'), ['dear Alice']);
  t.regex((await excerpts('deleted', stored))[0]!, /^sealed:/, 'the log has no text in clear');

  for (const endpoint_id of ['deleted', 'never tried'])
    await endpoints.run('alice', { type: 'delete', endpoint_id }, commandContext());
  const removals = openRemovals();
  await removals.holdWhile(async () => {
    await destroyKeys({ log, removals }, BEGINNING);
    t.deepEqual(await excerpts('deleted'), ['dear Alice'], 'a backup is being written');
  });
  const reached = await destroyKeys({ log, removals }, BEGINNING);
  t.is(await destroyKeys({ log, removals }, BEGINNING), reached, 'again');
  // Requests that were under way.
  await attempt('deleted', 2);
  await attempt('never tried', 1);
  t.deepEqual(await excerpts('deleted'), ['[erased]', '[erased]']);
  t.deepEqual(await excerpts('never tried'), ['[erased]']);
  t.deepEqual(await excerpts('kept'), ['dear Alice']);
});

test('an answer that an earlier version recorded in clear is not shown, and a sealed one is', (t) => {
  const recorded = (response_excerpt: string) =>
    ({
      type: 'WebhookAttempted',
      stream: 'webhook_delivery-d',
      revision: 1,
      data: { response_excerpt },
      metadata: {},
    }) as never;
  t.deepEqual(upcast(recorded('dear Alice')).data, { response_excerpt: '[erased]' });
  t.deepEqual(upcast(recorded('sealed:2:abc')).data, { response_excerpt: 'sealed:2:abc' });
});
