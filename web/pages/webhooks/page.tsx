// The webhook endpoints: your URLs that are told when a job ends or stops.
import { useState } from 'preact/hooks';
import { type AnswerOf, ask, useAnswer } from '../../api/ask.ts';
import { to } from '../../app/address.ts';
import { AccountTabs } from '../../ui/account-tabs.tsx';
import { useAction } from '../../ui/actions.tsx';
import { Dialog, DialogFooter } from '../../ui/dialog.tsx';
import { type Endpoint, EndpointStatus, EVENT_LABELS, eventsText } from '../../ui/endpoint.tsx';
import { Empty, Failure, Refusal } from '../../ui/failure.tsx';
import { Check, Form, TextField } from '../../ui/form.tsx';
import { ShownOnce } from '../../ui/shown-once.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Time } from '../../ui/values.tsx';

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

// Makes a webhook endpoint and shows its signing secret, once.
type Made = AnswerOf<'POST /webhooks/endpoints'>;

const EVENTS = Object.keys(EVENT_LABELS) as (keyof typeof EVENT_LABELS)[];

function NewEndpoint({ onMade, onClose }: { onMade(): void; onClose(): void }) {
  const [url, setUrl] = useState('');
  const [events, setEvents] = useState(EVENTS);
  const [made, setMade] = useState<Made | null>(null);
  const make = useAction(async () => {
    // An empty list also takes the events of later versions.
    const wanted = events.length === EVENTS.length ? [] : events;
    setMade(await ask('POST /webhooks/endpoints', { url, events: wanted }));
    onMade();
  });
  if (made !== null) return <Secret of={made} onClose={onClose} />;
  return (
    <Dialog title="New webhook endpoint" onClose={onClose}>
      <Form class="section" onSubmit={make.run}>
        <TextField
          label="URL"
          hint="An https address on the public internet."
          type="url"
          required
          maxLength={2048}
          placeholder="https://"
          value={url}
          onInput={setUrl}
        />
        <fieldset class="choices">
          <legend>It is told when a job</legend>
          {EVENTS.map((name) => (
            <Check
              key={name}
              label={EVENT_LABELS[name]}
              is_on={events.includes(name)}
              set={(is_on) => setEvents(EVENTS.filter((one) => (one === name ? is_on : events.includes(one))))}
            />
          ))}
        </fieldset>
        <Refusal error={make.error} />
        <DialogFooter onClose={onClose}>
          <button type="submit" class="primary" disabled={make.is_running || events.length === 0}>
            Make the endpoint
          </button>
        </DialogFooter>
      </Form>
    </Dialog>
  );
}

function Secret({ of: { id, signing_secret }, onClose }: { of: Made; onClose(): void }) {
  return (
    <Dialog title="Copy the signing secret" onClose={onClose}>
      <ShownOnce
        label="The secret"
        hint="It is shown this once. Your receiver verifies with it that a request comes from this service."
        value={signing_secret}
      />
      <DialogFooter onClose={onClose}>
        <a class="button" href={to(`/account/webhooks/${id}`)}>
          Go on to a test
        </a>
      </DialogFooter>
    </Dialog>
  );
}
