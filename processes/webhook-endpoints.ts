// Disables endpoints that answered 410 or have failed for days, gives up their pending deliveries, and notifies their owners at
// least once: a crash between the mail and its event sends the mail again.
import type { CommandContext } from '../commands/aggregate.ts';
import type { WebhookDeliveries } from '../commands/webhook-delivery.ts';
import type { WebhookEndpoints } from '../commands/webhook-endpoints.ts';
import type { EventStore } from '../events/event-store.ts';
import type { ReadModels } from '../readmodels/read-models.ts';
import { type WebhookEndpointDocument, webhookDeliveries, webhookEndpoints } from '../readmodels/webhooks.ts';
import { addressOf } from './address-of.ts';
import type { Mail, Mailer } from './mail.ts';
import { type AnyManager, processManager } from './process-manager.ts';
import { requestOf } from './webhook-deliveries.ts';

const AT_ONCE = 1000;

export interface WebhookEndpointsOptions {
  log: EventStore;
  readmodels: Pick<ReadModels, 'collection'>;
  endpoints: WebhookEndpoints;
  deliveries: WebhookDeliveries;
  mailer: Mailer;
  context: (endpoint_id: string) => CommandContext;
}

export function webhookEndpointCare(options: WebhookEndpointsOptions): AnyManager {
  const { endpoints, context } = options;
  return processManager({
    name: 'webhook endpoints',
    finds: { in: webhookEndpoints, where: { due: { $in: ['disable_gone', 'disable_failing', 'notice'] } } },
    order: '_id',
    at_a_time: 1,
    async work(endpoint) {
      const { _id: endpoint_id, user_id, due, enablings = 0 } = endpoint;
      if (due !== 'notice') {
        const reason = due === 'disable_gone' ? 'gone' : 'failing';
        await endpoints.run(user_id, { type: 'disable', endpoint_id, reason, enablings }, context(endpoint_id));
      } else if (!(await giveUpSome(endpoint, options))) await notify(endpoint, options);
    },
    fails: 'a webhook endpoint was not disabled, or its owner not notified; the others are',
  });
}

/** Gives up pending deliveries of a disabled endpoint. Returns whether it found any, so that the next pass looks again. */
async function giveUpSome(
  { _id, user_id, enablings = 0 }: WebhookEndpointDocument,
  options: WebhookEndpointsOptions,
): Promise<boolean> {
  const { readmodels, endpoints, deliveries, context } = options;
  const where = { endpoint_id: _id, status: 'pending' };
  const pending = await readmodels.collection(webhookDeliveries).find(where, { limit: AT_ONCE });
  // After the search: the deliveries of an endpoint that its owner has enabled since are not found yet.
  const known = pending.length > 0 ? await endpoints.find(user_id, _id) : null;
  if (known?.enablings !== enablings || known.status !== 'disabled') return false;
  for (const delivery of pending) {
    const command = { type: 'giveUp', delivery: requestOf(delivery), reason: 'endpoint_disabled' } as const;
    await deliveries.run(delivery._id, command, context(_id));
  }
  return pending.length > 0;
}

async function notify(endpoint: WebhookEndpointDocument, options: WebhookEndpointsOptions): Promise<void> {
  const { log, endpoints, mailer, context } = options;
  const { _id: endpoint_id, user_id, enablings = 0 } = endpoint;
  // The read model may be behind the log.
  const known = await endpoints.find(user_id, endpoint_id);
  if (known?.status !== 'disabled' || known.notified || known.enablings !== enablings) return;
  const to = await addressOf(user_id, log);
  const refused = to === null ? 'the owner has no address' : await mailer.send(noticeOf(endpoint, to));
  await endpoints.run(user_id, { type: 'noteNotice', endpoint_id, refused, enablings }, context(endpoint_id));
}

const BECAUSE = {
  gone: 'It answered 410 Gone, by which a receiver says that it wants no more events.',
  failing: 'Every attempt to deliver an event to it has failed for at least five days.',
};

function noticeOf({ _id, url, disabled_reason, enablings = 0, user_id }: WebhookEndpointDocument, to: string): Mail {
  const text = [
    `Your webhook endpoint ${url} (id ${_id}) was disabled.`,
    BECAUSE[disabled_reason!],
    'Events of jobs are no longer sent to it, and those that were still to be sent are given up. ' +
      'Your jobs continue as before.',
    `When your receiver works again, enable the endpoint: POST /api/v2/webhooks/endpoints/${_id}/enable`,
    'What every attempt was answered is in the log of its deliveries, from which you can send again what was given up: ' +
      `GET /api/v2/webhooks/endpoints/${_id}/deliveries`,
  ].join('\n\n');
  // A mail of its own for each time that the endpoint is disabled.
  const id = ['webhook-endpoint-disabled', _id, ...(enablings === 0 ? [] : [enablings])].join('-');
  return { id, user_id, to, subject: 'Your webhook endpoint was disabled', text };
}
