// A webhook endpoint: what was sent to it and what it answered, a test, a new secret.

import { useState } from 'preact/hooks';
import { ask, useAnswer } from '../../api/ask.ts';
import { go, type PageProps, to } from '../../app/address.ts';
import { AccountTabs } from '../../ui/account-tabs.tsx';
import { say, sayFailure, useAction } from '../../ui/actions.tsx';
import { Confirm, Dialog, DialogFooter } from '../../ui/dialog.tsx';
import { type Endpoint, EndpointStatus, eventsText } from '../../ui/endpoint.tsx';
import { Failure, Refusal } from '../../ui/failure.tsx';
import { SelectField } from '../../ui/form.tsx';
import { ShownOnce } from '../../ui/shown-once.tsx';
import { Time } from '../../ui/values.tsx';
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

// What can be done with an endpoint: send it a test, give it a new secret, enable it again, delete it.
interface ActionsProps {
  endpoint: Endpoint;
  onChange(): void;
  onSent(): void;
}

function Actions({ endpoint: { id, status, url }, onChange, onSent }: ActionsProps) {
  const [asked, setAsked] = useState<'secret' | 'delete' | null>(null);
  const close = () => setAsked(null);
  const test = () =>
    ask('POST /webhooks/endpoints/{id}/test', { id }).then(() => {
      say('A test is on its way.');
      onSent();
    }, sayFailure);
  const enable = () =>
    ask('POST /webhooks/endpoints/{id}/enable', { id }).then(() => {
      say('The endpoint is enabled. What it missed can be sent again below.');
      onChange();
    }, sayFailure);
  return (
    <div class="actions">
      {status === 'enabled' ? (
        <button type="button" class="primary" onClick={test}>
          Send a test
        </button>
      ) : (
        <button type="button" class="primary" onClick={enable}>
          Enable
        </button>
      )}
      <button type="button" onClick={() => setAsked('secret')}>
        New secret
      </button>
      <button type="button" class="danger" onClick={() => setAsked('delete')}>
        Delete
      </button>
      {asked === 'secret' && <NewSecret endpoint_id={id} onMade={onChange} onClose={close} />}
      {asked === 'delete' && (
        <Confirm
          title="Delete this endpoint?"
          action="Delete the endpoint"
          is_dangerous
          onClose={close}
          onConfirm={async () => {
            await ask('DELETE /webhooks/endpoints/{id}', { id });
            say('The endpoint is deleted.');
            go(to('/account/webhooks'));
          }}
        >
          <p>
            <bdi>{url}</bdi> is told nothing any more, and the log of its deliveries is erased.
          </p>
        </Confirm>
      )}
    </div>
  );
}

// Gives an endpoint a new signing secret and shows it, once.
const HOUR_S = 3600;
const OVERLAPS = [
  { value: HOUR_S, label: 'for an hour' },
  { value: 24 * HOUR_S, label: 'for a day' },
  { value: 7 * 24 * HOUR_S, label: 'for a week' },
  { value: 0, label: 'not at all: others have seen it' },
];

interface NewSecretProps {
  endpoint_id: string;
  onMade(): void;
  onClose(): void;
}

function NewSecret({ endpoint_id, onMade, onClose }: NewSecretProps) {
  const [overlap_seconds, setOverlap] = useState(24 * HOUR_S);
  const [secret, setSecret] = useState<string | null>(null);
  const make = useAction(async () => {
    const { signing_secret } = await ask('POST /webhooks/endpoints/{id}/secret', { id: endpoint_id, overlap_seconds });
    setSecret(signing_secret);
    onMade();
  });
  if (secret !== null) {
    return (
      <Dialog title="Copy the new secret" onClose={onClose}>
        <ShownOnce label="The secret" hint="It is shown this once." value={secret} />
        <DialogFooter onClose={onClose} />
      </Dialog>
    );
  }
  return (
    <Dialog title="New signing secret" onClose={onClose}>
      <SelectField
        label="The old secret signs as well"
        hint="Put the new secret into your receiver in that time."
        value={overlap_seconds}
        options={OVERLAPS}
        onChange={(chosen) => setOverlap(Number(chosen))}
      />
      <Refusal error={make.error} />
      <DialogFooter onClose={onClose}>
        <button type="button" class="primary" disabled={make.is_running} onClick={make.run}>
          Make a new secret
        </button>
      </DialogFooter>
    </Dialog>
  );
}
