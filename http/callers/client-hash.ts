// Keyed hashes of what the service must recognise and not keep: addresses of clients, and who came from them.
import { createHmac, hkdfSync } from 'node:crypto';
import { isIn, parseAddress, parseRange } from '../../net/cidr.ts';

export interface ClientHash {
  /**
   * Hashes an IPv4 address, also one written as IPv6, or the network (/64) of an IPv6 address, in which one subscriber picks addresses
   * at will. In hex.
   */
  address(ip: string): string;
  /** Hashes any text; a text of another `kind` has another hash. */
  text(kind: string, text: string): string;
}

/** `key`: the same on all machines, so that they have the same hashes. */
export function openClientHash(key: Uint8Array): ClientHash {
  const own = new Uint8Array(hkdfSync('sha256', key, '', 'hashes of clients', 32));
  const text = (kind: string, value: string) => createHmac('sha256', own).update(`${kind}\0${value}`).digest('hex');
  return { address: (ip) => text('address', networkOf(ip)), text };
}

const NETWORK_BYTES = 8;
/** `::ffff:0:0/96`. */
const MAPPED_IPV4 = parseRange('::ffff:0:0/96');

function networkOf(ip: string): string {
  const bytes = parseAddress(ip);
  if (bytes === null) return ip;
  if (isIn([MAPPED_IPV4], bytes)) return bytes.slice(-4).join('.');
  return bytes.length === 4 ? bytes.join('.') : bytes.slice(0, NETWORK_BYTES).join(':');
}
