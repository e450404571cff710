// What can be done with an endpoint: send it a test, give it a new secret, enable it again, delete it.

import { useState } from 'preact/hooks';
import { ask } from '../../api/ask.ts';
import { go, to } from '../../app/address.ts';
import { Confirm } from '../../ui/dialog.tsx';
import type { Endpoint } from '../../ui/endpoint.tsx';
import { say, sayFailure } from '../../ui/toasts.tsx';
import { NewSecret } from './new-secret.tsx';

interface ActionsProps {
  endpoint: Endpoint;
  onChange(): void;
  onSent(): void;
}

export function Actions({ endpoint: { id, status, url }, onChange, onSent }: ActionsProps) {
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
