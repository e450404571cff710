// Reads the operator's list of proxies: from a URL or a file, as text or as JSON. Its errors show nothing of the list or the URL.
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { ProxyListUnreadable } from '../../commands/proxy-list.ts';
import { MAX_PROXIES } from '../../events/proxy-list.ts';
import { type ProxyEndpoint, parseProxy } from './endpoint.ts';

const READ_MS = 10_000;
export const MAX_LIST_BYTES = 1024 * 1024;
/** More entries are not looked at. Parsing so many takes some tens of milliseconds. */
const MAX_ENTRIES = 5000;
const TOO_LARGE = `it has more than ${MAX_LIST_BYTES} bytes`;

export interface ParsedList {
  proxies: ProxyEndpoint[];
  /** The numbers, from 1, of the lines or of the entries in JSON that name no proxy. */
  bad: number[];
  /** The entries that added no proxy: bad ones, repeated ones, and those beyond the limits. */
  skipped: number;
}

/**
 * Reads the list at a URL (http, https or file) within 10 s.
 * @throws ProxyListUnreadable when the provider is away, slow or refuses, and when what it sends is too large or no list.
 */
export async function readProxyList(
  url: string,
  signal?: AbortSignal,
  { limit_ms = READ_MS } = {},
): Promise<ParsedList> {
  const late = AbortSignal.timeout(limit_ms);
  const ended = Promise.withResolvers<never>();
  late.addEventListener('abort', () => ended.reject(late.reason));
  try {
    const reading = url.startsWith('file:')
      ? readFile(url)
      : fetchText(url, signal ? AbortSignal.any([signal, late]) : late);
    // No signal ends the read of a file.
    const text = await Promise.race([reading, ended.promise]);
    const list = parseProxyList(text);
    if (list.proxies.length === 0) throw new ProxyListUnreadable('it names no proxy');
    if (list.bad.length > list.proxies.length)
      throw new ProxyListUnreadable('it is no list of proxies: most of its entries name none');
    return list;
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof ProxyListUnreadable) throw error;
    throw new ProxyListUnreadable(late.aborted ? `it did not come within ${limit_ms / 1000} s` : reasonOf(error));
  }
}

async function fetchText(text: string, signal: AbortSignal): Promise<string> {
  // fetch refuses credentials in a URL.
  const url = new URL(text);
  const [username, password] = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
  url.username = '';
  url.password = '';
  const headers: Record<string, string> = {};
  if (username !== '') headers.authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  const response = await fetch(url.href, { headers, signal });
  if (!response.ok || response.body === null) {
    await response.body?.cancel();
    throw new ProxyListUnreadable(`its provider answers with status ${response.status}`);
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body) {
    size += chunk.length;
    if (size > MAX_LIST_BYTES) throw new ProxyListUnreadable(TOO_LARGE);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

async function readFile(url: string): Promise<string> {
  // O_NONBLOCK: opening a named pipe waits for nobody.
  await using file = await open(fileURLToPath(url), constants.O_RDONLY | constants.O_NONBLOCK);
  const stat = await file.stat();
  if (!stat.isFile()) throw new ProxyListUnreadable('it is no file');
  const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(MAX_LIST_BYTES + 1), position: 0 });
  if (bytesRead > MAX_LIST_BYTES) throw new ProxyListUnreadable(TOO_LARGE);
  return buffer.toString('utf8', 0, bytesRead);
}

/** Names the code of an error, since its message may hold the URL with its key. */
function reasonOf(error: unknown): string {
  const { cause, code } = error as { cause?: { code?: unknown }; code?: unknown };
  const known = [cause?.code, code].find((one) => typeof one === 'string');
  return known === undefined ? 'it cannot be read' : `it cannot be read (${known})`;
}

/**
 * Parses a list. Text has a proxy a line: `http://user:pass@host:port`, with the scheme https or socks5 too, or `host:port` and
 * `host:port:user:pass` for http; # begins a comment. JSON has an array of such texts or of objects, or an object with the array.
 */
export function parseProxyList(text: string): ParsedList {
  const entries = entriesOf(text);
  const proxies = new Map<string, ProxyEndpoint>();
  const bad: number[] = [];
  for (const { entry, number } of entries.slice(0, MAX_ENTRIES)) {
    if (proxies.size >= MAX_PROXIES) break;
    const proxy = typeof entry === 'string' ? proxyOfLine(entry.trim()) : proxyOfObject(entry);
    if (proxy === null) bad.push(number);
    else proxies.set(proxy.id, proxy);
  }
  return { proxies: [...proxies.values()], bad, skipped: entries.length - proxies.size };
}

type Entries = { entry: unknown; number: number }[];

function entriesOf(text: string): Entries {
  const listed = /^\s*[[{]/.test(text) ? arrayIn(text) : null;
  if (listed !== null) return listed.map((entry, at) => ({ entry, number: at + 1 }));
  const lines = text.split('\n').map((line, at) => ({ entry: line.trim(), number: at + 1 }));
  return lines.filter(({ entry }) => entry !== '' && !entry.startsWith('#'));
}

/** The array of a JSON text, or the first array that an object has. Null: there is none, or the text is no JSON. */
function arrayIn(text: string): unknown[] | null {
  try {
    const value: unknown = JSON.parse(text);
    if (Array.isArray(value)) return value;
    return Object.values(value as object).find((one) => Array.isArray(one)) ?? null;
  } catch {
    return null;
  }
}

function proxyOfLine(line: string): ProxyEndpoint | null {
  if (line.includes('://')) return parseProxy(line);
  const [, host, port, username = '', password = ''] =
    /^([A-Za-z0-9.-]+):(\d{1,5})(?::([^\s:]+):(\S+))?$/.exec(line) ?? [];
  // This is `user:pass:host:port`: its user and its password would become the address, which is shown and recorded.
  if (host !== undefined && !host.includes('.') && username.includes('.') && /^\d{1,5}$/.test(password)) return null;
  return host === undefined ? null : proxyOf({ protocol: 'http', host, port: port!, username, password });
}

/** The names that providers give to the parts of a proxy. */
const FIELDS = {
  protocol: ['protocol', 'scheme', 'type'],
  host: ['host', 'ip', 'hostname', 'proxy_address', 'address', 'server'],
  port: ['port'],
  username: ['username', 'user', 'login'],
  password: ['password', 'pass'],
} as const;

function proxyOfObject(entry: unknown): ProxyEndpoint | null {
  if (typeof entry !== 'object' || entry === null) return null;
  const given = entry as Record<string, unknown>;
  const text = (names: readonly string[]) => {
    const name = names.find((one) => Object.hasOwn(given, one));
    const value = name === undefined ? '' : given[name];
    return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  };
  const line = text(['url', 'proxy']);
  if (line !== '') return proxyOfLine(line);
  const protocol = text(FIELDS.protocol).toLowerCase().split(':')[0]!;
  return proxyOf({
    protocol: protocol === '' ? 'http' : protocol,
    ...{ host: text(FIELDS.host), port: text(FIELDS.port) },
    ...{ username: text(FIELDS.username), password: text(FIELDS.password) },
  });
}

function proxyOf(parts: Record<'protocol' | 'host' | 'port' | 'username' | 'password', string>): ProxyEndpoint | null {
  if (!/^[a-z0-9]+$/.test(parts.protocol) || !/^[A-Za-z0-9._:[\]-]+$/.test(parts.host) || !/^\d*$/.test(parts.port))
    return null;
  const host = parts.host.includes(':') && !parts.host.startsWith('[') ? `[${parts.host}]` : parts.host;
  const credentials =
    parts.username === '' ? '' : `${encodeURIComponent(parts.username)}:${encodeURIComponent(parts.password)}@`;
  return parseProxy(`${parts.protocol}://${credentials}${host}${parts.port === '' ? '' : `:${parts.port}`}`);
}
