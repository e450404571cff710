// A name server on loopback, over UDP and TCP, that says what the test wants: addresses, aliases, errors, or nothing.
import dgram from 'node:dgram';
import { once } from 'node:events';
import net, { type AddressInfo, type Socket } from 'node:net';

export interface Zone {
  [name: string]: {
    a?: readonly string[];
    aaaa?: readonly string[];
    /** Another name of the zone, whose records come along. */
    cname?: string;
    ttl_s?: number;
    rcode?: 'servfail' | 'nxdomain' | 'refused';
    /** For which questions there is never an answer. */
    silent?: readonly ('a' | 'aaaa')[];
    /** Over UDP only that there is more to say. */
    truncated?: boolean;
    /** The response code of the first answer to each question. */
    first?: 'servfail' | 'refused';
    /** Takes the place of all else: the messages that answer a query. */
    answer?: (query: Buffer, over: 'udp' | 'tcp') => readonly Buffer[];
  };
}

export interface DnsServer {
  /** As `dns.setServers` takes it. */
  readonly address: string;
  /** `a shop.example`, or `tcp a shop.example`, in order. */
  readonly asked: string[];
  /** While it is away it answers nothing. */
  is_away: boolean;
  /** Its answer to every question, as of a resolver without an uplink; null for those of the zone. */
  fails: 'servfail' | 'refused' | null;
  /** Whether it refuses to answer for the root. */
  refuses_root: boolean;
  close(): Promise<void>;
}

const TYPES = { 1: 'a', 28: 'aaaa' } as const;
const RCODES = { servfail: 2, nxdomain: 3, refused: 5 } as const;
const CNAME = 5;

/** A name that the zone does not have does not exist. `at`: a port; 0 for a free one. */
export async function startDnsServer(zone: Zone, at = 0): Promise<DnsServer> {
  const asked: string[] = [];
  const failed_first = new Set<string>();

  function answersTo(query: Buffer, over: 'udp' | 'tcp'): readonly Buffer[] {
    if (server.is_away) return [];
    const { name, end } = readName(query, 12);
    const type = TYPES[query.readUInt16BE(end) as keyof typeof TYPES];
    if (server.fails !== null) return [message(query, RCODES[server.fails], [])];
    // The root, by which the resolver finds out whether the server is there.
    if (name === '') return [message(query, server.refuses_root ? RCODES.refused : 0, [])];
    asked.push(`${over === 'tcp' ? 'tcp ' : ''}${type} ${name}`);
    const entry = zone[name];
    if (entry?.answer !== undefined) return entry.answer(query, over);
    if (entry?.silent?.includes(type) === true) return [];
    if (entry?.first !== undefined && !failed_first.has(`${type} ${name}`)) {
      failed_first.add(`${type} ${name}`);
      return [message(query, RCODES[entry.first], [])];
    }
    const rcode = entry === undefined ? RCODES.nxdomain : entry.rcode === undefined ? 0 : RCODES[entry.rcode];
    if (entry?.truncated === true && over === 'udp') return [message(query, TRUNCATED, [])];
    return [message(query, rcode, rcode === 0 ? recordsOf(name, type) : [])];
  }

  function recordsOf(name: string, type: 'a' | 'aaaa'): Buffer[] {
    const { cname, ttl_s = 60, ...addresses } = zone[name] ?? {};
    if (cname !== undefined) return [record(name, CNAME, ttl_s, writeName(cname)), ...recordsOf(cname, type)];
    return (addresses[type] ?? []).map((address) => record(name, type === 'a' ? 1 : 28, ttl_s, bytesOf(address)));
  }

  const udp = dgram.createSocket('udp4');
  const tcp = net.createServer();
  const sockets = new Set<Socket>();
  tcp.listen(at, '127.0.0.1');
  await once(tcp, 'listening');
  const { port } = tcp.address() as AddressInfo;
  udp.bind(port, '127.0.0.1');
  await once(udp, 'listening');

  udp.on('message', (query, from) => {
    for (const answer of answersTo(query, 'udp')) udp.send(answer, from.port, from.address);
  });
  tcp.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    let bytes = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      while (bytes.length >= 2 && bytes.length >= 2 + bytes.readUInt16BE(0)) {
        const length = bytes.readUInt16BE(0);
        const answers = answersTo(bytes.subarray(2, 2 + length), 'tcp');
        bytes = bytes.subarray(2 + length);
        for (const answer of answers) socket.write(Buffer.concat([uint16(answer.length), answer]));
      }
    });
  });

  const server: DnsServer = {
    address: `127.0.0.1:${port}`,
    asked,
    is_away: false,
    fails: null,
    refuses_root: false,
    async close() {
      const closed = Promise.all([once(udp, 'close'), once(tcp, 'close')]);
      udp.close();
      tcp.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
  return server;
}

export function uint16(value: number): Buffer {
  return Buffer.from([value >> 8, value & 0xff]);
}

const RESPONSE_AND_RECURSION = 0x81_80;
export const TRUNCATED = 0x02_00;

/** The question of a query. */
export const questionOf = (query: Buffer): Buffer => query.subarray(12, readName(query, 12).end + 4);

/** RFC 1035, 4.1: `flags` are the response code and the truncation bit. */
export function message(
  query: Buffer,
  flags: number,
  records: readonly Buffer[],
  { question = questionOf(query), authority = [] as readonly Buffer[], base = RESPONSE_AND_RECURSION } = {},
): Buffer {
  const counts = [question.length > 0 ? 1 : 0, records.length, authority.length, 0].map(uint16);
  return Buffer.concat([query.subarray(0, 2), uint16(base | flags), ...counts, question, ...records, ...authority]);
}

function readName(bytes: Buffer, from: number): { name: string; end: number } {
  const labels: string[] = [];
  let at = from;
  for (let length = bytes[at]!; length > 0; length = bytes[at]!) {
    labels.push(bytes.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), end: at + 1 };
}

export function writeName(name: string): Buffer {
  const labels = (name.match(/[^.]+/g) ?? []).map((label) =>
    Buffer.concat([Buffer.from([label.length]), Buffer.from(label)]),
  );
  return Buffer.concat([...labels, Buffer.from([0])]);
}

export function record(name: string, type: number, ttl_s: number, data: Buffer): Buffer {
  const ttl = Buffer.alloc(4);
  ttl.writeUInt32BE(ttl_s);
  return Buffer.concat([writeName(name), uint16(type), uint16(1), ttl, uint16(data.length), data]);
}

function bytesOf(address: string): Buffer {
  if (net.isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  const [before = '', after = ''] = address.split('::');
  const words = (text: string): number[] =>
    text === '' ? [] : text.split(':').map((word) => Number.parseInt(word, 16));
  const [head, tail] = [words(before), words(after)];
  const all = [...head, ...new Array<number>(8 - head.length - tail.length).fill(0), ...tail];
  return Buffer.concat(all.map(uint16));
}
