// IP addresses and ranges of them as bytes: for settings, for proxies that are trusted, and for the address guard.
import assert from 'node:assert';
import { isIP } from 'node:net';

/** The 4 or 16 bytes of an address, or null when the text is none. One with a zone is of this machine alone: none. */
// By hand: ipaddr.js takes `::8.8.8.8` for `::ffff:8.8.8.8`, which is another address.
/** @example parseAddress('::1') // [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1] */
export function parseAddress(text: string): readonly number[] | null {
  const family = isIP(text);
  if (family === 4) return text.split('.').map(Number);
  if (family === 0 || text.includes('%')) return null;
  // The syntax is known to be right: at most one `::`, and perhaps an IPv4 address at the end.
  const dotted = text.includes('.') ? text.slice(text.lastIndexOf(':') + 1) : null;
  const tail = dotted === null ? [] : dotted.split('.').map(Number);
  const [before = '', after] = (dotted === null ? text : text.slice(0, -dotted.length)).split('::');
  const head = hextets(before);
  const rest = [...hextets(after ?? ''), ...tail];
  const bytes = [...head, ...new Array<number>(16 - head.length - rest.length).fill(0), ...rest];
  assert(bytes.length === 16);
  return bytes;
}

function hextets(text: string): number[] {
  return text
    .split(':')
    .filter((hextet) => hextet !== '')
    .flatMap((hextet) => {
      const value = Number.parseInt(hextet, 16);
      return [value >> 8, value & 0xff];
    });
}

export interface Range {
  readonly bytes: readonly number[];
  readonly bits: number;
}

/**
 * Throws TypeError for what is no range.
 * @example parseRange('10.0.0.0/8') // { bytes: [10, 0, 0, 0], bits: 8 }
 */
export function parseRange(cidr: string): Range {
  const [address = '', bits = ''] = cidr.split('/');
  const bytes = parseAddress(address);
  if (bytes === null || !/^\d{1,3}$/.test(bits) || Number(bits) > bytes.length * 8) {
    throw new TypeError(`'${cidr}' is not a range of addresses such as 10.0.0.0/8`);
  }
  return { bytes, bits: Number(bits) };
}

/**
 * Whether one of the ranges has the address; an address of the other family is in none.
 * @example isIn([parseRange('10.0.0.0/8')], parseAddress('10.1.2.3')) // true
 */
export function isIn(ranges: readonly Range[], bytes: readonly number[] | null): boolean {
  return bytes !== null && ranges.some((range) => contains(range, bytes));
}

function contains(range: Range, bytes: readonly number[]): boolean {
  if (range.bytes.length !== bytes.length) return false;
  let bits = range.bits;
  for (let i = 0; bits > 0; i++, bits -= 8) {
    const mask = bits >= 8 ? 0xff : (0xff << (8 - bits)) & 0xff;
    if ((bytes[i]! & mask) !== (range.bytes[i]! & mask)) return false;
  }
  return true;
}

/** The /64 of one subscriber, and the /48 that a provider gives to one site. */
const SUBSCRIBER_BYTES = 8;
const SITE_BYTES = 6;
/** `::ffff:0:0/96`. */
const MAPPED_IPV4 = parseRange('::ffff:0:0/96');

/**
 * Names who has an address: an IPv4 address, also one written as IPv6, or the network (/64) of an IPv6 address, in which one subscriber
 * picks addresses at will. Returns any other text as it is.
 * @example subscriberOf('::ffff:192.0.2.7') // '192.0.2.7'
 */
export function subscriberOf(address: string): string {
  const bytes = parseAddress(address);
  if (bytes === null) return address;
  if (isIn([MAPPED_IPV4], bytes)) return bytes.slice(-4).join('.');
  return bytes.length === 4 ? bytes.join('.') : bytes.slice(0, SUBSCRIBER_BYTES).join(':');
}

/**
 * Names the site (/48) of an IPv6 address; null for any other text.
 * @example siteOf('2001:db8:1:2::7') // '32:1:13:184:0:1/48'
 */
export function siteOf(address: string): string | null {
  const bytes = parseAddress(address);
  if (bytes === null || bytes.length === 4 || isIn([MAPPED_IPV4], bytes)) return null;
  return `${bytes.slice(0, SITE_BYTES).join(':')}/48`;
}
