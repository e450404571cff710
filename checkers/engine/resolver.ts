// Resolves names to vetted addresses. It caches answers for their time to live, looks a name up once for all that wait for it,
// and passes every answer through the address guard.
import { isIP } from 'node:net';
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
  /** Until when a host, as in `URL.hostname`, has addresses that are known without a query; 0 when none are. */
  knownUntil(host: string): number;
  /** What is known of a host without a query, also for a while after it expired: for a socket whose check has just seen a known name. */
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
const GENERATIONS = 2;
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

/** The latest answers, by name. The oldest leave first, whether they are asked for or not, because they expire soonest. */
class Answers {
  #newer = new Map<string, Entry>();
  #older = new Map<string, Entry>();
  /** Addresses in `#newer`. */
  #addresses = 0;

  get(name: string): Entry | undefined {
    return this.#newer.get(name) ?? this.#older.get(name);
  }

  set(name: string, entry: Entry): void {
    this.#addresses += entry.vetted.ok ? entry.vetted.addresses.length : 1;
    this.#newer.set(name, entry);
    const is_full = this.#newer.size >= CACHED_NAMES / GENERATIONS || this.#addresses >= CACHED_ADDRESSES / GENERATIONS;
    if (is_full) this.#begin(this.#newer);
  }

  clear(): void {
    this.#begin(new Map());
  }

  #begin(older: Map<string, Entry>): void {
    this.#older = older;
    this.#newer = new Map();
    this.#addresses = 0;
  }
}

/** The resolver vets all addresses of a name. One refused address refuses the name, because it may be an attack. */
export function createResolver(guard: AddressGuard, lookup: Lookup, now: () => number): Resolver {
  const cache = new Answers();
  const waiting = new Map<string, { asked_at: number; callbacks: ((vetted: Vetted) => void)[] }>();

  function vet(addresses: readonly string[], own = false): Vetted {
    const allowed = addresses.filter((address) => guard.allows(address));
    if (allowed.length === 0 || (allowed.length < addresses.length && !own)) {
      return { ok: false, code: 'blocked_address' };
    }
    return { ok: true, addresses: allowed };
  }

  /** An answer that may have expired, or what is known of a literal. */
  function entryOf(host: string): Entry | null {
    const entry = cache.get(nameOf(host));
    if (entry !== undefined) return entry;
    const literal = host.startsWith('[') ? host.slice(1, -1) : host;
    if (isIP(literal) === 0) return null;
    const of_literal = { vetted: vet([literal]), expires_at: Number.POSITIVE_INFINITY };
    cache.set(host, of_literal);
    return of_literal;
  }

  function cached(host: string, grace_ms: number): Vetted | null {
    const entry = entryOf(host);
    return entry !== null && entry.expires_at + grace_ms > now() ? entry.vetted : null;
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
    knownUntil(host) {
      const entry = entryOf(host);
      return entry?.vetted.ok === true ? entry.expires_at : 0;
    },
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
