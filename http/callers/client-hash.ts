// Keyed hashes of what the service must recognise and not keep: addresses of clients, and who came from them.
import { createHmac, hkdfSync } from 'node:crypto';
import { subscriberOf } from '../../net/cidr.ts';

export interface ClientHash {
  /** Hashes the subscriber of an address, in hex: all addresses that the subscriber may pick have one hash. */
  address(ip: string): string;
  /** Hashes any text; a text of another `kind` has another hash. */
  text(kind: string, text: string): string;
}

/** `key`: the same on all machines, so that they have the same hashes. */
export function openClientHash(key: Uint8Array): ClientHash {
  const own = new Uint8Array(hkdfSync('sha256', key, '', 'hashes of clients', 32));
  const text = (kind: string, value: string) => createHmac('sha256', own).update(`${kind}\0${value}`).digest('hex');
  return { address: (ip) => text('address', subscriberOf(ip)), text };
}
