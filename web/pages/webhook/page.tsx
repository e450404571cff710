// A webhook endpoint: what was sent to it and what it answered, a test, a new secret.
import { useAnswer } from '../../api/use-answer.ts';
import { to } from '../../app/address.ts';
import type { PageProps } from '../../app/page-props.ts';
import { AccountTabs } from '../../ui/account-tabs.tsx';
import { type Endpoint, EndpointStatus, eventsText } from '../../ui/endpoint.tsx';
import { Failure } from '../../ui/failure.tsx';
import { Time } from '../../ui/time.tsx';
import { Actions } from './actions.tsx';
import { Deliveries } from './deliveries.tsx';
import { useDeliveries } from './use-deliveries.ts';

export function Page({ params }: PageProps) {
  const id = params.endpoint_id!;
  const endpoint = useAnswer('GET /webhooks/endpoints/{id}', { id });
  return (
    <>
      <AccountTabs />
      <a href={to('/account/webhooks')}>All endpoints</a>
      <Failure of={endpoint} title="Webhook endpoint" />
      {endpoint.value && <Shown endpoint={endpoint.value} onChange={endpoint.again} />}
    </>
  );
}

function Shown({ endpoint, onChange }: { endpoint: Endpoint; onChange(): void }) {
  const { id, url, events, created_at, older_secrets_until } = endpoint;
  // An endpoint that answers 410 is disabled by its delivery.
  const deliveries = useDeliveries(id, onChange);
  const is_changing = older_secrets_until !== null && Date.parse(older_secrets_until) > Date.now();
  return (
    <>
      <header class="title">
        <h1>
          <bdi>{url}</bdi>
        </h1>
        <EndpointStatus endpoint={endpoint} />
        <Actions endpoint={endpoint} onChange={onChange} onSent={deliveries.again} />
      </header>
      <p class="facts">
        <span>told of jobs: {eventsText(events)}</span>
        <span>
          made <Time at={created_at} />
        </span>
        {is_changing && (
          <span>
            signed with the old secret too until <Time at={older_secrets_until} />
          </span>
        )}
      </p>
      <Deliveries endpoint={endpoint} deliveries={deliveries} />
    </>
  );
}
