// Opens sockets for a name: only to vetted addresses, even if the name resolves to others meanwhile; direct or through a
// proxy; and with TLS for the host of the URL. Decision 137 says why.
import { constants } from 'node:crypto';
import net from 'node:net';
import tls from 'node:tls';
import { LRUCache } from 'lru-cache';
import type { PooledProxy } from '../proxies/pool.ts';
import type { Fault } from '../proxies/tries.ts';
import { requestTunnel } from '../proxies/tunnel.ts';
import { CheckFailure, errorCodeOf, isShortage, Shortage } from './errors.ts';
import { headWriter } from './request-heads.ts';
import type { Resolver, Vetted } from './resolver.ts';
import type { Sandbox } from './sandbox.ts';
import { issuerOfRefused } from './tls-details.ts';

const CACHED_SESSIONS = 1000;
/** A certificate is verified again after this long: a server may resume the sessions of one that has expired since. */
const SESSION_MS = 10 * 60_000;
/** How long a connection to one of several addresses may take before the next address is tried. */
const NEXT_ADDRESS_MS = 1000;

export interface SocketSettings {
  resolver: Resolver;
  /** Resolves the names of proxies, without the address guard. */
  proxy_resolver: Resolver;
  /** PEM of the authorities that tests trust instead of the system's. */
  ca?: string | undefined;
  /** Milliseconds that never go back. */
  now: () => number;
  sandbox?: Sandbox | undefined;
  /** Names and values that a request has which undici writes without any. */
  usual_headers: readonly string[];
}

/** The connection that owns a socket. */
export interface SocketOwner {
  readonly origin: string;
  readonly destroyed: boolean;
  /** Null: connect to the host directly. */
  readonly proxy: PooledProxy | null;
  /** Index of the address that the proxy gets, modulo their number. */
  readonly address_at: number;
  /** Number of sockets that it has had. */
  made: number;
  /** The part of the path that a failure now would concern. */
  fault: Fault;
  /** Whether the server ended the connection by a TLS alert, as one does that demands a certificate of the client. */
  got_alert: boolean;
  /** Whether to offer HTTP/2 beside HTTP/1.1 or, without TLS, to speak it. */
  readonly offers_h2: boolean;
  /** Whether the latest socket speaks HTTP/2. */
  speaks_h2: boolean;
  socket: net.Socket | null;
}

/** The options that undici passes to a connector. */
export interface ConnectOptions {
  hostname: string;
  protocol: string;
  port: string;
}
export type ConnectDone = (error: Error | null, socket: net.Socket | null) => void;

export class Sockets {
  readonly #settings: SocketSettings;
  readonly #out_of_files: () => void;
  readonly #write: net.Socket['write'];
  readonly #open = new Set<net.Socket>();
  /** TLS sessions to resume, by origin: a full handshake costs more than the rest of a check. */
  readonly #sessions: LRUCache<string, Buffer>;
  #usual_context: tls.SecureContext | null = null;
  #wide_context: tls.SecureContext | null = null;

  /** Calls `out_of_files` when the process or the machine has no file descriptor left for a socket. */
  constructor(settings: SocketSettings, out_of_files: () => void) {
    this.#settings = settings;
    // The time of a session is that of the first one: those that it resumes to verify nothing.
    const perf = { now: settings.now };
    this.#sessions = new LRUCache({ max: CACHED_SESSIONS, ttl: SESSION_MS, noUpdateTTL: true, perf });
    this.#out_of_files = out_of_files;
    this.#write = headWriter(settings.usual_headers);
  }

  /** Resolves when all sockets are closed. */
  async closed(): Promise<void> {
    await Promise.all(Array.from(this.#open, (socket) => new Promise((closed) => socket.once('close', closed))));
  }

  /** undici's connector for the connections of one owner. */
  connect(owner: SocketOwner, options: ConnectOptions, done: ConnectDone): void {
    const { resolver, sandbox } = this.#settings;
    const resolved = (vetted: Vetted): void => {
      if (owner.destroyed) return void done(new CheckFailure('connect_timeout'), null);
      if (!vetted.ok) {
        const failure = vetted.code === 'shortage' ? new Shortage() : new CheckFailure(vetted.code);
        // undici is still inside the call to `connect`, so it gets the failure in the next tick.
        process.nextTick(done, failure, null);
        return;
      }
      const to = options.hostname === sandbox?.host ? { ...options, port: String(sandbox.port) } : options;
      if (owner.proxy === null) this.#direct(owner, to, vetted.addresses, done);
      else this.#viaProxy(owner.proxy, owner, to, vetted.addresses, done);
    };
    // The check had its name resolved before it took its slot.
    const recent = resolver.recent(options.hostname);
    if (recent === null) resolver.resolve(options.hostname, resolved);
    else resolved(recent);
  }

  #direct(owner: SocketOwner, options: ConnectOptions, addresses: readonly string[], done: ConnectDone): void {
    const secure = options.protocol === 'https:';
    const target = targetOf(options.hostname, portOf(options), addresses);
    const session = secure ? this.#sessions.get(owner.origin) : undefined;
    const socket = secure ? connectTls({ ...target, ...this.#tls(owner, options), session }) : net.connect(target);
    this.#onceConnected(owner, socket, secure, (error) => {
      if (error !== null && session !== undefined && !owner.destroyed && isOfHandshake(error)) {
        // Some servers fail for the session alone.
        this.#sessions.delete(owner.origin);
        owner.got_alert = false;
        this.#direct(owner, options, addresses, done);
        return;
      }
      this.#ready(owner, socket, secure, error, done);
    });
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
      const session = this.#sessions.get(owner.origin);
      const inner = connectTls({ socket: outer, ...this.#tls(owner, options), session });
      this.#onceConnected(owner, inner, true, (error) => {
        if (error !== null) this.#sessions.delete(owner.origin);
        this.#ready(owner, inner, true, error, done);
      });
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
        ? connectTls({ ...target, ...this.#identity(endpoint.host), secureContext: this.#context(false) })
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
    // A server that speaks only HTTP/2 without TLS is not asked whether it does (RFC 9113, 3.3). undici goes by this property.
    if (!secure && owner.offers_h2) Object.assign(socket, { alpnProtocol: 'h2' });
    owner.speaks_h2 = (socket as tls.TLSSocket).alpnProtocol === 'h2';
    if (secure) this.#keepSession(owner.origin, socket as tls.TLSSocket);
    if (!owner.speaks_h2 && !owner.offers_h2) socket.write = this.#write;
    done(null, socket);
  }

  /** The certificate is verified by now. A session stored earlier would skip the verification. */
  #keepSession(origin: string, socket: tls.TLSSocket): void {
    socket.on('session', (session: Buffer) => this.#sessions.set(origin, session));
    // Older protocols had theirs in the handshake.
    const session = socket.getProtocol() === 'TLSv1.3' ? undefined : socket.getSession();
    if (session !== undefined) this.#sessions.set(origin, session);
  }

  /** Calls `then` once: with null when the socket is connected, else with the error. */
  #onceConnected(owner: SocketOwner, socket: net.Socket, secure: boolean, then: (error: Error | null) => void): void {
    owner.socket = socket;
    this.#open.add(socket);
    let pending = true;
    let issuer: string | undefined;
    // A refused certificate is gone with its connection before the error comes.
    if (secure) socket.prependOnceListener('secure', () => (issuer = issuerOfRefused(socket as tls.TLSSocket)));
    socket.once(secure ? 'secureConnect' : 'connect', () => {
      if (!pending) return;
      pending = false;
      then(null);
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EMFILE' || error.code === 'ENFILE') this.#out_of_files();
      if (error.code?.startsWith('ERR_SSL_') === true && error.code.includes('_ALERT_')) owner.got_alert = true;
      if (!pending) return;
      pending = false;
      if (issuer !== undefined) Object.assign(error, { issuer });
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
      ...(owner.offers_h2 ? { ALPNProtocols: ['h2', 'http/1.1'] } : {}),
      secureContext: this.#context(owner.offers_h2),
    };
  }

  #identity(hostname: string): tls.ConnectionOptions {
    return {
      servername: net.isIP(hostname) === 0 ? hostname.replace(/\.$/, '') : '',
      ALPNProtocols: ['http/1.1'],
      // For a URL with an IP address the certificate must name the address.
      checkServerIdentity: (_name, certificate) => identityError(hostname, certificate),
    };
  }

  /** `is_wide`: with all that browsers offer, after a handshake that failed. */
  #context(is_wide: boolean): tls.SecureContext {
    const { ca } = this.#settings;
    const options = ca === undefined ? AS_BROWSERS : { ...AS_BROWSERS, ca };
    if (!is_wide) return (this.#usual_context ??= tls.createSecureContext(options));
    return (this.#wide_context ??= tls.createSecureContext({ ...options, ecdhCurve: ALL_GROUPS }));
  }
}

/**
 * For `checkServerIdentity` Node turns each certificate of the chain into an object, with its key and three fingerprints, which is a
 * seventh of the cost of a handshake. This socket reads the names of the server's own.
 */
function connectTls(options: tls.ConnectionOptions): tls.TLSSocket {
  const socket = tls.connect(options);
  const names = () => ({ subject: {}, subjectaltname: socket.getPeerX509Certificate()?.subjectAltName });
  socket.getPeerCertificate = names as typeof socket.getPeerCertificate;
  return socket;
}

/** As browsers do, it ignores the common name of a certificate, where Node reads it when there are no other names. */
function identityError(hostname: string, certificate: tls.PeerCertificate): Error | undefined {
  if (certificate.subjectaltname !== undefined) return tls.checkServerIdentity(hostname, certificate);
  const reason = 'it names none but in its common name, which browsers ignore. Get one with alternative names.';
  return Object.assign(new Error(reason), { code: 'ERR_TLS_CERT_ALTNAME_INVALID', reason });
}

/**
 * Browsers accept servers that do not know RFC 5746; a client that does not renegotiate is in no danger. Browsers do not offer the DHE
 * ciphers, for which old servers take keys that are too short. They offer a post-quantum key (X25519MLKEM768), which this checker does
 * not at first: it takes a fifth of the cost of a handshake, and a hello of two packets, which some servers do not read.
 */
const AS_BROWSERS: tls.SecureContextOptions = {
  secureOptions: constants.SSL_OP_LEGACY_SERVER_CONNECT,
  ciphers: `${tls.DEFAULT_CIPHERS}:!kDHE`,
  ecdhCurve: 'X25519:P-256:P-384:P-521',
};
/** OpenSSL sends a share for the first of them, and names the others. It knows the post-quantum one since 3.5. */
const ALL_GROUPS = `${AS_BROWSERS.ecdhCurve}${knowsPostQuantum() ? ':X25519MLKEM768' : ''}`;

function knowsPostQuantum(): boolean {
  const [major = 0, minor = 0] = process.versions.openssl.split('.').map(Number);
  return major > 3 || (major === 3 && minor >= 5);
}

/** Whether an error may be of a TLS handshake, and is not one of its certificates. */
function isOfHandshake(error: Error): boolean {
  const code = errorCodeOf(error, false);
  return code === 'connection_reset' || code === 'tls_failed';
}

/** The port of a URL, which is empty when it is the usual one. Port 0, where nobody can listen, is not. */
function portOf({ port, protocol }: ConnectOptions): number {
  const usual = protocol === 'https:' ? 443 : 80;
  return port === '' ? usual : Number(port);
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
