// A way to a server that can be cut: the driver behind it sees the server go away, as it does when a network breaks.
import { once } from 'node:events';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { freePort, listenOn } from './free-port.ts';

/** To the server, or from it. */
export type Direction = 'to' | 'from';

export class TcpProxy {
  readonly #target: { host: string; port: number };
  readonly #sockets = new Set<Socket>();
  readonly #clients = new WeakSet<Socket>();
  readonly #held = new Set<Direction>();
  #server: Server | null = null;
  port = 0;
  host = '127.0.0.1';
  /** Sees what clients send; the connection is cut after it was passed on, and before the answer, when it says so. */
  cutAfter: (sent: Buffer) => boolean = () => false;

  constructor(target: { host: string; port: number }) {
    this.#target = target;
  }

  async open(): Promise<void> {
    const server = createServer((client) => this.#connect(client));
    this.port ||= await freePort();
    await listenOn(server, this.port, this.host);
    this.#server = server;
  }

  /** The connections that there are stay open and pass nothing any more, as where packets vanish; new ones work. */
  swallow(): void {
    for (const socket of this.#sockets) {
      socket.removeAllListeners('data');
      socket.on('data', () => {});
    }
  }

  /** What is sent in these directions does not arrive, on old connections and new ones, until it is released: packets are dropped, and sent again. */
  hold(directions: readonly Direction[]): void {
    for (const direction of directions) this.#held.add(direction);
    for (const socket of this.#sockets) this.#holdOrRelease(socket);
  }

  release(): void {
    this.#held.clear();
    for (const socket of this.#sockets) this.#holdOrRelease(socket);
  }

  /** Goes on at another address, as when a name leads elsewhere: connections to the old one are broken. */
  async moveTo(host: string): Promise<void> {
    await this.cut();
    this.host = host;
    await this.open();
  }

  /** Every connection is broken, and none is taken until it is opened again. */
  async cut(): Promise<void> {
    this.#server?.close();
    for (const socket of this.#sockets) socket.destroy();
    if (this.#server?.listening) await once(this.#server, 'close');
    this.#server = null;
  }

  #holdOrRelease(socket: Socket): void {
    const direction = this.#clients.has(socket) ? 'to' : 'from';
    if (this.#held.has(direction)) socket.pause();
    else socket.resume();
  }

  #connect(client: Socket): void {
    const server = createConnection(this.#target);
    this.#clients.add(client);
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
    for (const socket of both) this.#holdOrRelease(socket);
  }
}
