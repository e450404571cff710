// DNS messages (RFC 1035): queries for the addresses of a name, and what their answers say. Answers come from strangers: a
// record that concerns neither the name nor its aliases has no effect, and a message with a fault says that it has one.
import { randomBytes } from 'node:crypto';
import packet from 'dns-packet';

export type QueryType = 'A' | 'AAAA' | 'NS';

export interface Query {
  readonly bytes: Buffer;
  readonly id: number;
  /** In the mixture of cases that the answer must repeat (draft-vixie-dnsext-dns0x20). */
  readonly name: string;
  readonly type: number;
}

/** What a message says about a query. */
export type Answer =
  | {
      kind: 'found';
      addresses: readonly string[];
      ttl_s: number;
      /** The message was too short for all addresses: TCP has them. */
      is_truncated: boolean;
    }
  /** The name, or its `alias`, has no address of this family. */
  | { kind: 'none'; ttl_s: number | null; alias: string | null }
  /** No such name. */
  | { kind: 'missing'; ttl_s: number | null }
  /** The server failed or refused, or its message has a fault. */
  | { kind: 'failed' }
  /** The server does not know EDNS (RFC 6891, 7). */
  | { kind: 'wants_no_edns' }
  /** The server does not repeat the case of the name. */
  | { kind: 'loses_case' }
  /** The message answers another query. */
  | { kind: 'foreign' };

const TYPES = { A: 1, NS: 2, CNAME: 5, SOA: 6, AAAA: 28, OPT: 41 } as const;
const CLASS_IN = 1;
const RCODES = { FORMERR: 1, NXDOMAIN: 3, NOTIMP: 4 } as const;
const HEADER_BYTES = 12;
/** Fits into one packet on almost every path (https://www.dnsflagday.net/2020/). */
const UDP_PAYLOAD_BYTES = 1232;
/** Wire bytes of a name, without the root's (RFC 1035, 3.1). */
const MAX_NAME_BYTES = 254;
/** References of one name to earlier ones. Real names have a few; a message has room for thousands of names with thousands each. */
const MAX_REFERENCES = 64;

const FAILED: Answer = { kind: 'failed' };
const FOREIGN: Answer = { kind: 'foreign' };

/**
 * Whether DNS can hold the name (RFC 1035, 2.3.4).
 * @example fitsMessage('a..example') // false
 */
export function fitsMessage(name: string): boolean {
  return name.length <= 253 && name.split('.').every((label) => label.length > 0 && label.length <= 63);
}

/** A query under a random id. `name`: in lower case; `.` is the root. */
export function queryFor(
  name: string,
  type: QueryType,
  { edns, mixes_case }: { edns: boolean; mixes_case: boolean },
): Query {
  const random = randomBytes(2 + Math.ceil(name.length / 8));
  const id = random.readUInt16BE(0);
  const asked = mixes_case ? mixCase(name, random.subarray(2)) : name;
  const bytes = packet.encode({
    type: 'query',
    id,
    flags: packet.RECURSION_DESIRED,
    questions: [{ type, name: asked }],
    additionals: edns ? [{ ...EDNS }] : [],
  });
  return { bytes, id, name: asked, type: TYPES[type] };
}

const EDNS = {
  type: 'OPT',
  name: '.',
  udpPayloadSize: UDP_PAYLOAD_BYTES,
  extendedRcode: 0,
  ednsVersion: 0,
  flags: 0,
  flag_do: false,
  options: [],
} as const satisfies packet.OptAnswer;

function mixCase(name: string, bits: Buffer): string {
  let mixed = '';
  for (let i = 0; i < name.length; i++) {
    const is_upper = ((bits[i >> 3]! >> (i & 7)) & 1) === 1;
    mixed += is_upper ? name[i]!.toUpperCase() : name[i]!;
  }
  return mixed;
}

/** What `bytes` say about `query`. Never throws. */
export function readAnswer(bytes: Buffer, query: Query): Answer {
  if (bytes.length < HEADER_BYTES || bytes.readUInt16BE(0) !== query.id || (bytes[2]! & 0x80) === 0) return FOREIGN;
  const rcode = bytes[3]! & 0x0f;
  const questions = bytes.readUInt16BE(4);
  const reader = new Reader(bytes);
  try {
    // Some servers refuse with the header alone.
    if (questions > 0) {
      const name = reader.name();
      if (name.toLowerCase() !== query.name.toLowerCase() || reader.uint16() !== query.type) return FOREIGN;
      reader.uint16();
      if (name !== query.name) return { kind: 'loses_case' };
    }
    if (questions > 1 || (questions === 0 && rcode === 0)) return FAILED;
    if (rcode === RCODES.FORMERR || rcode === RCODES.NOTIMP) return { kind: 'wants_no_edns' };
    if (rcode !== 0 && rcode !== RCODES.NXDOMAIN) return FAILED;
    const records = new Records(query);
    for (let i = bytes.readUInt16BE(6); i > 0; i--) records.answer(reader.record());
    records.others(reader, bytes.readUInt16BE(8) + bytes.readUInt16BE(10));
    return records.conclude(bytes, rcode === RCODES.NXDOMAIN);
  } catch {
    // A message that ends early may say so by the bit of truncation.
    return isTruncated(bytes) ? TRUNCATED : FAILED;
  }
}

const TRUNCATED: Answer = { kind: 'found', addresses: [], ttl_s: 0, is_truncated: true };
const isTruncated = (bytes: Buffer) => (bytes[2]! & 0x02) !== 0;

interface ResourceRecord {
  name: string;
  type: number;
  class_: number;
  ttl_s: number;
  /** The offsets of its data. */
  from: number;
  to: number;
  reader: Reader;
}

/** The records of a message that matter for an address. */
class Records {
  readonly #query: Query;
  readonly #aliases = new Map<string, { to: string; ttl_s: number }>();
  readonly #addresses: { name: string; address: string; ttl_s: number }[] = [];
  #negative_ttl_s: number | null = null;
  #refuses_edns = false;

  constructor(query: Query) {
    this.#query = query;
  }

  answer({ name, type, class_, ttl_s, from, to, reader }: ResourceRecord): void {
    if (class_ !== CLASS_IN) return;
    const owner = name.toLowerCase();
    if (type === TYPES.CNAME) {
      if (!this.#aliases.has(owner)) this.#aliases.set(owner, { to: reader.nameAt(from).toLowerCase(), ttl_s });
    } else if (type === this.#query.type) {
      const address = type === TYPES.A ? reader.v4(from, to) : reader.v6(from, to);
      if (address !== null) this.#addresses.push({ name: owner, address, ttl_s });
    }
  }

  /** Reads the other sections, as far as they have no fault. */
  others(reader: Reader, count: number): void {
    try {
      for (let i = count; i > 0; i--) {
        const { type, ttl_s, from, to } = reader.record();
        if (type === TYPES.SOA) this.#negative_ttl_s = Math.min(ttl_s, reader.uint32At(to - 4, from));
        // The upper bits of the response code: BADVERS.
        else if (type === TYPES.OPT) this.#refuses_edns = ttl_s >>> 24 !== 0;
      }
    } catch {
      // The answers, which come first, are whole.
    }
  }

  conclude(bytes: Buffer, is_missing: boolean): Answer {
    if (this.#refuses_edns) return { kind: 'wants_no_edns' };
    const is_truncated = isTruncated(bytes);
    if (is_missing) return { kind: 'missing', ttl_s: this.#negative_ttl_s };
    let name = this.#query.name.toLowerCase();
    let ttl_s = Number.POSITIVE_INFINITY;
    let aliases = 0;
    for (let next = this.#aliases.get(name); next !== undefined; next = this.#aliases.get(name)) {
      // A loop.
      if (++aliases > this.#aliases.size) return FAILED;
      name = next.to;
      ttl_s = Math.min(ttl_s, next.ttl_s);
    }
    const found = this.#addresses.filter((one) => one.name === name);
    if (found.length > 0) {
      for (const one of found) ttl_s = Math.min(ttl_s, one.ttl_s);
      return { kind: 'found', addresses: found.map(({ address }) => address), ttl_s, is_truncated };
    }
    if (is_truncated) return TRUNCATED;
    const has_recursion = (bytes[3]! & 0x80) !== 0;
    const is_authority = (bytes[2]! & 0x04) !== 0;
    // A server that neither knows the name nor asks others, though it may say whom to ask (RFC 2308, 2.2).
    if (aliases === 0 && this.#negative_ttl_s === null && !has_recursion && !is_authority) return FAILED;
    const alias = aliases > 0 && this.#negative_ttl_s === null ? name : null;
    return { kind: 'none', ttl_s: this.#negative_ttl_s, alias };
  }
}

/** Reads a message from front to back. Each method throws at the end of the bytes, and for a name that nobody may write. */
class Reader {
  readonly #bytes: Buffer;
  #at = HEADER_BYTES;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  name(): string {
    const { name, end } = this.#nameFrom(this.#at);
    this.#at = end;
    return name;
  }

  nameAt(offset: number): string {
    return this.#nameFrom(offset).name;
  }

  /** The name at an offset, and the offset behind it. References lead back only (RFC 1035, 4.1.4). */
  #nameFrom(offset: number): { name: string; end: number } {
    const labels: string[] = [];
    let end = 0;
    let bytes = 0;
    let references = 0;
    let lowest = offset;
    for (let at = offset; ; ) {
      const size = this.#bytes.readUInt8(at);
      if (size === 0) return { name: labels.join('.') || '.', end: end || at + 1 };
      if (size >= 0xc0) {
        end ||= at + 2;
        at = this.#bytes.readUInt16BE(at) - 0xc000;
        if (at >= lowest || ++references > MAX_REFERENCES) throw new RangeError('the name does not end');
        lowest = at;
      } else {
        bytes += 1 + size;
        if (size > 63 || bytes > MAX_NAME_BYTES || at + size >= this.#bytes.length) throw new RangeError('no label');
        labels.push(this.#bytes.toString('latin1', at + 1, at + 1 + size));
        at += 1 + size;
      }
    }
  }

  uint16(): number {
    const value = this.#bytes.readUInt16BE(this.#at);
    this.#at += 2;
    return value;
  }

  /** The number at `offset`, which must not lie before `from`. */
  uint32At(offset: number, from: number): number {
    if (offset < from) throw new RangeError('the record is too short');
    return this.#bytes.readUInt32BE(offset);
  }

  record(): ResourceRecord {
    const name = this.name();
    const type = this.uint16();
    const class_ = this.uint16();
    const ttl = this.#bytes.readUInt32BE(this.#at);
    this.#at += 4;
    const from = this.#at + 2;
    const to = from + this.uint16();
    if (to > this.#bytes.length) throw new RangeError('the record is cut off');
    this.#at = to;
    // A time to live with the upper bit set counts as 0 (RFC 2181, 8), but OPT keeps its flags there.
    const ttl_s = type !== TYPES.OPT && ttl > 0x7fff_ffff ? 0 : ttl;
    return { name, type, class_, ttl_s, from, to, reader: this };
  }

  /** The address in the data of a record; null when the data has another length. */
  v4(from: number, to: number): string | null {
    return to - from === 4 ? this.#bytes.subarray(from, to).join('.') : null;
  }

  v6(from: number, to: number): string | null {
    if (to - from !== 16) return null;
    const words = Array.from({ length: 8 }, (_, i) => this.#bytes.readUInt16BE(from + 2 * i).toString(16));
    return new URL(`http://[${words.join(':')}]`).hostname.slice(1, -1);
  }
}
