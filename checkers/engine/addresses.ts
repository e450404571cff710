// The address guard decides to which IP addresses a check may connect. It passes global unicast addresses only, also where
// IPv6 embeds an IPv4 address, and refuses every range that IANA reserves for itself, for one network or for one machine.
import { isIn, parseAddress, parseRange } from '../../net/cidr.ts';

/** https://www.iana.org/assignments/iana-ipv4-special-registry, multicast, class E and the metadata services of clouds. */
const REFUSED_V4 = [
  '0.0.0.0/8', // this network
  '10.0.0.0/8', // private
  '100.64.0.0/10', // carrier-grade NAT; 100.100.100.200 is Alibaba's metadata
  '127.0.0.0/8', // loopback
  '168.63.129.16/32', // Azure's host, public by its number only
  '169.254.0.0/16', // link-local; 169.254.169.254 is the metadata of most clouds
  '172.16.0.0/12', // private
  '192.0.0.0/24', // IETF assignments; 192.0.0.192 is Oracle's metadata
  '192.0.2.0/24', // documentation
  '192.31.196.0/24', // AS112
  '192.52.193.0/24', // AMT
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16', // private
  '192.175.48.0/24', // AS112
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, with broadcast
].map(parseRange);

/** IANA allocates only 2000::/3 of IPv6; the refused ranges within it are not global. */
const GLOBAL_V6 = [parseRange('2000::/3')];
const REFUSED_V6 = [
  '2001::/23', // IETF assignments: Teredo, benchmarks, ORCHID
  '2001:db8::/32', // documentation
  '2620:4f:8000::/48', // AS112
  '3fff::/20', // documentation
].map(parseRange);

/** IPv6 ranges that embed an IPv4 address, and the byte at which it starts: the guard judges the IPv4 address. */
const EMBEDDING = [
  { ranges: [parseRange('::ffff:0:0/96')], at: 12 }, // mapped
  { ranges: [parseRange('64:ff9b::/96')], at: 12 }, // NAT64
  { ranges: [parseRange('2002::/16')], at: 2 }, // 6to4
];

export type AddressGuard = ReturnType<typeof createAddressGuard>;

/**
 * Makes a guard that also passes the CIDRs of `excepted`. Throws a TypeError when one is malformed.
 * @example createAddressGuard(['127.0.0.0/8']).allows('127.0.0.1') // true
 */
export function createAddressGuard(excepted: readonly string[]) {
  const exceptions = excepted.map(parseRange);

  function allowsBytes(bytes: readonly number[]): boolean {
    if (isIn(exceptions, bytes)) return true;
    if (bytes.length === 4) return !isIn(REFUSED_V4, bytes);
    for (const { ranges, at } of EMBEDDING) {
      if (isIn(ranges, bytes)) return allowsBytes(bytes.slice(at, at + 4));
    }
    return isIn(GLOBAL_V6, bytes) && !isIn(REFUSED_V6, bytes);
  }

  return {
    /** Whether a check may connect to an IPv4 or IPv6 literal without brackets. False for any other text. */
    allows(address: string): boolean {
      const bytes = parseAddress(address);
      return bytes !== null && allowsBytes(bytes);
    },
    /** Whether the address is in one of the excepted ranges. */
    excepts: (address: string) => isIn(exceptions, parseAddress(address)),
  };
}
