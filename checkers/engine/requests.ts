// The requests in flight. Each is an exchange on one connection, direct or through a proxy, and ends within its time limits.
// Decision 53 says why.
import { LRUCache } from 'lru-cache';
import type { PooledProxy } from '../proxies/pool.ts';
import { createAddressGuard } from './addresses.ts';
import { Bag } from './bag.ts';
import { ACCEPT_ENCODING } from './body.ts';
import type { CheckInHand } from './check-in-hand.ts';
import { type Connection, Connections, type Look } from './connections.ts';
import { DnsLookup } from './dns/lookup.ts';
import { Exchange, type ExchangeOwner, type Limits } from './exchange.ts';
import { DEFAULT_SETTINGS } from './limits.ts';
import { createResolver, type Resolver } from './resolver.ts';
import { withSandbox } from './sandbox.ts';
import type { EngineParts, EngineSettings } from './types.ts';

/** As Firefox asks for a page. */
const ACCEPT = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
/** Proxies may have any address, because the operator names them. */
const ANY_ADDRESS = { allows: () => true, excepts: () => true };

/** Origins that answer HTTP/2 alone. A further one displaces the one that was not asked for the longest time. */
const HTTP2_ORIGINS_KEPT = 1000;

/** Called for each exchange that ended and was not abandoned, after its connection was returned. */
export type Ended = (check: CheckInHand, exchange: Exchange) => void;

export class Requests implements ExchangeOwner {
  readonly limits: Limits;
  readonly now: () => number;
  readonly #ended: Ended;
  readonly #connections: Connections;
  readonly resolver: Resolver;
  readonly #stop_lookup: () => void;
  /** Null for our own lookup, which knows when a name server is away. */
  readonly #lookup_limit_ms: number | null;
  readonly #headers: readonly string[];
  readonly #in_flight = new Bag<Exchange>();
  /** Origins that demanded HTTP/2: their next requests offer it at once. */
  readonly #http2 = new LRUCache<string, true>({ max: HTTP2_ORIGINS_KEPT });
  /** The connection of the exchange that ends now. undici takes its next request within the callback, and no other client's. */
  #freed: Connection | null = null;

  /** `now`: a monotonic clock, in milliseconds. */
  constructor(
    settings: EngineSettings,
    parts: EngineParts,
    now: () => number,
    ended: Ended,
    away: (reason: string | null) => void,
  ) {
    const { lookup, openDns = (told) => new DnsLookup({ away: told }), ca, proxies, sandbox } = parts;
    const { per_host, timeout_ms, allow_addresses } = settings;
    this.limits = { connect_ms: (timeout_ms * 2) / 3, body_ms: timeout_ms / 3 };
    this.now = now;
    this.#ended = ended;
    this.#headers = headersOf(settings);
    const dns = lookup === undefined ? openDns(away) : { lookup, close() {} };
    this.#stop_lookup = () => dns.close();
    this.#lookup_limit_ms = lookup === undefined ? null : timeout_ms;
    const resolver = createResolver(createAddressGuard(allow_addresses), dns.lookup, now);
    this.resolver = sandbox ? withSandbox(resolver, sandbox) : resolver;
    // Without proxies nothing asks it.
    const proxy_resolver = proxies === undefined ? this.resolver : createResolver(ANY_ADDRESS, dns.lookup, now);
    this.#connections = new Connections({
      per_host,
      resolver: this.resolver,
      proxy_resolver,
      proxies: proxies ?? null,
      now,
      ca,
      sandbox,
      usual_headers: this.#headers,
    });
  }

  /** Whether `send` can send a request: with proxies, one of them must be usable. */
  get ready(): boolean {
    return this.#connections.ready;
  }

  /** Requests in flight, at the last sweep, that have had no answer for some time. */
  silent = 0;

  /** Whether the request of `check` needs no lookup of its host's name. */
  knows(check: CheckInHand, now: number): boolean {
    const { host, origin } = check;
    if (now < check.known_until || this.#freed?.origin === origin) return true;
    check.known_until = this.resolver.knownUntil(host);
    return now < check.known_until || this.#connections.hasIdle(host, origin);
  }

  /** Number of idle connections. */
  get idle(): number {
    return this.#connections.idle;
  }

  /** Whether the request of `check` can go on the connection of the exchange that ends now. */
  readonly continues = (check: CheckInHand): boolean =>
    this.#freed !== null &&
    this.#freed.origin === check.origin &&
    this.#freed.proxy === null &&
    this.#lookOf(check) === 'first';

  /** Sends the next request of `check`. Within `Ended` it must be one that `continues`. The caller holds a slot of the job's host and has seen `ready`. */
  send(check: CheckInHand, now: number, avoided: ReadonlySet<PooledProxy> | undefined): void {
    const connection = this.#freed ?? this.#connections.take(check.host, check.origin, this.#lookOf(check), avoided);
    this.#freed = null;
    const exchange = new Exchange(check, connection, this, now);
    check.exchange = exchange;
    this.#in_flight.add(exchange);
    const own =
      check.granted === null ? this.#headers : check.granted.headersOf(check.host, this.#headers, isDowngraded(check));
    const headers = check.cookie === null ? own : [...own, 'Cookie', check.cookie];
    const are_usual = headers === this.#headers && connection.writes_usual_headers;
    connection.client.dispatch(
      { path: check.path, method: 'GET', headers: are_usual ? null : (headers as string[]) },
      exchange,
    );
  }

  /** Ends the request of `check`, if one is in flight, without calling `ended`. */
  abandon({ exchange }: CheckInHand): void {
    if (exchange === null) return;
    exchange.abandon();
    this.#leave(exchange);
    this.#connections.destroy(exchange.connection);
  }

  ended(exchange: Exchange): void {
    const { connection, reusable } = exchange;
    this.#leave(exchange);
    this.#learn(exchange);
    if (reusable && !connection.offers_h2 && connection.proxy?.listed !== false) this.#freed = connection;
    else this.#connections.destroy(connection);
    this.#ended(exchange.check as CheckInHand, exchange);
    if (this.#freed === null) return;
    this.#freed = null;
    this.#connections.give(connection);
  }

  /** The caller runs it regularly: it ends requests past their time limits and connections idle for too long. */
  sweep(now: number): void {
    let silent = 0;
    for (const exchange of this.#in_flight.all) {
      exchange.sweep(now, exchange.check.deadline);
      if (exchange.isSilent(now)) silent++;
    }
    this.silent = silent;
    this.#connections.sweep();
    if (this.#lookup_limit_ms !== null) this.resolver.giveUp(this.#lookup_limit_ms);
  }

  /** Resolves when every socket is closed. The caller has no request in flight. */
  async close(): Promise<void> {
    this.#stop_lookup();
    this.resolver.close();
    await this.#connections.close();
  }

  #lookOf({ look, origin }: CheckInHand): Look {
    return look === 'first' && this.#http2.size > 0 && this.#http2.get(origin) ? 'h2' : look;
  }

  #learn({ connection, second_look, failure }: Exchange): void {
    const { origin, offers_h2, speaks_h2 } = connection;
    if (!offers_h2 && second_look === 'h2') this.#http2.set(origin, true);
    // The server did not want HTTP/2 after all, or wants it no more.
    if (offers_h2 && (failure !== null || !speaks_h2)) this.#http2.delete(origin);
  }

  #leave(exchange: Exchange): void {
    this.#in_flight.delete(exchange);
    (exchange.check as CheckInHand).exchange = null;
  }
}

/** Whether a redirect led from https to http. */
const isDowngraded = ({ first, current }: CheckInHand) => first.protocol === 'https:' && current.protocol === 'http:';

/** What follows Host and Connection, with the names and in the order in which browsers send them: some servers know no other. */
function headersOf({ user_agent, accept_language = DEFAULT_SETTINGS.accept_language }: EngineSettings): string[] {
  const asked = ['Accept', ACCEPT, 'Accept-Encoding', ACCEPT_ENCODING, 'Accept-Language', accept_language];
  return ['Upgrade-Insecure-Requests', '1', 'User-Agent', user_agent, ...asked];
}
