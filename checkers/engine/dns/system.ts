// What this machine says about names: its name servers and search list (resolv.conf), the names of its own (hosts), and whether it has IPv6.
import { getServers } from 'node:dns';
import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { hasIpv6 } from '../errors.ts';

export interface Endpoint {
  address: string;
  port: number;
}

export interface ResolvConf {
  servers: readonly Endpoint[];
  /** Suffixes for names with fewer than `ndots` dots. */
  search: readonly string[];
  ndots: number;
  /** The first wait for a server; null without `options timeout`. */
  timeout_ms: number | null;
  /** How often each server is asked; null without `options attempts`. */
  attempts: number | null;
  /** `options rotate`: each name begins with another server. */
  rotates: boolean;
  /** `options use-vc`: no UDP. */
  tcp_only: boolean;
}

export interface SystemNames {
  conf: ResolvConf;
  /** Names in lower case. */
  hosts: ReadonlyMap<string, readonly string[]>;
  /** Whether an interface has an IPv6 address by which others can be reached. */
  has_ipv6: boolean;
}

const DNS_PORT = 53;
const RESOLV_CONF = '/etc/resolv.conf';
const HOSTS = process.platform === 'win32' ? `${process.env.SystemRoot}\\System32\\drivers\\etc\\hosts` : '/etc/hosts';
/** The caps of resolv.conf(5). */
const MAX_SERVERS = 3;
const MAX_NDOTS = 15;
const MAX_TIMEOUT_S = 30;
const MAX_ATTEMPTS = 5;
/** A change of the files or the interfaces has an effect after this long. */
const LOOK_AGAIN_MS = 5000;

/** Returns a function that reads the files of this machine, again when they have changed. */
export function readSystem(now: () => number): () => SystemNames {
  let looked_at = Number.NEGATIVE_INFINITY;
  let version = '';
  let names: SystemNames;
  return () => {
    if (now() - looked_at < LOOK_AGAIN_MS) return names;
    looked_at = now();
    const has_ipv6 = hasIpv6();
    const found = `${versionOf(RESOLV_CONF)} ${versionOf(HOSTS)} ${has_ipv6}`;
    if (found === version) return names;
    version = found;
    names = { conf: systemConf(), hosts: parseHosts(textOf(HOSTS) ?? ''), has_ipv6 };
    return names;
  };
}

function versionOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? '' : `${found.ino}:${found.mtimeMs}:${found.size}`;
}

/** The text of a file; null when this machine has no such file. */
function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

function systemConf(): ResolvConf {
  const text = textOf(RESOLV_CONF);
  if (text !== null) return parseResolvConf(text);
  return { ...parseResolvConf(''), servers: getServers().map(parseEndpoint) };
}

/**
 * Parses `127.0.0.1`, `127.0.0.1:53`, `::1` or `[::1]:53`.
 * @example parseEndpoint('127.0.0.1:5353') // { address: '127.0.0.1', port: 5353 }
 */
export function parseEndpoint(text: string): Endpoint {
  if (isIP(text) !== 0) return { address: text, port: DNS_PORT };
  const at = text.lastIndexOf(':');
  const host = text.endsWith(']') ? text : text.slice(0, at);
  return { address: host.replace(/[[\]]/g, ''), port: host === text ? DNS_PORT : Number(text.slice(at + 1)) };
}

/** Parses resolv.conf(5). Without a name server it names the local one. */
export function parseResolvConf(text: string): ResolvConf {
  const servers: Endpoint[] = [];
  const options = new Map<string, string>();
  let search: string[] = [];
  for (const line of text.split('\n')) {
    const [keyword, ...values] = line
      .replace(/[#;].*/, '')
      .trim()
      .split(/\s+/);
    if (keyword === 'nameserver' && isIP(values[0] ?? '') !== 0) servers.push({ address: values[0]!, port: DNS_PORT });
    // The last of them counts. The root as a suffix adds nothing.
    if (keyword === 'search') search = values;
    else if (keyword === 'domain') search = values.slice(0, 1);
    if (keyword !== 'options') continue;
    for (const option of values) {
      const [name = '', value = ''] = option.split(':');
      options.set(name, value);
    }
  }
  const number = (name: string, most: number): number | null => {
    const value = options.get(name) ?? '';
    return /^\d+$/.test(value) ? Math.min(Number(value), most) : null;
  };
  const timeout_s = number('timeout', MAX_TIMEOUT_S);
  const attempts = number('attempts', MAX_ATTEMPTS);
  return {
    servers: servers.length > 0 ? servers.slice(0, MAX_SERVERS) : [{ address: '127.0.0.1', port: DNS_PORT }],
    search: search.map((suffix) => suffix.toLowerCase().replace(/\.$/, '')).filter((suffix) => suffix !== ''),
    ndots: number('ndots', MAX_NDOTS) ?? 1,
    timeout_ms: timeout_s === null ? null : Math.max(1, timeout_s) * 1000,
    attempts: attempts === null ? null : Math.max(1, attempts),
    rotates: options.has('rotate'),
    tcp_only: options.has('use-vc'),
  };
}

/** Parses a hosts file: names in lower case, with their addresses in order. */
export function parseHosts(text: string): Map<string, string[]> {
  const hosts = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address, ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    if (address === undefined || isIP(address) === 0) continue;
    for (const name of names) {
      const key = name.toLowerCase();
      const known = hosts.get(key);
      if (known === undefined) hosts.set(key, [address]);
      else known.push(address);
    }
  }
  return hosts;
}
