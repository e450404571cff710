// Resolves names to vetted addresses. It caches answers for their time to live, looks a name up once for all that wait for it,
// and passes every answer through the address guard.
import { isIP } from 'node:net';
import { LRUCache } from 'lru-cache';
import type { ErrorCode } from '../../events/checks.ts';
import type { AddressGuard } from './addresses.ts';

export interface Answer {
  addresses: readonly string[];
  ttl_s: number;
  /** True for /etc/hosts: a refused address is left out and does not refuse the whole name. */
  own?: boolean;
}

/** A source of answers for names. A name of one label may end in a dot. `code` is the reason for none; `shortage`: this machine lacked files or memory for the query. */
export type Lookup = (name: string, done: (answer: Answer | NoAnswer) => void) => void;
/** A source that knows when a name server is away. */
export interface OwnLookup {
  lookup: Lookup;
  close(): void;
}
export interface NoAnswer {
  code: 'dns_not_found' | 'dns_failed' | 'shortage';
  /** How long the absence of a name may be kept. */
  ttl_s?: number;
}

/** The addresses to which a check may connect, or the reason for none. */
export type Vetted =
  | { ok: true; addresses: readonly string[] }
  | { ok: false; code: Extract<ErrorCode, 'dns_not_found' | 'dns_failed' | 'blocked_address'> | 'shortage' };

export interface Resolver {
  /** What is known of a host without a query: literals and cached names; null for nothing. `host` as in `URL.hostname`. */
  known(host: string): Vetted | null;
  /** As `known`, also for a while after the answer expired: for a socket whose check has just seen a known name. */
  recent(host: string): Vetted | null;
  /** Calls `done` at once for known hosts, else later. */
  resolve(host: string, done: (vetted: Vetted) => void): void;
  /** Gives up lookups that have had no answer for `limit_ms`: for a source of answers that has no time limit of its own. */
  giveUp(limit_ms: number): void;
  close(): void;
}

const CACHED_NAMES = 50_000;
/** Of all cached names together. */
const CACHED_ADDRESSES = 400_000;
const MIN_TTL_S = 5;
const MAX_TTL_S = 300;
const NOT_FOUND_TTL_S = 30;
const FAILED_TTL_S = 5;
const RECENT_MS = 10_000;
/** Addresses used of a name. The connect time is over before a client has tried more. */
const MAX_ADDRESSES = 128;

interface Entry {
  vetted: Vetted;
  expires_at: number;
}

/** The resolver vets all addresses of a name. One refused address refuses the name, because it may be an attack. */
export function createResolver(guard: AddressGuard, lookup: Lookup, now: () => number): Resolver {
  const cache = new LRUCache<string, Entry>({
    max: CACHED_NAMES,
    maxSize: CACHED_ADDRESSES,
    sizeCalculation: ({ vetted }) => (vetted.ok ? vetted.addresses.length : 1),
  });
  const waiting = new Map<string, { asked_at: number; callbacks: ((vetted: Vetted) => void)[] }>();

  function vet(addresses: readonly string[], own = false): Vetted {
    const allowed = addresses.filter((address) => guard.allows(address));
    if (allowed.length === 0 || (allowed.length < addresses.length && !own)) {
      return { ok: false, code: 'blocked_address' };
    }
    return { ok: true, addresses: allowed };
  }

  function cached(host: string, grace_ms: number): Vetted | null {
    // The oldest answers leave first, whether they are asked for or not: they expire soonest.
    const entry = cache.peek(nameOf(host));
    if (entry !== undefined) return entry.expires_at + grace_ms > now() ? entry.vetted : null;
    const literal = host.startsWith('[') ? host.slice(1, -1) : host;
    if (isIP(literal) === 0) return null;
    const vetted = vet([literal]);
    cache.set(host, { vetted, expires_at: Number.POSITIVE_INFINITY });
    return vetted;
  }

  function settle(name: string, answer: Answer | NoAnswer): void {
    const vetted: Vetted =
      'code' in answer ? { ok: false, code: answer.code } : vet(answer.addresses.slice(0, MAX_ADDRESSES), answer.own);
    const ttl_s = ttlOf(answer);
    if (ttl_s > 0) cache.set(name, { vetted, expires_at: now() + ttl_s * 1000 });
    const callbacks = waiting.get(name)?.callbacks ?? [];
    waiting.delete(name);
    for (const done of callbacks) done(vetted);
  }

  return {
    known: (host) => cached(host, 0),
    recent: (host) => cached(host, RECENT_MS),
    resolve(host, done) {
      const known = cached(host, 0);
      if (known !== null) return done(known);
      const name = nameOf(host);
      const others = waiting.get(name);
      if (others !== undefined) {
        others.callbacks.push(done);
        return;
      }
      waiting.set(name, { asked_at: now(), callbacks: [done] });
      lookup(name, (answer) => settle(name, answer));
    },
    giveUp(limit_ms) {
      for (const [name, { asked_at }] of waiting) {
        if (now() - asked_at >= limit_ms) settle(name, { code: 'dns_failed' });
      }
    },
    close() {
      cache.clear();
    },
  };
}

/** The name without the dot at its end, unless that is its only one and so says that it is whole. */
const nameOf = (host: string) => (host.endsWith('.') && host.indexOf('.') < host.length - 1 ? host.slice(0, -1) : host);

/** How long an answer is kept, in seconds; 0 for not at all. */
function ttlOf(answer: Answer | NoAnswer): number {
  if ('code' in answer && answer.code === 'shortage') return 0;
  if ('code' in answer && answer.code === 'dns_failed') return FAILED_TTL_S;
  return Math.min(Math.max(answer.ttl_s ?? NOT_FOUND_TTL_S, MIN_TTL_S), MAX_TTL_S);
}
