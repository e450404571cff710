// A blocklist as a question about hosts: a domain on it blocks itself and all that is under it.
import type { BlockedDomainOf } from './classify-url.ts';

/** `domains` may be written in any case, with `*.` or a dot before them, or in their own script. */
export function blockedDomains(domains: Iterable<string>): BlockedDomainOf {
  const blocked = new Set<string>();
  for (const domain of domains) blocked.add(asciiDomain(domain));
  if (blocked.size === 0) return () => null;
  return (host) => {
    let rest = host.endsWith('.') ? host.slice(0, -1) : host;
    for (;;) {
      if (blocked.has(rest)) return rest;
      const dot = rest.indexOf('.');
      if (dot === -1) return null;
      rest = rest.slice(dot + 1);
    }
  };
}

function asciiDomain(domain: string): string {
  const bare = domain
    .trim()
    .replace(/^\*?\./, '')
    .replace(/\.$/, '');
  return URL.parse(`https://${bare}`)?.hostname ?? bare.toLowerCase();
}
