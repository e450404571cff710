// The log of an endpoint's deliveries, the newest first. One opens to what was sent and what was answered.
import { useState } from 'preact/hooks';
import { type Answer, ask } from '../../api/ask.ts';
import { to } from '../../app/address.ts';
import { say, useAction } from '../../ui/actions.tsx';
import { Dialog, DialogFooter } from '../../ui/dialog.tsx';
import type { Endpoint } from '../../ui/endpoint.tsx';
import { Empty, Refusal } from '../../ui/failure.tsx';
import { type Column, List } from '../../ui/table.tsx';
import { grouped, span, Time } from '../../ui/values.tsx';
import type { Delivery, DeliveryPage } from './use-deliveries.ts';

interface DeliveriesProps {
  endpoint: Endpoint;
  deliveries: Answer<DeliveryPage>;
}

export function Deliveries({ endpoint, deliveries }: DeliveriesProps) {
  const [opened, setOpened] = useState<string | null>(null);
  const shown = deliveries.value?.items.find(({ id }) => id === opened);
  return (
    <section class="section">
      <h2>Deliveries</h2>
      <List
        of={deliveries}
        empty={
          <Empty title="Nothing was sent yet">
            <p>Send a test, or check a list: what the endpoint answers is shown here.</p>
          </Empty>
        }
        caption="Deliveries"
        columns={columns(setOpened)}
        keyOf={({ id }) => id}
      />
      {shown && (
        <DeliveryDetails
          delivery={shown}
          endpoint={endpoint}
          onSent={deliveries.again}
          onClose={() => setOpened(null)}
        />
      )}
    </section>
  );
}

const columns = (onOpen: (id: string) => void): readonly Column<Delivery>[] => [
  { label: 'When', cell: ({ created_at }) => <Time at={created_at} /> },
  { label: 'Event', cell: ({ event }) => <code>{event.type}</code> },
  {
    label: 'Job',
    cell: ({ event: { data } }) => ('job_id' in data ? <a href={to(`/jobs/${data.job_id}`)}>{data.status}</a> : '–'),
  },
  { label: 'Status', cell: (delivery) => <DeliveryStatus delivery={delivery} /> },
  { label: 'Last answer', cell: ({ attempts }) => answerText(attempts.at(-1)) },
  { label: 'Attempts', is_number: true, cell: ({ attempt_count }) => grouped(attempt_count) },
  { label: 'Next', cell: ({ next_attempt_at }) => <Time at={next_attempt_at} /> },
  {
    label: 'Actions',
    is_number: true,
    cell: ({ id, event, created_at }) => (
      <button type="button" aria-label={`Open ${event.type} of ${created_at}`} onClick={() => onOpen(id)}>
        Open
      </button>
    ),
  },
];

// A delivery: the event as it was sent, and each attempt with its answer. It can be sent again.
type Attempt = Delivery['attempts'][number];

const GIVEN_UP = {
  no_attempts_left: 'no attempts left',
  endpoint_gone: 'the endpoint is gone',
  endpoint_disabled: 'the endpoint was disabled',
} as const;

function DeliveryStatus({ delivery: { status, given_up_reason } }: { delivery: Delivery }) {
  return (
    <span class={`badge is-${status}`}>
      {status.replace('_', ' ')}
      {given_up_reason && `: ${GIVEN_UP[given_up_reason]}`}
    </span>
  );
}

/** @example answerText({ status_code: null, error: 'connection_refused', … }) // 'connection refused' */
const answerText = (attempt: Attempt | undefined): string =>
  String(attempt?.status_code ?? attempt?.error?.replaceAll('_', ' ') ?? '–');

interface DeliveryDetailsProps {
  delivery: Delivery;
  endpoint: Endpoint;
  onSent(): void;
  onClose(): void;
}

function DeliveryDetails({ delivery, endpoint, onSent, onClose }: DeliveryDetailsProps) {
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
