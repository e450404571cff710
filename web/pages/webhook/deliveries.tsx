// The log of an endpoint's deliveries, the newest first. One opens to what was sent and what was answered.

import { useState } from 'preact/hooks';
import type { Answer } from '../../api/use-answer.ts';
import { to } from '../../app/address.ts';
import { Empty } from '../../ui/empty.tsx';
import type { Endpoint } from '../../ui/endpoint.tsx';
import { List } from '../../ui/list.tsx';
import { grouped } from '../../ui/numbers.ts';
import type { Column } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { answerText, DeliveryDetails, DeliveryStatus } from './delivery-details.tsx';
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
