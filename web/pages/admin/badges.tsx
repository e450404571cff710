// What several pages show of a user and of a domain.
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

type Domain = AnswerOf<'GET /domains/health'>['items'][number];

export function DomainLink({ domain }: { domain: string }) {
  return (
    <a href={to(domainPath(domain))}>
      <bdi>{domain}</bdi>
    </a>
  );
}

export const domainPath = (domain: string): string => `/admin/domains/${encodeURIComponent(domain)}`;

export function DomainBadges({ domain: { status, is_blocked } }: { domain: Domain }) {
  return (
    <span class="badges">
      <span class={`badge is-${status}`}>{status}</span>
      {is_blocked && <span class="badge">on the blocklist</span>}
    </span>
  );
}
