// The client side of SOCKS5 (RFC 1928) with user and password (RFC 1929). It sends CONNECT with IP addresses only.
import assert from 'node:assert';
import type { Socket } from 'node:net';
import { parseAddress } from '../../net/cidr.ts';
import type { ProxyEndpoint } from './endpoint.ts';
import { type TunnelDone, TunnelFailure } from './tunnel-failure.ts';

const VERSION = 5;
const AUTH_VERSION = 1;
const NO_AUTH = 0;
const PASSWORD = 2;
const CONNECT = 1;
const IPV4 = 1;
const NAME = 3;
const IPV6 = 4;

/** Replies that report a fault of the target. Any other reply but 0 is the proxy's own refusal. */
const UNREACHED: ReadonlyMap<number, 'connection_refused' | 'connect_timeout'> = new Map([
  [3, 'connection_refused'], // network unreachable
  [4, 'connection_refused'], // host unreachable
  [5, 'connection_refused'],
  [6, 'connect_timeout'], // TTL expired
]);

export function requestSocks5(
  socket: Socket,
  { username, password }: ProxyEndpoint,
  address: string,
  port: number,
  done: TunnelDone,
): void {
  const has_credentials = username !== '' || password !== '';
  let received: Buffer = Buffer.alloc(0);
  /** Parses one message at the front of `received`. Returns its bytes, 0 while it is incomplete, or a failure. */
  let next: (bytes: Buffer) => number | TunnelFailure = method;

  socket.on('data', read);
  socket.once('close', closed);
  socket.write(Buffer.from(has_credentials ? [VERSION, 2, PASSWORD, NO_AUTH] : [VERSION, 1, NO_AUTH]));

  function read(chunk: Buffer): void {
    received = Buffer.concat([received, chunk]);
    for (;;) {
      const current = next;
      const taken = current(received);
      if (taken === 0) return;
      if (typeof taken === 'number') received = received.subarray(taken);
      if (typeof taken !== 'number' || current === reply) {
        end(typeof taken === 'number' ? null : taken);
        return;
      }
    }
  }

  function method([version, chosen]: Buffer): number | TunnelFailure {
    if (version === undefined || chosen === undefined) return 0;
    if (version !== VERSION) return new TunnelFailure('down');
    if (chosen === NO_AUTH) ask();
    else if (chosen === PASSWORD && has_credentials) {
      const [user, pass] = [Buffer.from(username), Buffer.from(password)];
      socket.write(Buffer.concat([Buffer.from([AUTH_VERSION, user.length]), user, Buffer.from([pass.length]), pass]));
      next = authenticated;
    } else return new TunnelFailure('down');
    return 2;
  }

  function authenticated([version, status]: Buffer): number | TunnelFailure {
    if (version === undefined || status === undefined) return 0;
    if (status !== 0) return new TunnelFailure('down');
    ask();
    return 2;
  }

  function ask(): void {
    const bytes = parseAddress(address);
    assert(bytes !== null);
    socket.write(
      Buffer.from([VERSION, CONNECT, 0, bytes.length === 4 ? IPV4 : IPV6, ...bytes, port >> 8, port & 0xff]),
    );
    next = reply;
  }

  function reply(bytes: Buffer): number | TunnelFailure {
    const [version, status, , kind, first] = bytes;
    if (version === undefined || status === undefined) return 0;
    if (version !== VERSION) return new TunnelFailure('down');
    if (status !== 0) return new TunnelFailure('no_way', UNREACHED.get(status));
    if (first === undefined) return 0;
    const length = kind === IPV4 ? 4 : kind === IPV6 ? 16 : kind === NAME ? 1 + first : Number.NaN;
    if (Number.isNaN(length)) return new TunnelFailure('down');
    const size = 4 + length + 2;
    return bytes.length < size ? 0 : size;
  }

  function closed(): void {
    end(new TunnelFailure(next === reply ? 'broke_off' : 'down'));
  }

  function end(failure: TunnelFailure | null): void {
    socket.off('data', read);
    socket.off('close', closed);
    if (failure !== null) socket.destroy();
    // Bytes after the reply come from the target.
    else if (received.length > 0) socket.unshift(received);
    done(failure);
  }
}
