// A loopback server that speaks no protocol by itself: what happens to a connection is the test's.
import { EventEmitter, once } from 'node:events';
import net, { type Socket } from 'node:net';
import tls, { type TlsOptions } from 'node:tls';
import { closeWith, listenOnLoopback } from './loopback.ts';

export interface RawServer {
  readonly port: number;
  readonly open: number;
  readonly accepted: number;
  /** Resolves when so many connections were accepted. */
  accepts(count: number): Promise<void>;
  /** Resolves when no connection is open. */
  drained(): Promise<void>;
  close(): Promise<void>;
}

/** With `options` it speaks TLS, and `accept` gets connections whose handshake is done. */
export async function startRawServer(accept: (socket: Socket) => void, options?: TlsOptions): Promise<RawServer> {
  const sockets = new Set<Socket>();
  const changes = new EventEmitter();
  let accepted = 0;
  async function until(holds: () => boolean): Promise<void> {
    while (!holds()) await once(changes, 'change');
  }
  const take = (socket: Socket): void => {
    socket.on('error', () => socket.destroy());
    accept(socket);
    // Who does not read does not see that the other end is gone.
    socket.resume();
  };
  const server = options === undefined ? net.createServer(take) : tls.createServer(options, take);
  server.on('tlsClientError', () => {});
  server.on('connection', (socket: Socket) => {
    accepted++;
    sockets.add(socket);
    changes.emit('change');
    socket.on('close', () => {
      sockets.delete(socket);
      changes.emit('change');
    });
  });
  const port = await listenOnLoopback(server);
  return {
    port,
    get open() {
      return sockets.size;
    },
    get accepted() {
      return accepted;
    },
    accepts: (count) => until(() => accepted >= count),
    drained: () => until(() => sockets.size === 0),
    close: () => closeWith(server, sockets),
  };
}
