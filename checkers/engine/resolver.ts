// Resolves names to vetted addresses by c-ares (which needs none of libuv's four threads) and /etc/hosts. It caches answers
// for their time to live, sends one query a name at a time, and passes every answer through the address guard.

import { Resolver as CaresResolver, type RecordWithTtl } from 'node:dns';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { LRUCache } from 'lru-cache';
import type { ErrorCode } from '../../events/checks.ts';
import type { AddressGuard } from './addresses.ts';
import { canOpenFile, isShortage } from './errors.ts';

export interface Answer {
  addresses: readonly string[];
  ttl_s: number;
  /** True for /etc/hosts: a refused address is left out and does not refuse the whole name. */
  own?: boolean;
}

/** A source of answers. `code` is the reason for none; `shortage`: this machine lacked files or memory for the query. */
export type Lookup = (name: string, done: (answer: Answer | NoAnswer) => void) => void;
interface NoAnswer {
  code: 'dns_not_found' | 'dns_failed' | 'shortage';
}

/** The addresses to which a check may connect, or the reason for none. */
export type Vetted =
  | { ok: true; addresses: readonly string[] }
  | { ok: false; code: Extract<ErrorCode, 'dns_not_found' | 'dns_failed' | 'blocked_address'> | 'shortage' };

export interface Resolver {
  /** Calls `done` at once for literals and cached names, else later. `host` as in `URL.hostname`. */
  resolve(host: string, done: (vetted: Vetted) => void): void;
  close(): void;
}

const CACHED_NAMES = 10_000;
const MIN_TTL_S = 5;
const MAX_TTL_S = 300;
const NOT_FOUND_TTL_S = 30;
const FAILED_TTL_S = 5;
/** How long the addresses of one family wait for the other family, for which some servers never answer (RFC 8305, 3). */
const OTHER_FAMILY_MS = 300;
/** Names queried at once. More would overflow the receive buffers of small name servers. */
const BURST_NAMES = 64;
/** A query frees its place in the burst after this long, answered or not. */
const BURST_MS = 500;
/** Addresses used of a name; no site needs more. */
const MAX_ADDRESSES = 32;

interface Entry {
  vetted: Vetted;
  expires_at: number;
}

/** The resolver vets all addresses of a name. One refused address refuses the name, because it may be an attack. */
export function createResolver(guard: AddressGuard, lookup: Lookup, now: () => number): Resolver {
  const cache = new LRUCache<string, Entry>({ max: CACHED_NAMES });
  const waiting = new Map<string, ((vetted: Vetted) => void)[]>();

  function vet(addresses: readonly string[], own = false): Vetted {
    const allowed = addresses.filter((address) => guard.allows(address));
    if (allowed.length === 0 || (allowed.length < addresses.length && !own)) {
      return { ok: false, code: 'blocked_address' };
    }
    return { ok: true, addresses: allowed };
  }

  function settle(name: string, vetted: Vetted, ttl_s: number): void {
    cache.set(name, { vetted, expires_at: now() + ttl_s * 1000 });
    const callbacks = waiting.get(name) ?? [];
    waiting.delete(name);
    for (const done of callbacks) done(vetted);
  }

  return {
    resolve(host, done) {
      const literal = host.startsWith('[') ? host.slice(1, -1) : host;
      if (isIP(literal) !== 0) return done(vet([literal]));
      const name = host.endsWith('.') ? host.slice(0, -1) : host;
      const cached = cache.get(name);
      if (cached !== undefined && cached.expires_at > now()) return done(cached.vetted);
      const others = waiting.get(name);
      if (others !== undefined) {
        others.push(done);
        return;
      }
      waiting.set(name, [done]);
      lookup(name, (answer) => {
        if ('code' in answer && answer.code === 'shortage') return settle(name, { ok: false, code: 'shortage' }, 0);
        if ('code' in answer) {
          const ttl_s = answer.code === 'dns_not_found' ? NOT_FOUND_TTL_S : FAILED_TTL_S;
          return settle(name, { ok: false, code: answer.code }, ttl_s);
        }
        const ttl_s = Math.min(Math.max(answer.ttl_s, MIN_TTL_S), MAX_TTL_S);
        settle(name, vet(answer.addresses.slice(0, MAX_ADDRESSES), answer.own), ttl_s);
      });
    },
    close() {
      cache.clear();
    },
  };
}

/**
 * A lookup that queries A and AAAA by c-ares at once. /etc/hosts, read at the start, and `localhost` (RFC 6761) need no
 * query. `servers`, such as `127.0.0.1:53`, replace the system's.
 */
export function createDnsLookup(servers?: readonly string[]): { lookup: Lookup; close(): void } {
  const dns = new CaresResolver({ timeout: 1500, tries: 3, maxTimeout: 4000 });
  if (servers !== undefined) dns.setServers(servers);
  const hosts = readHosts();
  const paced = pace(BURST_NAMES, BURST_MS);
  let closed = false;

  const lookup: Lookup = (name, done) => {
    const known = hosts.get(name) ?? (isLocalhost(name) ? ['127.0.0.1', '::1'] : undefined);
    if (known !== undefined) return done({ addresses: known, ttl_s: MAX_TTL_S, own: true });

    paced((answered) => {
      if (closed) return;
      query(name, (answer) => {
        answered();
        done(answer);
      });
    });
  };

  function query(name: string, done: Parameters<Lookup>[1]): void {
    let pending = 2;
    let ttl_s = MAX_TTL_S;
    let failed = false;
    let missing = false;
    let lacking = false;
    let timer: NodeJS.Timeout | null = null;
    // IPv4 comes first, because more machines can reach it.
    const found: [v4: string[], v6: string[]] = [[], []];
    const finish = (): void => {
      pending = 0;
      if (timer !== null) clearTimeout(timer);
      const addresses = found.flat();
      if (addresses.length > 0) done({ addresses, ttl_s });
      else if (lacking && !missing) done({ code: 'shortage' });
      else done({ code: failed && !missing ? 'dns_failed' : 'dns_not_found' });
    };
    const answered = (
      into: string[],
      error: NodeJS.ErrnoException | null,
      records: RecordWithTtl[] | undefined,
    ): void => {
      if (pending === 0) return;
      if (error === null) {
        for (const record of records ?? []) {
          into.push(record.address);
          ttl_s = Math.min(ttl_s, record.ttl);
        }
      } else if (NO_SUCH_NAME.has(error.code ?? '')) {
        missing = true;
      } else if (error.code !== NO_SUCH_RECORDS) {
        failed = true;
        // c-ares reports ECONNREFUSED when it can open no socket.
        lacking ||= isShortage(error) || (error.code === CONNECTION_REFUSED && !canOpenFile());
      }
      if (--pending === 0) finish();
      else if (into.length > 0) timer = setTimeout(finish, OTHER_FAMILY_MS);
    };
    dns.resolve4(name, { ttl: true }, (error, records) => answered(found[0], error, records));
    dns.resolve6(name, { ttl: true }, (error, records) => answered(found[1], error, records));
  }
  function close(): void {
    closed = true;
    dns.cancel();
  }
  return { lookup, close };
}

/** Starts tasks in order, at most `at_once` at a time. A task frees its place when it calls `done`, or after `ms`. */
function pace(at_once: number, ms: number): (task: (done: () => void) => void) => void {
  const waiting: ((done: () => void) => void)[] = [];
  let running = 0;
  function run(task: (done: () => void) => void): void {
    running++;
    let held = true;
    const done = (): void => {
      if (!held) return;
      held = false;
      clearTimeout(timer);
      running--;
      const next = waiting.shift();
      if (next !== undefined) run(next);
    };
    const timer = setTimeout(done, ms);
    timer.unref();
    task(done);
  }
  return (task) => {
    if (running < at_once) run(task);
    else waiting.push(task);
  };
}

/** EBADNAME: DNS cannot hold the name, such as one with a label of more than 63 octets. */
const NO_SUCH_NAME = new Set(['ENOTFOUND', 'EBADNAME']);
const NO_SUCH_RECORDS = 'ENODATA';
const CONNECTION_REFUSED = 'ECONNREFUSED';

function isLocalhost(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost');
}

function readHosts(): Map<string, string[]> {
  const path = process.platform === 'win32' ? `${process.env.SystemRoot}\\System32\\drivers\\etc\\hosts` : '/etc/hosts';
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    // A machine without the file defines no names.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Map();
    throw error;
  }
  return parseHosts(text);
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
