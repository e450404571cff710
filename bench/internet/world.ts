// An internet to simulate: hosts with their faults and delays, and URLs on them whose verdicts are known. A world follows from its
// options alone. The shares and delays are those of lists of links that people check.
import type { Verdict } from '../../events/checks.ts';

export interface WorldOptions {
  hosts: number;
  urls: number;
  /** Share of hosts with TLS. */
  tls: number;
  /** Factor on the size of pages. */
  size: number;
  /** URLs are spread over hosts as their rank to the power of minus this. */
  skew: number;
  seed: number;
}

export const DEFAULT_WORLD: WorldOptions = { hosts: 5000, urls: 10_000, tls: 0.8, size: 1, skew: 0.8, seed: 1 };

/** The share of the hosts of each kind; the others are ordinary. */
const KINDS = {
  /** Takes connections and never says a word. */
  silent: 0.02,
  /** Drops the packets that would open a connection. */
  dropped: 0.01,
  refused: 0.02,
  /** Redirects to https. */
  redirect: 0.05,
  /** More than ten requests a second are 429 with Retry-After. */
  limited: 0.01,
  /** Sends a byte each half second. */
  drip: 0.01,
  servfail: 0.005,
  /** Its name servers do not answer. */
  no_dns: 0.005,
  no_name: 0.01,
  soft_404: 0.02,
} as const;
export type HostKind = keyof typeof KINDS | 'ordinary';

const UNREACHABLE: readonly HostKind[] = ['silent', 'dropped', 'refused', 'servfail', 'no_dns', 'no_name'];

export interface Host {
  name: string;
  kind: HostKind;
  is_tls: boolean;
  round_trip_ms: number;
  /** From a request to the first byte of its answer, beside one round trip. */
  think_ms: number;
  dns_ms: number;
  retry_after_s: number;
}

export interface Page {
  url: string;
  host: Host;
  status: number;
  /** The host answers with a redirect first. */
  is_moved: boolean;
  bytes: number;
  verdict: Verdict;
}

export interface World {
  hosts: Host[];
  /** By their number, which is in the URL. */
  pages: Page[];
}

export const ZONE = 'sim.home.arpa';
/** Nobody listens there. */
const CLOSED_PORT = 81;
/** A full backlog drops what would open a connection there. */
export const FULL_PORT = 82;
/** The largest sites are alive and fast. */
const LARGE_SITES = 20;
/** An attempt has 15 s with all its redirects, so that slower hosts that redirect would be unreachable. */
const MOST_MOVED_MS = 4000;
/** Bytes of the first flight of TCP segments; each further round trip doubles them. */
const FIRST_FLIGHT = 14_600;
const LAST_FLIGHT = 131_072;

export function makeWorld({ hosts: host_count, urls, tls, size, skew, seed }: WorldOptions): World {
  const random = randomOf(seed);
  const lognormal = (median: number, sigma: number, least: number, most: number) =>
    Math.min(most, Math.max(least, median * Math.exp(sigma * normal(random))));
  const hosts = Array.from({ length: host_count }, (_, n): Host => {
    const is_large = n < LARGE_SITES;
    const kind = is_large ? 'ordinary' : kindOf(random());
    const first_byte_ms = is_large
      ? lognormal(200, 0.4, 50, 600)
      : lognormal(300, 1.054, 20, kind === 'redirect' ? MOST_MOVED_MS : 10_000);
    const is_tls = random() < tls && !['redirect', 'refused', 'dropped'].includes(kind);
    const trips = is_tls ? 3 : 2;
    const round_trip_ms = Math.min(lognormal(60, 0.6, 5, 300), first_byte_ms / (trips + 0.5));
    return {
      name: `h${String(n).padStart(5, '0')}.${ZONE}`,
      ...{ kind, is_tls, round_trip_ms, think_ms: first_byte_ms - trips * round_trip_ms },
      dns_ms: lognormal(25, 0.9, 5, 200),
      retry_after_s: 5 + Math.floor(26 * random()),
    };
  });
  const weights = hosts.map((_, n) => (n + 1) ** -skew);
  const whole = weights.reduce((sum, weight) => sum + weight, 0);
  const pages: Page[] = [];
  for (let n = 0, round = 0; pages.length < urls; n = (n + 1) % host_count, round += n === 0 ? 1 : 0) {
    const share = round === 0 ? Math.max(1, Math.floor((weights[n]! / whole) * urls)) : 1;
    for (let k = 0; k < share && pages.length < urls; k++) pages.push(makePage(hosts[n]!, pages.length));
  }
  return { hosts, pages };

  function makePage(host: Host, n: number): Page {
    const drawn = random();
    const status = drawn < 0.08 ? 404 : drawn < 0.085 ? 410 : drawn < 0.09 ? 500 : 200;
    const is_moved = drawn >= 0.09 && drawn < 0.12 && host.think_ms < MOST_MOVED_MS;
    const bytes = Math.floor(size * lognormal(30_000, 1, 1500, 900_000));
    return { url: urlOf(host, n), host, status, is_moved, bytes, verdict: verdictOf(host, status, is_moved) };
  }
}

function kindOf(drawn: number): HostKind {
  for (const [kind, share] of Object.entries(KINDS)) {
    if (drawn < share) return kind as HostKind;
    drawn -= share;
  }
  return 'ordinary';
}

function urlOf({ name, kind, is_tls }: Host, n: number): string {
  const port = kind === 'refused' ? `:${CLOSED_PORT}` : kind === 'dropped' ? `:${FULL_PORT}` : '';
  return `${is_tls ? 'https' : 'http'}://${name}${port}/articles/${n}`;
}

function verdictOf({ kind }: Host, status: number, is_moved: boolean): Verdict {
  if (UNREACHABLE.includes(kind)) return 'unreachable';
  if (status >= 400) return kind === 'soft_404' ? 'soft_404' : 'broken';
  return is_moved || kind === 'redirect' ? 'redirected' : 'ok';
}

/** The time of one request over an open connection, its page included. */
export function requestMs({ round_trip_ms, think_ms, kind }: Host, bytes: number): number {
  let ms = round_trip_ms + think_ms + (kind === 'drip' ? 5000 : 0);
  for (let sent = FIRST_FLIGHT; sent < bytes && sent < LAST_FLIGHT; sent = 2 * sent + FIRST_FLIGHT) ms += round_trip_ms;
  return ms;
}

/** The pages in the order in which a list has them: shuffled, the same at each run. */
export function shuffled({ pages }: World, seed: number): number[] {
  const random = randomOf(seed + 99);
  const order = [...pages.keys()];
  for (let n = order.length - 1; n > 0; n--) {
    const other = Math.floor((n + 1) * random());
    [order[n], order[other]] = [order[other]!, order[n]!];
  }
  return order;
}

/** A generator of numbers in [0, 1), which a seed decides (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const normal = (random: () => number) => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
