// The client leaves the socket of an attempt to connect open when it gives the attempt up: a server that stands still takes one more with
// each attempt. They keep a process from ending, and when the server closes one later, the client takes its connection for lost.
import { createConnection } from 'node:net';
import { NodeTransport } from 'nats/lib/src/node_transport.js';

const { prototype } = NodeTransport;
const { close } = prototype;

/** Connects like the client's own, but the attempt has its socket from the beginning. */
prototype.dial = function dial({ hostname, port }) {
  const socket = createConnection(port, hostname).setNoDelay(true);
  this.socket = socket;
  return new Promise((resolve, reject) => {
    let failure: Error | undefined;
    socket.once('connect', () => {
      socket.removeAllListeners();
      resolve(socket);
    });
    socket.on('error', (error) => (failure = error));
    socket.once('close', () => reject(failure));
  });
};

prototype.close = function closeAttempt(error) {
  if (!this.connected) {
    this.socket?.removeAllListeners().on('error', () => {});
    this.socket?.destroy();
  }
  return close.call(this, error);
};
