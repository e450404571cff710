// A proxy, parsed from a line of the list: `http://user:pass@host:port`, `https://…` or `socks5://…`.
import { isIP } from 'node:net';
import { uuidV5 } from '../../events/ids.ts';

export interface ProxyEndpoint {
  /** uuid v5 of protocol, user, host and port: the same in every process, and after a change of the password. */
  readonly id: string;
  readonly protocol: 'http:' | 'https:' | 'socks5:';
  /** Host name or IP address; an IPv6 address has no brackets. */
  readonly host: string;
  readonly port: number;
  readonly username: string;
  readonly password: string;
  /** Protocol, host and port, without credentials, for display. */
  readonly address: string;
}

const NAMESPACE = '4c0e8f53-3f0e-5c8a-9d43-8a4a6a1d5c27';
const PORTS: { readonly [protocol: string]: number } = { 'http:': 80, 'https:': 443, 'socks5:': 1080 };
/** The limit of SOCKS5's one-byte lengths (RFC 1929). */
const MAX_CREDENTIAL_BYTES = 255;

/**
 * Null when the line names no proxy.
 * @example parseProxy('socks5://user:secret@proxy.example')?.address // 'socks5://proxy.example:1080'
 */
export function parseProxy(line: string): ProxyEndpoint | null {
  const url = URL.parse(line);
  if (url === null || url.hostname === '' || !(url.protocol in PORTS)) return null;
  if (!/^\/?$/.test(url.pathname) || url.search !== '' || url.hash !== '') return null;
  const username = decoded(url.username);
  const password = decoded(url.password);
  if (username === null || password === null) return null;
  const protocol = url.protocol as ProxyEndpoint['protocol'];
  const port = url.port === '' ? PORTS[protocol]! : Number(url.port);
  // The URL parser does not lower the case of hosts of the scheme socks5, which it does not know.
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
