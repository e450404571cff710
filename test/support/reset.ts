import type { Socket } from 'node:net';

/**
 * Ends a connection by RST. Node leaves the socket open for ever that is reset while it ends, and a worker thread with such a socket
 * never exits: it spins (Node 24.21, `TCPWrap::Reset`).
 */
export function reset(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}
