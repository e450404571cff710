// The connections: one undici Client each, at most `per_host` a host, kept for the next URL of their origin and
// destroyed when none comes. Each goes to a vetted address, whatever the name says by then.
import assert from 'node:assert';
import net from 'node:net';
import tls from 'node:tls';
import { LRUCache } from 'lru-cache';
import { Client } from 'undici';
import { CheckFailure } from './errors.ts';
import type { Resolver } from './resolver.ts';

/** How long an idle connection waits for its origin's next URL: longer than the gap between two batches of a job. */
const LINGER_MS = 1000;
const MAX_HEADER_SIZE_BYTES = 64 * 1024;
const CACHED_SESSIONS = 1000;
/** How long one address of several may take before the next is tried. */
const NEXT_ADDRESS_MS = 1000;

export interface ConnectionSettings {
  per_host: number;
  /** Idle connections beyond this are destroyed, the oldest first. */
  max_idle: number;
  resolver: Resolver;
  now: () => number;
  /** PEM of the authorities trusted instead of the system's: for tests. */
  ca?: string | undefined;
}

/** One connection of an origin, made at its first request and again when it broke. */
export class Connection {
  readonly client: Client;
  readonly origin: string;
  readonly host: string;
  /** How often it was made: a request that fails on one that others used before may be sent again on a new one. */
  made = 0;
  /** Whether the name is being asked for: a request that waits on this fails for want of DNS. */
  resolving = false;
  idle_since = 0;
  socket: net.Socket | null = null;

  constructor(host: string, origin: string, pool: Connections) {
    this.origin = origin;
    this.host = host;
    this.client = new Client(origin, {
      connect: (options, done) => pool.connect(this, options as unknown as ConnectOptions, done as ConnectDone),
      pipelining: 1,
      allowH2: false,
      // The engine's sweep keeps the time.
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: MAX_HEADER_SIZE_BYTES,
    });
  }
}

interface ConnectOptions {
  hostname: string;
  protocol: string;
  port: string;
}
type ConnectDone = (error: Error | null, socket: net.Socket | null) => void;

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
  readonly #sockets = new Set<net.Socket>();
  /** To resume TLS with: a new handshake costs more than all else of a check. */
  readonly #sessions = new LRUCache<string, Buffer>({ max: CACHED_SESSIONS });
  #secure_context: tls.SecureContext | null = null;

  constructor(settings: ConnectionSettings) {
    this.#settings = settings;
  }

  /**
   * A connection of the origin that no one uses. `hostname` is the origin's, as in `URL.hostname`; the caller holds one
   * of its `per_host` slots.
   */
  take(hostname: string, origin: string): Connection {
    const host = this.#hosts.get(hostname) ?? { open: 0, idle: [] };
    const { idle } = host;
    for (let i = idle.length - 1; i >= 0; i--) {
      const connection = idle[i]!;
      if (connection.origin !== origin) continue;
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
    return new Connection(hostname, origin, this);
  }

  /** Gives a connection back whose request has ended. */
  give(connection: Connection): void {
    const host = this.#hosts.get(connection.host);
    assert(host !== undefined);
    connection.idle_since = this.#settings.now();
    host.idle.push(connection);
    this.#idle.add(connection);
    if (this.#idle.size > this.#settings.max_idle) {
      const [oldest] = this.#idle;
      this.destroy(oldest!);
    }
  }

  /** Closes a connection, idle or not, with what it is doing. */
  destroy(connection: Connection): void {
    const host = this.#hosts.get(connection.host);
    assert(host !== undefined && host.open > 0);
    if (this.#idle.delete(connection)) host.idle.splice(host.idle.indexOf(connection), 1);
    if (--host.open === 0) this.#hosts.delete(connection.host);
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
    await Promise.all(Array.from(this.#sockets, (socket) => new Promise((closed) => socket.once('close', closed))));
  }

  /** undici's connector for one connection: name to vetted addresses to a socket. */
  connect(connection: Connection, options: ConnectOptions, done: ConnectDone): void {
    connection.resolving = true;
    this.#settings.resolver.resolve(options.hostname, (vetted) => {
      connection.resolving = false;
      if (connection.client.destroyed) return done(new CheckFailure('connect_timeout'), null);
      if (!vetted.ok) {
        const failure = new CheckFailure(vetted.code);
        // undici is still in the call that wants to connect.
        process.nextTick(done, failure, null);
        return;
      }
      this.#open(connection, options, vetted.addresses, done);
    });
  }

  #open(connection: Connection, options: ConnectOptions, addresses: readonly string[], done: ConnectDone): void {
    const secure = options.protocol === 'https:';
    const port = Number(options.port) || (secure ? 443 : 80);
    const target: net.TcpNetConnectOpts = { host: addresses[0]!, port, noDelay: true };
    if (addresses.length > 1) {
      // Node tries the families in turn (RFC 8305), among the vetted addresses only.
      target.host = options.hostname;
      target.autoSelectFamily = true;
      target.autoSelectFamilyAttemptTimeout = NEXT_ADDRESS_MS;
      target.lookup = (_name, _options, answer) => {
        answer(
          null,
          addresses.map((address) => ({ address, family: net.isIP(address) })),
        );
      };
    }
    const socket = secure
      ? tls.connect({
          ...target,
          servername: net.isIP(options.hostname) === 0 ? options.hostname.replace(/\.$/, '') : '',
          ALPNProtocols: ['http/1.1'],
          secureContext: this.#context(),
          session: this.#sessions.get(connection.origin),
          // An address in the URL is what the certificate must name.
          checkServerIdentity: (_name, certificate) => tls.checkServerIdentity(options.hostname, certificate),
        })
      : net.connect(target);
    connection.socket = socket;
    this.#sockets.add(socket);
    let pending = true;
    socket.once(secure ? 'secureConnect' : 'connect', () => {
      if (!pending) return;
      pending = false;
      connection.made++;
      // Only now is the server known to be who it says: a session kept earlier would skip that question.
      if (secure) socket.on('session', (session: Buffer) => this.#sessions.set(connection.origin, session));
      done(null, socket);
    });
    socket.on('error', (error) => {
      if (!pending) return;
      pending = false;
      done(error, null);
    });
    socket.once('close', () => {
      this.#sockets.delete(socket);
      if (connection.socket === socket) connection.socket = null;
      if (!pending) return;
      pending = false;
      done(new CheckFailure('connection_reset'), null);
    });
  }

  #context(): tls.SecureContext {
    this.#secure_context ??= tls.createSecureContext(this.#settings.ca === undefined ? {} : { ca: this.#settings.ca });
    return this.#secure_context;
  }
}

/** One for all: to make an error for each of thousands of connections costs as much as the connections. */
const DESTROYED = Object.assign(new Error('The engine destroyed the connection'), { code: 'UND_ERR_DESTROYED' });

function nothing(): void {}
