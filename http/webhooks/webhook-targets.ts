// Checks the URL of a new webhook endpoint. The sender looks names up and checks their addresses at each delivery; this check
// refuses URLs that no delivery could reach.
import { isIP } from 'node:net';

/** The address guard. `excepts` tells whether the operator allowed a private address. */
export interface TargetGuard {
  allows(address: string): boolean;
  excepts(address: string): boolean;
}

/** `http_somewhere`: whether the operator allowed any address, which plain http may then reach. */
export function openWebhookTargets(guard: TargetGuard, { http_somewhere }: { http_somewhere: boolean }) {
  return {
    problemOf(text: string): string | null {
      const url = /[\s\p{Cc}]/u.test(text) ? null : URL.parse(text);
      if (!url || !['https:', 'http:'].includes(url.protocol)) return 'is not a URL that starts with https://';
      if (url.username !== '' || url.password !== '')
        return 'holds a user name or a password, which the service would not send';
      const address = addressOf(url.hostname);
      const may_be_http = address === null ? http_somewhere : guard.excepts(address);
      if (url.protocol === 'http:' && !may_be_http) return 'must start with https://';
      if (address !== null && !guard.allows(address)) return 'names an address that is not on the public internet';
      return null;
    },
  };
}

/** Returns the address of a host that is an address or `localhost` (RFC 6761); null for other names. */
function addressOf(hostname: string): string | null {
  const literal = hostname.replace(/^\[(.*)\]$/, '$1');
  if (isIP(literal) !== 0) return literal;
  return /(^|\.)localhost\.?$/.test(hostname) ? '127.0.0.1' : null;
}
