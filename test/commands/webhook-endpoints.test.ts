// The webhook endpoints of one user: given what happened, when this is asked, then that happens.
import test from 'ava';
import {
  decide,
  evolve,
  initial,
  MAX_ENDPOINTS,
  openWebhookEndpoints,
  signingSecret,
  type WebhookEndpointsCommand,
} from '../../commands/webhook-endpoints.ts';
import { webhookEndpointsStream } from '../../events/streams.ts';
import type { WebhookEndpointsEvent } from '../../events/webhook.ts';
import { commandContext, openTestStores } from '../support/stores.ts';

const endpointOf = (endpoint_id: string) => ({
  endpoint_id,
  user_id: 'alice',
  url: 'https://example.com/hook',
  events: [],
});
const created = (endpoint_id: string): WebhookEndpointsEvent => ({
  type: 'WebhookEndpointCreated',
  data: endpointOf(endpoint_id),
});
const DISABLED: WebhookEndpointsEvent = {
  type: 'WebhookEndpointDisabled',
  data: { endpoint_id: 'a', reason: 'gone' },
};
const DELETED: WebhookEndpointsEvent = { type: 'WebhookEndpointDeleted', data: { endpoint_id: 'a' } };
const NOTIFIED: WebhookEndpointsEvent = {
  type: 'WebhookEndpointOwnerNotified',
  data: { endpoint_id: 'a', refused: null },
};

const create = (endpoint_id: string): WebhookEndpointsCommand => ({
  type: 'create',
  endpoint: endpointOf(endpoint_id),
});
const remove: WebhookEndpointsCommand = { type: 'delete', endpoint_id: 'a' };
const disable: WebhookEndpointsCommand = { type: 'disable', endpoint_id: 'a', reason: 'gone' };
const noteNotice: WebhookEndpointsCommand = { type: 'noteNotice', endpoint_id: 'a', refused: null };

const when = (given: readonly WebhookEndpointsEvent[], command: WebhookEndpointsCommand) =>
  decide(given.reduce(evolve, initial()), command);

test('an endpoint is created once, and its URL may have another', (t) => {
  t.deepEqual(when([], create('a')), { events: [created('a')] });
  t.deepEqual(when([created('a')], create('a')), { events: [] });
  t.deepEqual(when([created('a')], create('b')), { events: [created('b')] });
});

test('a user has at most twenty endpoints, disabled ones included; a deletion makes room', (t) => {
  const full = Array.from({ length: MAX_ENDPOINTS }, (_, i) => created(i === 0 ? 'a' : `e${i}`));
  t.is(full.length, 20);
  t.like(when(full, create('new')), { refused: { code: 'too_many_endpoints' } });
  t.like(when([...full, DISABLED], create('new')), { refused: { code: 'too_many_endpoints' } });
  t.deepEqual(when([...full, DELETED], create('new')), { events: [created('new')] });
});

test('an endpoint is deleted once, and only when the user has it', (t) => {
  t.deepEqual(when([created('a')], remove), { events: [DELETED] });
  t.deepEqual(when([created('a'), DISABLED], remove), { events: [DELETED] });
  t.deepEqual(when([created('a'), DELETED], remove), { events: [] });
  t.like(when([created('b')], remove), { refused: { code: 'endpoint_not_found' } });
});

test('an endpoint is disabled once, and its owner is notified once', (t) => {
  t.deepEqual(when([created('a')], disable), { events: [DISABLED] });
  t.deepEqual(when([created('a'), DISABLED], disable), { events: [] });
  t.deepEqual(when([created('a'), DELETED], disable), { events: [] });
  t.deepEqual(when([created('a')], noteNotice), { events: [] });
  t.deepEqual(when([created('a'), DISABLED], noteNotice), { events: [NOTIFIED] });
  t.deepEqual(when([created('a'), DISABLED, NOTIFIED], noteNotice), { events: [] });
  t.deepEqual(when([created('a'), DISABLED, DELETED], noteNotice), { events: [] });
});

test('several processes create at most twenty endpoints of a user', async (t) => {
  const { log } = await openTestStores(t);
  const processes = [openWebhookEndpoints(log), openWebhookEndpoints(log), openWebhookEndpoints(log)];
  const made = await Promise.all(
    Array.from({ length: 30 }, (_, i) => processes[i % 3]!.run('alice', create(`e${i}`), commandContext())),
  );
  t.is(made.filter(({ ok }) => ok).length, 20);
  t.is((await Array.fromAsync(log.readStream(webhookEndpointsStream('alice')))).length, 20);
});

test('a secret derives from the key and the endpoint, and no event has it', (t) => {
  const key = Buffer.from('a key of tests');
  const secret = signingSecret(key, 'a');
  t.regex(secret, /^whsec_[\w-]{43}$/);
  t.is(signingSecret(key, 'a'), secret);
  t.not(signingSecret(key, 'b'), secret);
  t.not(signingSecret(Buffer.from('another key'), 'a'), secret);
});
