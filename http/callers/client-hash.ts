// Keyed hashes of what the service must recognise and not keep: addresses of clients, and who came from them.
import { createHmac } from 'node:crypto';
import { derivedSecretKey } from '../../events/derived-key.ts';
import { siteOf, subscriberOf } from '../../net/cidr.ts';

export type ClientHash = ReturnType<typeof openClientHash>;

/** `secret`: the same on all machines, so that they have the same hashes. */
export function openClientHash(secret: Uint8Array) {
  const own = derivedSecretKey(secret, 'hashes of clients');
  const text = (kind: string, value: string) => createHmac('sha256', own).update(`${kind}\0${value}`).digest('hex');
  return {
    /** Hashes the subscriber of an address, in hex: all addresses that the subscriber may pick have one hash. */
    address: (ip: string) => text('address', subscriberOf(ip)),
    /** Hashes the site (/48) of an IPv6 address; null for any other. */
    site(ip: string): string | null {
      const site = siteOf(ip);
      return site === null ? null : text('site', site);
    },
    /** Hashes any text; a text of another `kind` has another hash. */
    text,
  };
}
