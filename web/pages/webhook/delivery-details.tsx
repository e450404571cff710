// A delivery: the event as it was sent, and each attempt with its answer. It can be sent again.

import { ask } from '../../api/ask.ts';
import { useAction } from '../../ui/action.ts';
import { Dialog, DialogFooter } from '../../ui/dialog.tsx';
import type { Endpoint } from '../../ui/endpoint.tsx';
import { Refusal } from '../../ui/failure.tsx';
import { span } from '../../ui/numbers.ts';
import { Time } from '../../ui/time.tsx';
import { say } from '../../ui/toasts.tsx';
import type { Delivery } from './use-deliveries.ts';

type Attempt = Delivery['attempts'][number];

const GIVEN_UP = {
  no_attempts_left: 'no attempts left',
  endpoint_gone: 'the endpoint is gone',
  endpoint_disabled: 'the endpoint was disabled',
} as const;

export function DeliveryStatus({ delivery: { status, given_up_reason } }: { delivery: Delivery }) {
  return (
    <span class={`badge is-${status}`}>
      {status.replace('_', ' ')}
      {given_up_reason && `: ${GIVEN_UP[given_up_reason]}`}
    </span>
  );
}

/** @example answerText({ status_code: null, error: 'connection_refused', … }) // 'connection refused' */
export const answerText = (attempt: Attempt | undefined): string =>
  String(attempt?.status_code ?? attempt?.error?.replaceAll('_', ' ') ?? '–');

interface DeliveryDetailsProps {
  delivery: Delivery;
  endpoint: Endpoint;
  onSent(): void;
  onClose(): void;
}

export function DeliveryDetails({ delivery, endpoint, onSent, onClose }: DeliveryDetailsProps) {
  const { id, event, attempts, attempt_count } = delivery;
  const resend = useAction(async () => {
    await ask('POST /webhooks/endpoints/{id}/deliveries/{delivery_id}/resend', { id: endpoint.id, delivery_id: id });
    say('It is sent again, under the same event id.');
    onSent();
  });
  return (
    <Dialog title={event.type} onClose={onClose}>
      <p>
        <DeliveryStatus delivery={delivery} />
      </p>
      <pre>{JSON.stringify(event, null, 2)}</pre>
      {attempts.length > 0 && <h3>{attempts.length < attempt_count ? 'The last attempts' : 'Attempts'}</h3>}
      <ol class="attempts">
        {attempts.map((attempt) => (
          <li key={attempt.attempt} value={attempt.attempt}>
            <Time at={attempt.at} />: <b>{answerText(attempt)}</b> after {span(attempt.duration_ms)}
            {attempt.response_excerpt !== '' && <pre>{attempt.response_excerpt}</pre>}
          </li>
        ))}
      </ol>
      {endpoint.status === 'disabled' && <p class="notice">Enable the endpoint to send this again.</p>}
      <Refusal error={resend.error} />
      <DialogFooter onClose={onClose}>
        <button
          type="button"
          class="primary"
          disabled={resend.is_running || endpoint.status === 'disabled' || attempt_count === 0}
          onClick={resend.run}
        >
          Send again
        </button>
      </DialogFooter>
    </Dialog>
  );
}
