// What the list of users and a user's page both show of a user.
import type { AnswerOf } from '../../api/ask.ts';
import { to } from '../../app/address.ts';

type User = AnswerOf<'GET /admin/users'>['items'][number];

/** Leads to the page of a user, who is named by the address where that is known. */
export function UserLink({ user_id, email }: { user_id: string; email?: string | null }) {
  return (
    <a href={to(`/admin/users/${encodeURIComponent(user_id)}`)}>
      <bdi>{email ?? user_id}</bdi>
    </a>
  );
}

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
