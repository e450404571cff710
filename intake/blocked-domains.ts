// A blocklist as a question about hosts: a domain on it blocks itself and all that is under it.
import type { BlockedDomainOf } from './classify-url.ts';

/** `blocked`: hosts as the URL parser has them. What is put there or taken away later counts at once. */
export function blockedDomains(blocked: Pick<ReadonlySet<string>, 'has' | 'size'>): BlockedDomainOf {
  return (host) => {
    if (blocked.size === 0) return null;
    let rest = host.endsWith('.') ? host.slice(0, -1) : host;
    for (;;) {
      if (blocked.has(rest)) return rest;
      const dot = rest.indexOf('.');
      if (dot === -1) return null;
      rest = rest.slice(dot + 1);
    }
  };
}
