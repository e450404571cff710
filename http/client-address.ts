// The address of the client: that of the connection, unless it is a trusted proxy's, which says whom it speaks for.
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { isIn, parseAddress, parseRange } from '../net/cidr.ts';

export type ClientAddress = (request: IncomingMessage) => string;

/** `trusted_proxies`: CIDRs. Headers of anybody else are not believed: they could be anything. */
export function openClientAddress(trusted_proxies: readonly string[]): ClientAddress {
  const trusted = trusted_proxies.map(parseRange);
  const isTrusted = (address: string) => isIn(trusted, parseAddress(address));

  return (request) => {
    const peer = plain(request.socket.remoteAddress ?? '');
    if (!isTrusted(peer)) return peer;
    const forwarded = String(request.headers['x-forwarded-for'] ?? '');
    const real = plain(String(request.headers['x-real-client-ip'] ?? '').trim());
    // What another deployment of this service says; a proxy that names its clients would pass on whatever they sent.
    if (forwarded === '' && isIP(real)) return real;
    // From the right: each hop adds the address that it saw, and what is left of an untrusted one is hearsay.
    const hops = forwarded.split(',').map((hop) => plain(hop.trim()));
    for (const hop of hops.reverse()) {
      if (!isIP(hop)) return peer;
      if (!isTrusted(hop)) return hop;
    }
    return peer;
  };
}

/** An IPv4 address as such, also where a socket of both families shows it mapped. */
const plain = (address: string) => address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '');
