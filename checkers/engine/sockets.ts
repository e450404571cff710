// From a name to a socket: only to addresses that were vetted, whatever the name says by then, straight or through a
// proxy, and with TLS that names the host of the URL.
import net from 'node:net';
import tls from 'node:tls';
import { LRUCache } from 'lru-cache';
import type { PooledProxy } from '../proxies/pool.ts';
import type { Fault } from '../proxies/tries.ts';
import { requestTunnel } from '../proxies/tunnel.ts';
import { CheckFailure, isShortage, Shortage } from './errors.ts';
import type { Resolver } from './resolver.ts';

const CACHED_SESSIONS = 1000;
/** How long one address of several may take before the next is tried. */
const NEXT_ADDRESS_MS = 1000;

export interface SocketSettings {
  resolver: Resolver;
  /** Of the names of proxies, which are the operator's and not vetted. */
  proxy_resolver: Resolver;
  /** PEM of the authorities trusted instead of the system's: for tests. */
  ca?: string | undefined;
}

/** What a socket is made for. */
export interface SocketOwner {
  readonly origin: string;
  readonly destroyed: boolean;
  /** Null: straight to the host. */
  readonly proxy: PooledProxy | null;
  /** Of several addresses, the one that the proxy is given. */
  readonly address_at: number;
  /** How often it had one. */
  made: number;
  /** Whether the name is being asked for. */
  resolving: boolean;
  /** What stands in the way, should it fail now. */
  fault: Fault;
  socket: net.Socket | null;
}

/** undici's. */
export interface ConnectOptions {
  hostname: string;
  protocol: string;
  port: string;
}
export type ConnectDone = (error: Error | null, socket: net.Socket | null) => void;

export class Sockets {
  readonly #settings: SocketSettings;
  readonly #out_of_files: () => void;
  readonly #open = new Set<net.Socket>();
  /** To resume TLS with: a new handshake costs more than all else of a check. */
  readonly #sessions = new LRUCache<string, Buffer>({ max: CACHED_SESSIONS });
  #secure_context: tls.SecureContext | null = null;

  /** `out_of_files`: called when this machine has none left for a socket. */
  constructor(settings: SocketSettings, out_of_files: () => void) {
    this.#settings = settings;
    this.#out_of_files = out_of_files;
  }

  /** Resolves when all are closed. */
  async closed(): Promise<void> {
    await Promise.all(Array.from(this.#open, (socket) => new Promise((closed) => socket.once('close', closed))));
  }

  /** undici's connector for the connections of one owner. */
  connect(owner: SocketOwner, options: ConnectOptions, done: ConnectDone): void {
    owner.resolving = true;
    this.#settings.resolver.resolve(options.hostname, (vetted) => {
      owner.resolving = false;
      if (owner.destroyed) return done(new CheckFailure('connect_timeout'), null);
      if (!vetted.ok) {
        const failure = vetted.code === 'shortage' ? new Shortage() : new CheckFailure(vetted.code);
        // undici is still in the call that wants to connect.
        process.nextTick(done, failure, null);
        return;
      }
      if (owner.proxy === null) this.#direct(owner, options, vetted.addresses, done);
      else this.#viaProxy(owner.proxy, owner, options, vetted.addresses, done);
    });
  }

  #direct(owner: SocketOwner, options: ConnectOptions, addresses: readonly string[], done: ConnectDone): void {
    const secure = options.protocol === 'https:';
    const target = targetOf(options.hostname, portOf(options), addresses);
    const socket = secure ? tls.connect({ ...target, ...this.#tls(owner, options) }) : net.connect(target);
    this.#onceConnected(owner, socket, secure, (error) => this.#ready(owner, socket, secure, error, done));
  }

  #viaProxy(
    { endpoint }: PooledProxy,
    owner: SocketOwner,
    options: ConnectOptions,
    addresses: readonly string[],
    done: ConnectDone,
  ): void {
    owner.fault = 'down';
    const secure = options.protocol === 'https:';
    const address = addresses[owner.address_at % addresses.length]!;

    const tunnelled = (outer: net.Socket): void => {
      owner.fault = 'target';
      if (!secure) {
        this.#ready(owner, outer, false, null, done);
        return;
      }
      const inner = tls.connect({ socket: outer, ...this.#tls(owner, options) });
      this.#onceConnected(owner, inner, true, (error) => this.#ready(owner, inner, true, error, done));
    };
    this.#settings.proxy_resolver.resolve(endpoint.host, (found) => {
      if (owner.destroyed || !found.ok) {
        const is_shortage = !found.ok && found.code === 'shortage';
        process.nextTick(done, is_shortage ? new Shortage() : new CheckFailure('proxy_failed'), null);
        return;
      }
      const target = targetOf(endpoint.host, endpoint.port, found.addresses);
      const secure_proxy = endpoint.protocol === 'https:';
      const outer = secure_proxy
        ? tls.connect({ ...target, ...this.#identity(endpoint.host), secureContext: this.#context() })
        : net.connect(target);
      this.#onceConnected(owner, outer, secure_proxy, (error) => {
        if (error !== null) return done(isShortage(error) ? error : new CheckFailure('proxy_failed'), null);
        owner.fault = 'no_way';
        requestTunnel(outer, endpoint, address, portOf(options), (failure) => {
          if (failure === null) return tunnelled(outer);
          owner.fault = failure.reason;
          done(new CheckFailure(failure.code), null);
        });
      });
    });
  }

  #ready(owner: SocketOwner, socket: net.Socket, secure: boolean, error: Error | null, done: ConnectDone): void {
    if (error !== null) {
      done(error, null);
      return;
    }
    owner.made++;
    // Only now is the server known to be who it says: a session kept earlier would skip that question.
    if (secure) socket.on('session', (session: Buffer) => this.#sessions.set(owner.origin, session));
    done(null, socket);
  }

  /** `then` is called once: the socket is connected, or why it is not. */
  #onceConnected(owner: SocketOwner, socket: net.Socket, secure: boolean, then: (error: Error | null) => void): void {
    owner.socket = socket;
    this.#open.add(socket);
    let pending = true;
    socket.once(secure ? 'secureConnect' : 'connect', () => {
      if (!pending) return;
      pending = false;
      then(null);
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EMFILE' || error.code === 'ENFILE') this.#out_of_files();
      if (!pending) return;
      pending = false;
      then(error);
    });
    socket.once('close', () => {
      this.#open.delete(socket);
      if (owner.socket === socket) owner.socket = null;
      if (!pending) return;
      pending = false;
      then(new CheckFailure('connection_reset'));
    });
  }

  #tls(owner: SocketOwner, { hostname }: ConnectOptions): tls.ConnectionOptions {
    return {
      ...this.#identity(hostname),
      secureContext: this.#context(),
      session: this.#sessions.get(owner.origin),
    };
  }

  #identity(hostname: string): tls.ConnectionOptions {
    return {
      servername: net.isIP(hostname) === 0 ? hostname.replace(/\.$/, '') : '',
      ALPNProtocols: ['http/1.1'],
      // An address in the URL is what the certificate must name.
      checkServerIdentity: (_name, certificate) => tls.checkServerIdentity(hostname, certificate),
    };
  }

  #context(): tls.SecureContext {
    this.#secure_context ??= tls.createSecureContext(this.#settings.ca === undefined ? {} : { ca: this.#settings.ca });
    return this.#secure_context;
  }
}

function portOf({ port, protocol }: ConnectOptions): number {
  return Number(port) || (protocol === 'https:' ? 443 : 80);
}

function targetOf(hostname: string, port: number, addresses: readonly string[]): net.TcpNetConnectOpts {
  const target: net.TcpNetConnectOpts = { host: addresses[0]!, port, noDelay: true };
  if (addresses.length > 1) {
    // Node tries the families in turn (RFC 8305), among the vetted addresses only.
    target.host = hostname;
    target.autoSelectFamily = true;
    target.autoSelectFamilyAttemptTimeout = NEXT_ADDRESS_MS;
    target.lookup = (_name, _options, answer) => {
      answer(
        null,
        addresses.map((address) => ({ address, family: net.isIP(address) })),
      );
    };
  }
  return target;
}
