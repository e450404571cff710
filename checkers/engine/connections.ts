// The connections: one undici Client each, at most `per_host` a host, kept for the next URL of their origin and
// destroyed when none comes.
import assert from 'node:assert';
import type net from 'node:net';
import { Client, type Dispatcher } from 'undici';
import type { PooledProxy, ProxyPool } from '../proxies/pool.ts';
import type { Fault } from '../proxies/tries.ts';
import { LenientClient } from './lenient-client.ts';
import { type ConnectDone, type ConnectOptions, type SocketOwner, type SocketSettings, Sockets } from './sockets.ts';

/** How long an idle connection waits for its origin's next URL, as undici's own would: a server's limit is mostly 5 s. */
const LINGER_MS = 4000;
/**
 * Idle connections beyond this are destroyed, the oldest first. Lists alternate between thousands of hosts, and a new
 * connection costs twice what a request does; an idle one costs 7 KB, or 27 KB with TLS, and no time.
 */
const MAX_IDLE = 6000;
const MAX_HEADER_SIZE_BYTES = 64 * 1024;

export interface ConnectionSettings extends SocketSettings {
  per_host: number;
  now: () => number;
  /** Null: straight to the hosts. */
  proxies: ProxyPool | null;
}

/** What is asked of undici's Client. */
interface RequestClient {
  readonly destroyed: boolean;
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean;
  destroy(error: Error | null, done: () => void): void;
}

/** One connection of an origin, made at its first request and again when it broke. */
export class Connection implements SocketOwner {
  readonly client: RequestClient;
  readonly origin: string;
  readonly host: string;
  readonly proxy: PooledProxy | null;
  readonly address_at: number;
  /** How often it was made: a request that fails on one that others used before may be sent again on a new one. */
  made = 0;
  /** Whether the name is being asked for: a request that waits on this fails for want of DNS. */
  resolving = false;
  fault: Fault = 'none';
  idle_since = 0;
  socket: net.Socket | null = null;

  constructor(
    host: string,
    origin: string,
    sockets: Sockets,
    proxy: PooledProxy | null,
    address_at: number,
    lenient: boolean,
  ) {
    this.origin = origin;
    this.host = host;
    this.proxy = proxy;
    this.address_at = address_at;
    if (lenient) {
      const { hostname, protocol, port } = new URL(origin);
      const options = { hostname: hostname.replace(/^\[|\]$/g, ''), protocol, port };
      this.client = new LenientClient(origin, (done) => sockets.connect(this, options, done));
      return;
    }
    this.client = new Client(origin, {
      connect: (options, done) => sockets.connect(this, options as unknown as ConnectOptions, done as ConnectDone),
      pipelining: 1,
      allowH2: false,
      // The engine's sweep keeps the time.
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: MAX_HEADER_SIZE_BYTES,
    });
  }

  get destroyed(): boolean {
    return this.client.destroyed;
  }
}

const NOT_AVOIDED: ReadonlySet<PooledProxy> = new Set();

interface HostConnections {
  open: number;
  /** The most recently used last. */
  readonly idle: Connection[];
}

export class Connections {
  readonly #settings: ConnectionSettings;
  readonly #hosts = new Map<string, HostConnections>();
  /** All idle connections, the oldest first. */
  readonly #idle = new Set<Connection>();
  readonly #sockets: Sockets;
  #max_idle = MAX_IDLE;

  constructor(settings: ConnectionSettings) {
    this.#settings = settings;
    this.#sockets = new Sockets(settings, this.#outOfFiles);
  }

  /** Whether one can be taken: a proxy may have to be free for it, or well again. */
  get ready(): boolean {
    const { proxies } = this.#settings;
    if (proxies === null) return true;
    // Idle ones hold their proxies.
    while (!proxies.usable) {
      const [oldest] = this.#idle;
      if (oldest === undefined) return false;
      this.destroy(oldest);
    }
    return true;
  }

  /**
   * A connection of the origin that no one uses. `hostname` is the origin's, as in `URL.hostname`; the caller holds one
   * of its `per_host` slots, and has seen that one is `ready`. A `lenient` one is new, and is not to be given back.
   * `avoided`: the proxies that did not get through so far.
   */
  take(hostname: string, origin: string, lenient = false, avoided: ReadonlySet<PooledProxy> = NOT_AVOIDED): Connection {
    const host = this.#hosts.get(hostname) ?? { open: 0, idle: [] };
    const { idle } = host;
    for (let i = lenient ? -1 : idle.length - 1; i >= 0; i--) {
      const connection = idle[i]!;
      if (connection.origin !== origin || (connection.proxy !== null && avoided.has(connection.proxy))) continue;
      if (i === idle.length - 1) idle.pop();
      else idle.splice(i, 1);
      this.#idle.delete(connection);
      return connection;
    }
    // The host's other origin makes room.
    if (host.open >= this.#settings.per_host && idle.length > 0) this.destroy(idle[0]!);
    host.open++;
    assert(host.open <= this.#settings.per_host);
    this.#hosts.set(hostname, host);
    const proxy = this.#settings.proxies?.take(avoided) ?? null;
    return new Connection(hostname, origin, this.#sockets, proxy, avoided.size, lenient);
  }

  /** Gives a connection back whose request has ended. */
  give(connection: Connection): void {
    const host = this.#hosts.get(connection.host);
    assert(host !== undefined);
    connection.idle_since = this.#settings.now();
    host.idle.push(connection);
    this.#idle.add(connection);
    this.#keep(this.#max_idle);
  }

  #keep(count: number): void {
    for (const oldest of this.#idle) {
      if (this.#idle.size <= count) return;
      this.destroy(oldest);
    }
  }

  /** The process may open no more files: idle connections give theirs back, and fewer of them are kept from now on. */
  readonly #outOfFiles = (): void => {
    this.#max_idle = Math.floor(Math.min(this.#max_idle, this.#idle.size) / 2);
    this.#keep(this.#max_idle);
  };

  /** Closes a connection, idle or not, with what it is doing. */
  destroy(connection: Connection): void {
    const host = this.#hosts.get(connection.host);
    assert(host !== undefined && host.open > 0);
    if (this.#idle.delete(connection)) host.idle.splice(host.idle.indexOf(connection), 1);
    if (--host.open === 0) this.#hosts.delete(connection.host);
    if (connection.proxy !== null) this.#settings.proxies!.release(connection.proxy);
    connection.client.destroy(DESTROYED, nothing);
    // undici leaves a socket that is still connecting to its connector.
    connection.socket?.destroy();
  }

  /** Destroys what has been idle for too long. */
  sweep(): void {
    const oldest = this.#settings.now() - LINGER_MS;
    for (const connection of this.#idle) {
      if (connection.idle_since > oldest) return;
      this.destroy(connection);
    }
  }

  get idle(): number {
    return this.#idle.size;
  }

  /** Idle ones are destroyed; resolves when all sockets are closed. None may be in use. */
  async close(): Promise<void> {
    for (const connection of this.#idle) this.destroy(connection);
    await this.#sockets.closed();
  }
}

/** One for all: to make an error for each of thousands of connections costs as much as the connections. */
const DESTROYED = Object.assign(new Error('The engine destroyed the connection'), { code: 'UND_ERR_DESTROYED' });

function nothing(): void {}
