// The name servers of the simulated internet: A records of its hosts, after the delay that each has, and their faults.
import { createSocket, type Socket } from 'node:dgram';
import type { Host } from './world.ts';

export const NAME_SERVER = '127.9.9.9';
const HEADER_BYTES = 12;
const TYPE_A = 1;
const TTL_S = 300;
const FLAGS_ANSWER = 0x8180;
const RCODE = { ok: 0, servfail: 2, nxdomain: 3 } as const;
const UNKNOWN_MS = 5;

/** Each host has an address of its own in 127.10.0.0/15. */
export const addressOf = (n: number): number[] => [
  127,
  10 + Math.floor(n / 62_500),
  Math.floor(n / 250) % 250,
  (n % 250) + 1,
];

export function hostNumberAt(address: string): number {
  const [, a = 0, b = 0, c = 0] = address.replace('::ffff:', '').split('.').map(Number);
  return (a - 10) * 62_500 + b * 250 + c - 1;
}

/** Answers at `NAME_SERVER`, port 53, until the socket is closed. `asked` is called for each question. */
export function serveNames(hosts: readonly Host[], asked: () => void): Promise<Socket> {
  const by_name = new Map(hosts.map((host, n) => [host.name, { host, n }]));
  const socket = createSocket('udp4');
  socket.on('message', (query, from) => {
    asked();
    const question = questionOf(query);
    if (question === null) return;
    const known = by_name.get(question.name);
    if (known?.host.kind === 'no_dns') return;
    const rcode = known === undefined || known.host.kind === 'no_name' ? 'nxdomain' : 'ok';
    const is_failing = known?.host.kind === 'servfail';
    const has_record = known !== undefined && rcode === 'ok' && !is_failing && question.type === TYPE_A;
    const answer = Buffer.concat([
      query.subarray(0, question.end),
      has_record ? recordOf(addressOf(known.n)) : Buffer.alloc(0),
    ]);
    answer.writeUInt16BE(FLAGS_ANSWER | RCODE[is_failing ? 'servfail' : rcode], 2);
    answer.writeUInt16BE(1, 4);
    answer.writeUInt16BE(has_record ? 1 : 0, 6);
    answer.writeUInt32BE(0, 8);
    setTimeout(() => socket.send(answer, from.port, from.address), known?.host.dns_ms ?? UNKNOWN_MS);
  });
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.bind(53, NAME_SERVER, () => resolve(socket));
  });
}

function questionOf(query: Buffer): { name: string; type: number; end: number } | null {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (; at < query.length && query[at] !== 0; at += query[at]! + 1) {
    labels.push(query.toString('latin1', at + 1, at + 1 + query[at]!));
  }
  const end = at + 5;
  if (end > query.length) return null;
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end };
}

function recordOf(address: readonly number[]): Buffer {
  const record = Buffer.alloc(16);
  record.writeUInt16BE(0xc00c, 0); // the name of the question
  record.writeUInt16BE(TYPE_A, 2);
  record.writeUInt16BE(1, 4);
  record.writeUInt32BE(TTL_S, 6);
  record.writeUInt16BE(4, 10);
  Buffer.from(address).copy(record, 12);
  return record;
}
