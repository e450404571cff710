// What the list of users and a user's page both show of a user.
import type { AnswerOf } from '../../api/ask.ts';

type User = AnswerOf<'GET /admin/users'>['items'][number];

export const userPath = (user_id: string): string => `/admin/users/${encodeURIComponent(user_id)}`;

const FLAGS: Readonly<Record<string, string>> = {
  signup_bonus_withheld: 'signup bonus withheld',
  credits_owed: 'owes credits',
};

export function Badges({ user }: { user: User }) {
  return (
    <span class="badges">
      <span class="badge">
        {user.plan}
        {user.is_trial && ', trial'}
      </span>
      {user.is_admin && <span class="badge">administrator</span>}
      {user.has_notes && <span class="badge">notes</span>}
      {user.flags.map((flag) => (
        <span key={flag} class="badge is-paused">
          {FLAGS[flag] ?? flag}
        </span>
      ))}
      {user.deleted_at && <span class="badge is-failed">deleted</span>}
    </span>
  );
}
