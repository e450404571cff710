// The pool of connections: one undici Client each, at most `per_host` a host. The pool keeps an idle connection for the next
// URL of its origin and destroys it when none comes.
import assert from 'node:assert';
import type net from 'node:net';
import { Client, type Dispatcher } from 'undici';
import type { PooledProxy, ProxyPool } from '../proxies/pool.ts';
import type { Fault } from '../proxies/tries.ts';
import { LenientClient } from './lenient-client.ts';
import { MAX_HEAD_BYTES } from './limits.ts';
import { type Linked, LinkedList } from './linked-list.ts';
import { type ConnectDone, type ConnectOptions, type SocketOwner, type SocketSettings, Sockets } from './sockets.ts';

/**
 * How long an idle connection waits for its origin's next URL. Lists come back to a host after tens of seconds, and servers
 * that want their connection back sooner close it or say so (`Keep-Alive: timeout=5`), which undici heeds.
 */
const LINGER_MS = 60_000;
/**
 * Above this limit the pool destroys the oldest idle connections. Lists alternate between thousands of hosts, and a new
 * connection costs as much as two requests; an idle one costs 7 KB, or 27 KB with TLS, and no time.
 */
const MAX_IDLE = 6000;

export interface ConnectionSettings extends SocketSettings {
  per_host: number;
  /** Null: connect to the hosts directly. */
  proxies: ProxyPool | null;
}

/** How a request is sent: as usual, or as a second look by a lenient parser of HTTP/1.1, or with an offer of HTTP/2. */
export type Look = 'first' | SecondLook;
export type SecondLook = 'lenient' | 'h2';

/** The part of undici's Client that a connection uses. */
interface RequestClient {
  readonly destroyed: boolean;
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean;
  destroy(error: Error | null, done: () => void): void;
}

/** A connection to an origin. It opens a socket at its first request, and another when that one broke. */
export class Connection implements SocketOwner, Linked<Connection> {
  before: Connection | null = null;
  after: Connection | null = null;
  list: object | null = null;
  readonly client: RequestClient;
  readonly origin: string;
  readonly host: string;
  readonly proxy: PooledProxy | null;
  readonly address_at: number;
  /** Number of sockets opened. A request that fails on a socket used before may be sent again on a new one. */
  made = 0;
  fault: Fault = 'none';
  got_alert = false;
  readonly offers_h2: boolean;
  /** Whether its socket writes the headers that all requests have into a request without any. */
  readonly writes_usual_headers: boolean;
  speaks_h2 = false;
  idle_since = 0;
  socket: net.Socket | null = null;

  constructor(
    host: string,
    origin: string,
    sockets: Sockets,
    proxy: PooledProxy | null,
    address_at: number,
    look: Look,
  ) {
    this.origin = origin;
    this.host = host;
    this.proxy = proxy;
    this.address_at = address_at;
    this.offers_h2 = look === 'h2';
    this.writes_usual_headers = look === 'first';
    if (look === 'lenient') {
      const { hostname, protocol, port } = new URL(origin);
      const options = { hostname: hostname.replace(/^\[|\]$/g, ''), protocol, port };
      this.client = new LenientClient(origin, (done) => sockets.connect(this, options, done));
      return;
    }
    this.client = new Client(origin, {
      connect: (options, done) => sockets.connect(this, options as unknown as ConnectOptions, done as ConnectDone),
      pipelining: 1,
      allowH2: this.offers_h2,
      // The engine's sweep enforces the time limits.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: LINGER_MS,
      maxHeaderSize: MAX_HEAD_BYTES,
    });
  }

  get destroyed(): boolean {
    return this.client.destroyed;
  }
}

const NOT_AVOIDED: ReadonlySet<PooledProxy> = new Set();

interface HostConnections {
  open: number;
  /** Idle connections, the most recently used last. */
  readonly idle: Connection[];
}

export class Connections {
  readonly #settings: ConnectionSettings;
  readonly #hosts = new Map<string, HostConnections>();
  /** All idle connections, the oldest first. */
  readonly #idle = new LinkedList<Connection>();
  readonly #sockets: Sockets;
  #max_idle = MAX_IDLE;

  constructor(settings: ConnectionSettings) {
    this.#settings = settings;
    this.#sockets = new Sockets(settings, this.#outOfFiles);
  }

  /** Whether `take` can return a connection: with proxies, one of them must be usable. */
  get ready(): boolean {
    const { proxies } = this.#settings;
    if (proxies === null) return true;
    // An idle connection occupies its proxy.
    while (!proxies.usable) {
      if (this.#idle.first === null) return false;
      this.destroy(this.#idle.first);
    }
    return true;
  }

  /**
   * Takes an idle or a new connection to the origin. `hostname` is the origin's `URL.hostname`. The caller holds one of its
   * `per_host` slots and has seen `ready`. A connection for a second look is new, and the caller destroys it. `avoided`: proxies that
   * failed for this check.
   */
  take(
    hostname: string,
    origin: string,
    look: Look = 'first',
    avoided: ReadonlySet<PooledProxy> = NOT_AVOIDED,
  ): Connection {
    const host = this.#hosts.get(hostname) ?? { open: 0, idle: [] };
    const { idle } = host;
    for (let i = look === 'first' ? idle.length - 1 : -1; i >= 0; i--) {
      const connection = idle[i]!;
      if (connection.proxy?.listed === false) {
        // Its proxy has left the list while it was idle.
        this.destroy(connection);
        continue;
      }
      if (connection.origin !== origin || (connection.proxy !== null && avoided.has(connection.proxy))) continue;
      if (i === idle.length - 1) idle.pop();
      else idle.splice(i, 1);
      this.#idle.remove(connection);
      return connection;
    }
    // An idle connection to another origin of the host makes room.
    if (host.open >= this.#settings.per_host && idle.length > 0) this.destroy(idle[0]!);
    host.open++;
    assert(host.open <= this.#settings.per_host);
    this.#hosts.set(hostname, host);
    const { proxies, sandbox } = this.#settings;
    const proxy = hostname === sandbox?.host ? null : (proxies?.take(avoided) ?? null);
    return new Connection(hostname, origin, this.#sockets, proxy, avoided.size, look);
  }

  hasIdle(hostname: string, origin: string): boolean {
    return this.#hosts.get(hostname)?.idle.some((one) => one.origin === origin && one.socket !== null) === true;
  }

  /** Returns a connection whose request has ended. */
  give(connection: Connection): void {
    const host = this.#hosts.get(connection.host);
    assert(host !== undefined);
    connection.idle_since = this.#settings.now();
    host.idle.push(connection);
    this.#idle.push(connection);
    this.#keep(this.#max_idle);
  }

  #keep(count: number): void {
    while (this.#idle.size > count) this.destroy(this.#idle.first!);
  }

  /** The process ran out of file descriptors: destroys half of the idle connections and keeps fewer from now on. */
  readonly #outOfFiles = (): void => {
    this.#max_idle = Math.floor(Math.min(this.#max_idle, this.#idle.size) / 2);
    this.#keep(this.#max_idle);
  };

  /** Closes a connection, idle or not, and aborts its request. */
  destroy(connection: Connection): void {
    const host = this.#hosts.get(connection.host);
    assert(host !== undefined && host.open > 0);
    if (connection.list !== null) {
      this.#idle.remove(connection);
      host.idle.splice(host.idle.indexOf(connection), 1);
    }
    if (--host.open === 0) this.#hosts.delete(connection.host);
    if (connection.proxy !== null) this.#settings.proxies!.release(connection.proxy);
    connection.client.destroy(DESTROYED, nothing);
    // undici does not destroy a socket that is still connecting.
    connection.socket?.destroy();
  }

  /** Destroys connections that have been idle for `LINGER_MS`. */
  sweep(): void {
    const oldest = this.#settings.now() - LINGER_MS;
    for (let first = this.#idle.first; first !== null && first.idle_since <= oldest; first = this.#idle.first) {
      this.destroy(first);
    }
  }

  get idle(): number {
    return this.#idle.size;
  }

  /** Destroys the idle connections; resolves when all sockets are closed. The caller has none in use. */
  async close(): Promise<void> {
    this.#keep(0);
    await this.#sockets.closed();
  }
}

/** A shared instance: an error for each of thousands of connections would cost as much as the connections. */
const DESTROYED = Object.assign(new Error('The engine destroyed the connection'), { code: 'UND_ERR_DESTROYED' });

function nothing(): void {}
