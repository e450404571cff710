// Subscriptions that were bought beside a user's plan, each with a way to end it.
import { useState } from 'preact/hooks';
import type { AnswerOf } from '../api/ask.ts';
import { say } from './actions.tsx';
import { Confirm } from './dialog.tsx';
import { Time } from './values.tsx';

type Other = AnswerOf<'GET /users/me'>['other_subscriptions'][number];

interface Props {
  others: readonly Other[];
  end(subscription_id: string): Promise<unknown>;
  onEnd(): void;
}

export function OtherPlans({ others, end, onEnd }: Props) {
  const [asked, setAsked] = useState<Other | null>(null);
  if (others.length === 0) return null;
  return (
    <section class="notice" aria-label="Further subscriptions">
      <p>There is more than one subscription, and each of them is charged. End those that are not wanted.</p>
      <ul>
        {others.map((other) => (
          <li key={other.subscription_id}>
            {other.plan}, by the {other.interval}, paid until <Time at={other.period_end} />{' '}
            <button type="button" onClick={() => setAsked(other)}>
              End
            </button>
          </li>
        ))}
      </ul>
      {asked && (
        <Confirm
          title={`End this subscription to ${asked.plan}?`}
          action="End it now"
          is_dangerous
          onClose={() => setAsked(null)}
          onConfirm={async () => {
            await end(asked.subscription_id);
            say('The subscription has ended.');
            onEnd();
          }}
        >
          <p>Nothing more is charged for it. What was paid for it is not paid back by itself.</p>
        </Confirm>
      )}
    </section>
  );
}
