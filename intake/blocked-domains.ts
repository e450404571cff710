// Looks hosts up in a blocklist. A domain on it blocks its subdomains too.
import type { BlockedDomainOf } from './classify-url.ts';

/**
 * `blocked`: hosts in the URL parser's form. Later changes to the set count at once.
 * @example blockedDomains(new Set(['example.com']))('www.example.com') // 'example.com'
 */
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
