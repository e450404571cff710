// Opens a tunnel through a proxy: CONNECT by undici, SOCKS5 by `socks5.ts`. The proxy gets a vetted IP address and never the
// name, so that it cannot resolve the name to another address.
import net from 'node:net';
import { Client } from 'undici';
import type { ProxyEndpoint } from './endpoint.ts';
import { requestSocks5 } from './socks5.ts';
import { type TunnelDone, TunnelFailure } from './tunnel-failure.ts';

const MAX_ANSWER_HEADER_BYTES = 16 * 1024;
/** Statuses by which a proxy refuses us, whatever the target: not paid, not authorized, too many requests. */
const DOWN: ReadonlySet<number> = new Set([402, 407, 429]);
const UNREACHED: ReadonlyMap<number, TunnelFailure['code']> = new Map([
  [502, 'connection_refused'],
  [503, 'connection_refused'],
  [504, 'connect_timeout'],
]);

/**
 * Requests a tunnel over `socket`, which is connected to the proxy. `done(null)` makes the socket the tunnel. Destroying the
 * socket ends the request.
 */
export function requestTunnel(
  socket: net.Socket,
  proxy: ProxyEndpoint,
  address: string,
  port: number,
  done: TunnelDone,
): void {
  if (proxy.protocol === 'socks5:') requestSocks5(socket, proxy, address, port, done);
  else requestConnect(socket, proxy, address, port, done);
}

function requestConnect(
  socket: net.Socket,
  { username, password }: ProxyEndpoint,
  address: string,
  port: number,
  done: TunnelDone,
): void {
  const authority = `${net.isIPv6(address) ? `[${address}]` : address}:${port}`;
  const headers: { [name: string]: string } = { host: authority };
  if (username !== '' || password !== '') {
    headers['proxy-authorization'] = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  }
  const client = new Client('http://proxy', {
    // undici is still inside the call to `connect`, so it gets the socket in the next tick.
    connect: (_options, connected) => process.nextTick(connected, null, socket),
    // The engine's sweep enforces the time limits.
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: MAX_ANSWER_HEADER_BYTES,
  });
  client.connect({ path: authority, headers }, (error, answer) => {
    if (error !== null) {
      socket.destroy();
      return done(new TunnelFailure('broke_off'));
    }
    const { statusCode: status } = answer;
    if (status >= 200 && status < 300) return done(null);
    socket.destroy();
    done(DOWN.has(status) ? new TunnelFailure('down') : new TunnelFailure('no_way', UNREACHED.get(status)));
  });
}
