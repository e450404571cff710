// Watches the ends of certificates: of the servers that a process uses, and of its own files. Nothing is trusted here: whoever uses a server
// checks its certificate; this only reads until when it holds. Decision 180 says why.
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls, type PeerCertificate, type TLSSocket } from 'node:tls';
import { pause } from '../time/pause.ts';

/** What is said before TLS begins: nothing, as SMTP, or as NATS. */
export type TlsOpening = 'none' | 'smtp' | 'nats';

export interface CertificateServer {
  host: string;
  port: number;
  opening: TlsOpening;
}

/** `of`: how operators know it, such as `documents` or `NATS_CERT_FILE`. Of several certificates the earliest end counts. */
export type WatchedCertificate =
  | { of: string; servers: () => Promise<readonly CertificateServer[]> }
  | { of: string; file: string };

/** What a heartbeat says of a certificate. */
export interface CertificateSign {
  of: string;
  ends_at: string;
}

/** An operator has this long to renew a certificate before the doctor and the alerts speak. */
export const RENEWED_BEFORE_MS = 14 * 86_400_000;

const LOOK_MS = 3_600_000;
const AGAIN_MS = 60_000;
const ANSWER_MS = 5_000;

/** Looks each hour until `signal` aborts. What cannot be read keeps what was last known of it. */
export function watchCertificates(
  watched: readonly WatchedCertificate[],
  { signal, look_ms = LOOK_MS }: { signal: AbortSignal; look_ms?: number },
): () => CertificateSign[] {
  const ends = new Map<string, string>();
  async function look(one: WatchedCertificate): Promise<boolean> {
    const found = await endOf(one, signal).catch(() => null);
    if (found !== null) ends.set(one.of, found.toISOString());
    return found !== null;
  }
  void (async () => {
    while (watched.length > 0 && !signal.aborted) {
      const has_all = (await Promise.all(watched.map(look))).every((is_known) => is_known);
      await pause(has_all ? look_ms : Math.min(look_ms, AGAIN_MS), signal);
    }
  })();
  return () => Array.from(ends, ([of, ends_at]) => ({ of, ends_at }));
}

async function endOf(one: WatchedCertificate, signal: AbortSignal): Promise<Date | null> {
  if ('file' in one)
    return earliest(certificatesIn(await readFile(one.file, 'utf8')).map(({ validToDate }) => validToDate));
  const servers = await one.servers();
  const ends = await Promise.all(servers.map((server) => serverEnd(server, signal).catch(() => null)));
  return earliest(ends.filter((end) => end !== null));
}

const certificatesIn = (pem: string): X509Certificate[] =>
  (pem.match(/-----BEGIN CERTIFICATE-----[^-]{1,20000}-----END CERTIFICATE-----/g) ?? []).map(
    (text) => new X509Certificate(text),
  );

const earliest = (dates: readonly Date[]): Date | null =>
  dates.length === 0 ? null : new Date(Math.min(...dates.map((date) => date.getTime())));

/** The earliest end in the chain that the server shows. Throws when it shows none. */
export async function serverEnd({ host, port, opening }: CertificateServer, aborted: AbortSignal): Promise<Date> {
  const signal = AbortSignal.any([aborted, AbortSignal.timeout(ANSWER_MS)]);
  // The signal destroys it at any time, also during the handshake, when nobody else hears of that.
  const socket = connect({ host, port, signal }).on('error', () => {});
  let secure: TLSSocket | null = null;
  try {
    await once(socket, 'connect', { signal });
    await OPENINGS[opening](socket, signal);
    secure = connectTls({ socket, rejectUnauthorized: false, ...(isIP(host) === 0 && { servername: host }) });
    secure.on('error', () => {});
    await once(secure, 'secureConnect', { signal });
    return endOfChain(secure.getPeerCertificate(true));
  } finally {
    secure?.destroy();
    socket.destroy();
  }
}

function endOfChain(leaf: Partial<PeerCertificate> & { issuerCertificate?: unknown }): Date {
  const ends: Date[] = [];
  const seen = new Set<unknown>();
  for (
    let one = leaf;
    one?.valid_to !== undefined && !seen.has(one.fingerprint256);
    one = one.issuerCertificate as never
  ) {
    seen.add(one.fingerprint256);
    ends.push(new Date(one.valid_to));
  }
  const end = earliest(ends);
  if (end === null) throw new Error('the server shows no certificate');
  return end;
}

const OPENINGS: Readonly<Record<TlsOpening, (socket: Socket, signal: AbortSignal) => Promise<void>>> = {
  none: async () => {},
  // The server says at once what it is, and goes on by TLS.
  nats: async (socket, signal) => void (await lineOf(socket, /^INFO .*\r\n/, signal)),
  async smtp(socket, signal) {
    await lineOf(socket, /^220 .*\r\n/m, signal);
    for (const [said, answer] of [
      ['EHLO url-checker', /^250 .*\r\n/m],
      ['STARTTLS', /^220 .*\r\n/m],
    ] as const) {
      socket.write(`${said}\r\n`);
      await lineOf(socket, answer, signal);
    }
  },
};

const MOST_SAID = 64 * 1024;

/** Waits until what the server says matches. */
async function lineOf(socket: Socket, expected: RegExp, signal: AbortSignal): Promise<void> {
  let said = '';
  socket.resume();
  while (!expected.test(said)) {
    const [chunk] = (await once(socket, 'data', { signal })) as [Buffer];
    said += chunk.toString('latin1');
    if (said.length > MOST_SAID || /^[45]\d\d /m.test(said)) throw new Error('the server offers no TLS');
  }
  socket.pause();
}
