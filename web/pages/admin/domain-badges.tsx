// What several pages show of a domain.
import type { AnswerOf } from '../../api/ask.ts';
import { to } from '../../app/address.ts';

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
