// Servers of tests: on a free port of loopback, and closed together with their connections.
import { once } from 'node:events';
import type { Server as HttpServer } from 'node:http';
import type { AddressInfo, Server, Socket } from 'node:net';

/** Lets a server listen on a free port, and returns the port. */
export async function listenOnLoopback(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Does nothing for a server that was closed before, like `closeWith`. */
export async function closeHttp(server: HttpServer): Promise<void> {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  server.closeAllConnections();
  await closed;
}

/** Closes a server of which only its caller knows the open connections. */
export async function closeWith(server: Server, sockets: Iterable<Socket>): Promise<void> {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  for (const socket of sockets) socket.destroy();
  await closed;
}
