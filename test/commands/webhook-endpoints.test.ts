// The webhook endpoints of one user: given what happened, when this is asked, then that happens.
import { createHmac } from 'node:crypto';
import test from 'ava';
import {
  decide,
  evolve,
  initial,
  MAX_ENDPOINTS,
  openWebhookEndpoints,
  signingSecret,
  signingSecrets,
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
  data: { ...endpointOf(endpoint_id), is_derived: true },
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
const disable: WebhookEndpointsCommand = { type: 'disable', endpoint_id: 'a', reason: 'gone', enablings: 0 };
const noteNotice: WebhookEndpointsCommand = { type: 'noteNotice', endpoint_id: 'a', refused: null, enablings: 0 };

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

const ENABLED: WebhookEndpointsEvent = { type: 'WebhookEndpointEnabled', data: { endpoint_id: 'a', times: 1 } };
const enable: WebhookEndpointsCommand = { type: 'enable', endpoint_id: 'a' };

test('a disabled endpoint is enabled once, and may be disabled again', (t) => {
  t.deepEqual(when([created('a'), DISABLED], enable), { events: [ENABLED] });
  t.deepEqual(when([created('a'), DISABLED, NOTIFIED], enable), { events: [ENABLED] });
  t.deepEqual(when([created('a')], enable), { events: [] });
  t.deepEqual(when([created('a'), DISABLED, ENABLED], enable), { events: [] });
  for (const history of [[], [created('b')], [created('a'), DISABLED, DELETED]])
    t.like(when(history, enable), { refused: { code: 'endpoint_not_found' } });
  const again = when([created('a'), DISABLED, ENABLED, DISABLED], enable);
  t.like(again, { events: [{ data: { times: 2 } }] });
});

test('what a process saw before an endpoint was enabled neither disables it nor counts as its notice', (t) => {
  const enabled = [created('a'), DISABLED, ENABLED];
  t.deepEqual(when(enabled, disable), { events: [] });
  t.deepEqual(when(enabled, { ...disable, enablings: 1 } as WebhookEndpointsCommand), { events: [DISABLED] });
  t.deepEqual(when([...enabled, DISABLED], noteNotice), { events: [] });
  t.deepEqual(when([...enabled, DISABLED], { ...noteNotice, enablings: 1 } as WebhookEndpointsCommand), {
    events: [NOTIFIED],
  });
});

const NOW = Date.parse('2026-01-31T09:00:00.000Z');
const rotation = (secret: number, older_until: number): WebhookEndpointsEvent => ({
  type: 'WebhookSecretRotated',
  data: { endpoint_id: 'a', secret, older_until: new Date(older_until).toISOString(), is_derived: true },
});
const rotate = (older_until: number, now = NOW): WebhookEndpointsCommand => ({
  ...{ type: 'rotateSecret', endpoint_id: 'a', now, older_until },
});
const secretsAt = (history: readonly WebhookEndpointsEvent[], now: number) => {
  const endpoint = history.reduce(evolve, initial()).get('a')!;
  const key = Buffer.from('a key of tests');
  const numbers = new Map(Array.from({ length: 9 }, (_, n) => [signingSecret(key, 'a', n + 1), n + 1]));
  return signingSecrets(key, 'a', endpoint, now).map((secret) => numbers.get(secret));
};

test('a new secret signs beside the older ones until their time is over', (t) => {
  t.deepEqual(when([created('a')], rotate(NOW + 1000)), { events: [rotation(2, NOW + 1000)] });
  const twice = [created('a'), rotation(2, NOW + 1000), rotation(3, NOW + 2000)];
  t.deepEqual(secretsAt([created('a')], NOW), [1]);
  t.deepEqual(secretsAt(twice, NOW), [3, 2, 1]);
  t.deepEqual(secretsAt(twice, NOW + 999), [3, 2, 1]);
  t.deepEqual(secretsAt(twice, NOW + 1000), [3, 2]);
  t.deepEqual(secretsAt(twice, NOW + 2000), [3]);
  t.deepEqual(secretsAt([...twice, rotation(4, NOW)], NOW), [4], 'without an overlap all older ones end');
  for (const history of [[], [created('a'), DELETED]])
    t.like(when(history, rotate(NOW)), { refused: { code: 'endpoint_not_found' } });
});

test('an endpoint from before the keys by purpose keeps its secret until it gets a new one', (t) => {
  const key = Buffer.from('a key of tests');
  const at_first = createHmac('sha256', key).update('webhook endpoint a').digest('base64url');
  const before: WebhookEndpointsEvent = { type: 'WebhookEndpointCreated', data: endpointOf('a') };
  const secrets = (...later: WebhookEndpointsEvent[]) =>
    signingSecrets(key, 'a', [before, ...later].reduce(evolve, initial()).get('a')!, NOW);
  t.deepEqual(secrets(), [`whsec_${at_first}`]);
  t.deepEqual(secrets(rotation(2, NOW + 1000)), [signingSecret(key, 'a', 2), `whsec_${at_first}`]);
});

test('at most four older secrets sign a delivery', (t) => {
  const full = [created('a'), ...[2, 3, 4, 5].map((secret) => rotation(secret, NOW + 1000))];
  t.deepEqual(secretsAt(full, NOW), [5, 4, 3, 2, 1]);
  t.like(when(full, rotate(NOW + 1000)), { refused: { code: 'too_many_secrets' } });
  t.like(when(full, rotate(NOW)), { events: [{ data: { secret: 6 } }] }, 'all of them end');
  t.like(when(full, rotate(NOW + 3000, NOW + 1000)), { events: [{ data: { secret: 6 } }] }, 'their time is over');
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
