// One proxy as the list names it: `http://user:pass@host:port`, `https://` or `socks5://`.
import { isIP } from 'node:net';
import { uuidV5 } from '../../events/ids.ts';

export interface ProxyEndpoint {
  /** Of protocol, user, host and port: the same in every process, and after a change of the password. */
  readonly id: string;
  readonly protocol: 'http:' | 'https:' | 'socks5:';
  /** As for a socket: an IPv6 literal without brackets. */
  readonly host: string;
  readonly port: number;
  readonly username: string;
  readonly password: string;
  /** What may be shown of it: no credentials. */
  readonly address: string;
}

const NAMESPACE = '4c0e8f53-3f0e-5c8a-9d43-8a4a6a1d5c27';
const PORTS: { readonly [protocol: string]: number } = { 'http:': 80, 'https:': 443, 'socks5:': 1080 };
/** What one byte in SOCKS5 can count (RFC 1929). */
const MAX_CREDENTIAL_BYTES = 255;

/** Null when it is none. */
export function parseProxy(line: string): ProxyEndpoint | null {
  const url = URL.parse(line);
  if (url === null || url.hostname === '' || !(url.protocol in PORTS)) return null;
  if (!/^\/?$/.test(url.pathname) || url.search !== '' || url.hash !== '') return null;
  const username = decoded(url.username);
  const password = decoded(url.password);
  if (username === null || password === null) return null;
  const protocol = url.protocol as ProxyEndpoint['protocol'];
  const port = url.port === '' ? PORTS[protocol]! : Number(url.port);
  // The parser takes the scheme socks5 for one it does not know, and leaves the case of its hosts alone.
  const name = url.hostname.toLowerCase();
  const host = name.startsWith('[') ? name.slice(1, -1) : name;
  if (port === 0 || (name.startsWith('[') && isIP(host) !== 6)) return null;
  const id = uuidV5(NAMESPACE, `${protocol}//${username}@${name}:${port}`);
  return { id, protocol, host, port, username, password, address: `${protocol}//${name}:${port}` };
}

function decoded(credential: string): string | null {
  try {
    const text = decodeURIComponent(credential);
    return Buffer.byteLength(text) <= MAX_CREDENTIAL_BYTES ? text : null;
  } catch {
    // URIError: a percent sign that encodes nothing.
    return null;
  }
}
