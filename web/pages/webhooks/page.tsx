// The webhook endpoints: your URLs that are told when a job ends or stops.
import { useState } from 'preact/hooks';
import { useAnswer } from '../../api/use-answer.ts';
import { to } from '../../app/address.ts';
import { AccountTabs } from '../../ui/account-tabs.tsx';
import { Empty } from '../../ui/empty.tsx';
import { type Endpoint, EndpointStatus, eventsText } from '../../ui/endpoint.tsx';
import { Failure } from '../../ui/failure.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { NewEndpoint } from './new-endpoint.tsx';

const COLUMNS: readonly Column<Endpoint>[] = [
  {
    label: 'Endpoint',
    cell: ({ id, url }) => (
      <a href={to(`/account/webhooks/${id}`)}>
        <bdi>{url}</bdi>
      </a>
    ),
  },
  { label: 'Status', cell: (endpoint) => <EndpointStatus endpoint={endpoint} /> },
  { label: 'Events', cell: ({ events }) => eventsText(events) },
  { label: 'Made', cell: ({ created_at }) => <Time at={created_at} /> },
];

export function Page() {
  const endpoints = useAnswer('GET /webhooks/endpoints', {});
  const [is_making, setMaking] = useState(false);
  const make = (
    <button type="button" class="primary" onClick={() => setMaking(true)}>
      New endpoint
    </button>
  );
  const has_some = endpoints.value !== undefined && endpoints.value.total > 0;
  return (
    <>
      <header class="title">
        <h1>Webhooks</h1>
        {has_some && make}
      </header>
      <AccountTabs />
      <Failure of={endpoints} />
      {endpoints.value?.total === 0 && (
        <Empty title="You have no webhook endpoints yet">
          <p>
            An endpoint is a URL of yours. The service posts to it when a job completes, pauses, fails or is cancelled.
          </p>
          {make}
        </Empty>
      )}
      {has_some && (
        <Table
          caption="Your webhook endpoints"
          columns={COLUMNS}
          items={endpoints.value!.items}
          keyOf={(endpoint) => endpoint.id}
        />
      )}
      {is_making && <NewEndpoint onMade={endpoints.again} onClose={() => setMaking(false)} />}
    </>
  );
}
