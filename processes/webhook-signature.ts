// Signs webhooks in Stripe's layout, so that Stripe's libraries verify them.
import { createHmac } from 'node:crypto';
import type { WebhookEvent } from '../events/webhook.ts';
import type { WebhookRequest } from './webhook-sender.ts';

export interface SignedWebhook {
  url: string;
  event: WebhookEvent;
  delivery_id: string;
  /** The endpoint's whole secrets, the newest first: their prefix is a part of the key. Each of them signs. */
  secrets: readonly string[];
  /** The time of sending, in milliseconds since the epoch. */
  now: number;
}

export function signedRequest({ url, event, delivery_id, secrets, now }: SignedWebhook): WebhookRequest {
  const body = JSON.stringify(event);
  return {
    url,
    headers: {
      'content-type': 'application/json',
      'service-signature': signatureOf(secrets, body, Math.floor(now / 1000)),
      'service-event-id': event.id,
      'service-event-type': event.type,
      'service-delivery-id': delivery_id,
    },
    body,
  };
}

/** `secrets`: the newest first. Its signature comes last: published verifiers that keep one `v1` keep that. `timestamp_s`: seconds since the epoch. */
export function signatureOf(secrets: readonly string[], body: string, timestamp_s: number): string {
  const signatures = secrets.toReversed().map((secret) => {
    const signature = createHmac('sha256', secret).update(`${timestamp_s}.${body}`).digest('hex');
    return `v1=${signature}`;
  });
  return [`t=${timestamp_s}`, ...signatures].join(',');
}
