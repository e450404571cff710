// Makes a webhook endpoint and shows its signing secret, once.
import { useState } from 'preact/hooks';
import { type AnswerOf, ask } from '../../api/ask.ts';
import { to } from '../../app/address.ts';
import { useAction } from '../../ui/action.ts';
import { Check } from '../../ui/check.tsx';
import { Dialog, DialogFooter } from '../../ui/dialog.tsx';
import { EVENT_LABELS } from '../../ui/endpoint.tsx';
import { Refusal } from '../../ui/failure.tsx';
import { TextField } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { ShownOnce } from '../../ui/shown-once.tsx';

type Made = AnswerOf<'POST /webhooks/endpoints'>;

const EVENTS = Object.keys(EVENT_LABELS) as (keyof typeof EVENT_LABELS)[];

export function NewEndpoint({ onMade, onClose }: { onMade(): void; onClose(): void }) {
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
