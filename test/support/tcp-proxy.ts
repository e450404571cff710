// A way to a server that can be cut: the driver behind it sees the server go away, as it does when a network breaks.
import { once } from 'node:events';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { freePort, listenOn } from './free-port.ts';

export class TcpProxy {
  readonly #target: { host: string; port: number };
  readonly #sockets = new Set<Socket>();
  #server: Server | null = null;
  port = 0;
  /** Sees what clients send; the connection is cut after it was passed on, and before the answer, when it says so. */
  cutAfter: (sent: Buffer) => boolean = () => false;

  constructor(target: { host: string; port: number }) {
    this.#target = target;
  }

  async open(): Promise<void> {
    const server = createServer((client) => this.#connect(client));
    this.port ||= await freePort();
    await listenOn(server, this.port);
    this.#server = server;
  }

  /** The connections that there are stay open and pass nothing any more, as where packets vanish; new ones work. */
  swallow(): void {
    for (const socket of this.#sockets) {
      socket.removeAllListeners('data');
      socket.on('data', () => {});
    }
  }

  /** Every connection is broken, and none is taken until it is opened again. */
  async cut(): Promise<void> {
    this.#server?.close();
    for (const socket of this.#sockets) socket.destroy();
    if (this.#server?.listening) await once(this.#server, 'close');
    this.#server = null;
  }

  #connect(client: Socket): void {
    const server = createConnection(this.#target);
    const both = [client, server];
    let cut = false;
    for (const socket of both) {
      this.#sockets.add(socket);
      socket.on('error', () => {}); // one end broke: `close` follows, and breaks the other
      socket.on('close', () => {
        this.#sockets.delete(socket);
        for (const end of both) end.destroy();
      });
    }
    client.on('data', (sent: Buffer) => {
      server.write(sent);
      cut ||= this.cutAfter(sent);
    });
    server.on('data', (answer: Buffer) => {
      if (cut) client.destroy();
      else client.write(answer);
    });
  }
}
