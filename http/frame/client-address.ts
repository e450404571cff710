// Finds the client's address: the peer of the connection, or the address that a trusted proxy reports.
import type { IncomingMessage } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { isIn, parseAddress, parseRange } from '../../net/cidr.ts';

export interface ClientAddress {
  (request: IncomingMessage): string;
  /** The address of the connection's peer; null for a trusted proxy, whose connection serves many clients. */
  peerOf(socket: Pick<Socket, 'remoteAddress'>): string | null;
}

/**
 * `trusted_proxies` are CIDRs. The service ignores these headers from all other peers, which could write anything into them.
 * @example openClientAddress(['10.0.0.0/8'])(request)
 */
export function openClientAddress(trusted_proxies: readonly string[]): ClientAddress {
  const trusted = trusted_proxies.map(parseRange);
  const isTrusted = (address: string) => trusted.length > 0 && isIn(trusted, parseAddress(address));

  /** The peer of a connection stays the same. */
  const known = new WeakMap<object, { peer: string; is_trusted: boolean }>();
  const peerAt = (socket: Pick<Socket, 'remoteAddress'>) => {
    const before = known.get(socket);
    if (before) return before;
    const peer = plain(socket.remoteAddress ?? '');
    const found = { peer, is_trusted: isTrusted(peer) };
    // A connection that is gone has no address.
    if (peer !== '') known.set(socket, found);
    return found;
  };

  const addressOf = (request: IncomingMessage) => {
    const { peer, is_trusted } = peerAt(request.socket);
    if (!is_trusted) return peer;
    const forwarded = String(request.headers['x-forwarded-for'] ?? '');
    const real = plain(String(request.headers['x-real-client-ip'] ?? '').trim());
    // Another deployment of this service sends X-Real-Client-IP alone. A proxy with X-Forwarded-For may pass on a client's forgery.
    if (forwarded === '' && isIP(real)) return real;
    // Each hop appends the address that it saw, so addresses to the left of an untrusted one are unproven.
    const hops = forwarded.split(',').map((hop) => plain(hop.trim()));
    for (const hop of hops.reverse()) {
      if (!isIP(hop)) return peer;
      if (!isTrusted(hop)) return hop;
    }
    return peer;
  };
  const peerOf = (socket: Pick<Socket, 'remoteAddress'>) => {
    const { peer, is_trusted } = peerAt(socket);
    return is_trusted ? null : peer;
  };
  return Object.assign(addressOf, { peerOf });
}

/** Some proxies report the client's port too. Dual-stack sockets report an IPv4-mapped IPv6 address, which becomes an IPv4 address. */
const plain = (address: string) =>
  address.replace(/^\[([^\]]+)\](?::\d+)?$|^([\d.]+):\d+$/, '$1$2').replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '');
