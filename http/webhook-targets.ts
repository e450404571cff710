// Which URLs a webhook endpoint may have. Names are looked up when something is sent, each time; what can be said
// before that is said to whoever makes the endpoint.
import { isIP } from 'node:net';

/** The address guard of the checker, for the addresses that webhooks are allowed besides. */
export interface TargetGuard {
  allows(address: string): boolean;
  excepts(address: string): boolean;
}

export interface WebhookTargets {
  /** What is wrong with it, or null. */
  problemOf(url: string): string | null;
}

/** `http_somewhere`: whether there is any address that plain http may go to. */
export function openWebhookTargets(
  guard: TargetGuard,
  { http_somewhere }: { http_somewhere: boolean },
): WebhookTargets {
  return {
    problemOf(text) {
      const url = /[\s\p{Cc}]/u.test(text) ? null : URL.parse(text);
      if (!url || !['https:', 'http:'].includes(url.protocol)) return 'is not a URL that starts with https://';
      if (url.username !== '' || url.password !== '') return 'holds a user name or a password, which are not sent';
      const address = addressOf(url.hostname);
      const may_be_http = address === null ? http_somewhere : guard.excepts(address);
      if (url.protocol === 'http:' && !may_be_http) return 'must start with https://';
      if (address !== null && !guard.allows(address)) return 'names an address that is not on the public internet';
      return null;
    },
  };
}

/** Of a host that is an address, or is known to be (RFC 6761). */
function addressOf(hostname: string): string | null {
  const literal = hostname.replace(/^\[(.*)\]$/, '$1');
  if (isIP(literal) !== 0) return literal;
  return /(^|\.)localhost\.?$/.test(hostname) ? '127.0.0.1' : null;
}
