// A proxy on a loopback address that tunnels to where it is asked: HTTP CONNECT, the same over TLS, or SOCKS5.
import net, { type Socket } from 'node:net';
import tls from 'node:tls';
import { closeWith, listenOnLoopback } from './loopback.ts';
import { GOOD, SERVER_KEY } from './test-certificates.ts';

export interface TestProxy {
  /** As a line of a proxy list, with the credentials that it wants. */
  readonly url: string;
  readonly port: number;
  /** What it was asked for, `address:port` each, in order. */
  readonly asked: string[];
  behave(behaviour: ProxyBehaviour): void;
  close(): Promise<void>;
}

export type ProxyBehaviour =
  | 'tunnel'
  /** Takes connections and says nothing. */
  | 'hang'
  /** Closes when it is asked for a target. */
  | 'hang up'
  /** Says that there is a tunnel, and closes it when something comes through. */
  | 'break off'
  /** Answers this: a status, or a reply of SOCKS5. */
  | { refuse: number };

export interface TestProxyOptions {
  kind?: 'http' | 'https' | 'socks5';
  /** `user:password` that it demands. */
  credentials?: string;
  behaviour?: ProxyBehaviour;
  /** Where it leads in truth, whatever it is asked for. */
  leads_to?: { port: number };
}

interface Asked {
  address: string;
  port: number;
  /** To tell the client: 0 for a tunnel. */
  answer(refused: number): void;
  rest: Buffer;
}

export async function startTestProxy(options: TestProxyOptions = {}): Promise<TestProxy> {
  const { kind = 'http', credentials = '', leads_to } = options;
  let behaviour = options.behaviour ?? 'tunnel';
  const sockets = new Set<Socket>();
  const asked: string[] = [];

  const accept = (socket: Socket): void => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket)).on('error', () => socket.destroy());
    const ask = kind === 'socks5' ? askedBySocks5 : askedByConnect;
    ask(socket, credentials).then(
      (wanted) => serve(socket, wanted),
      () => socket.destroy(),
    );
  };

  function serve(socket: Socket, { address, port, answer, rest }: Asked): void {
    asked.push(`${address}:${port}`);
    if (behaviour === 'hang') return;
    if (behaviour === 'hang up') return void socket.destroy();
    if (behaviour === 'break off') {
      answer(0);
      return void socket.once('data', () => socket.destroy());
    }
    if (behaviour !== 'tunnel') {
      answer(behaviour.refuse);
      return void socket.end();
    }
    const target = net.connect(leads_to?.port ?? port, address);
    sockets.add(target);
    let tunnelled = false;
    target.once('connect', () => {
      tunnelled = true;
      answer(0);
      target.write(rest);
      socket.pipe(target).pipe(socket);
    });
    target.once('error', () => {
      if (!tunnelled) answer(kind === 'socks5' ? 5 : 502);
      socket.end();
    });
    target.once('close', () => {
      sockets.delete(target);
      socket.destroy();
    });
    socket.once('close', () => target.destroy());
  }

  const server =
    kind === 'https' ? tls.createServer({ cert: GOOD, key: SERVER_KEY }, accept) : net.createServer(accept);
  const port = await listenOnLoopback(server);
  return {
    url: `${kind}://${credentials === '' ? '' : `${credentials}@`}127.0.0.1:${port}`,
    port,
    asked,
    behave(next) {
      behaviour = next;
    },
    async close() {
      if (!server.listening) return;
      await closeWith(server, sockets);
    },
  };
}

async function askedByConnect(socket: Socket, credentials: string): Promise<Asked> {
  const bytes = await read(socket, (received) => received.includes('\r\n\r\n'));
  const end = bytes.indexOf('\r\n\r\n') + 4;
  const head = bytes.toString('latin1', 0, end);
  const target = /^CONNECT (.*):(\d+) HTTP\/1\.1\r\n/.exec(head);
  if (target === null) throw new Error(head);
  const answer = (status: number) =>
    void socket.write(status === 0 ? 'HTTP/1.1 200 Connected\r\n\r\n' : `HTTP/1.1 ${status} No\r\n\r\n`);
  const given = /\r\nproxy-authorization: Basic (\S+)\r\n/i.exec(head)?.[1] ?? '';
  if (Buffer.from(given, 'base64').toString() !== decodeURIComponent(credentials)) {
    socket.end('HTTP/1.1 407 No\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n');
    throw new Error('407');
  }
  return { address: target[1]!.replace(/^\[|\]$/g, ''), port: Number(target[2]), answer, rest: bytes.subarray(end) };
}

async function askedBySocks5(socket: Socket, credentials: string): Promise<Asked> {
  const greeting = await read(socket, (received) => received.length >= 2 && received.length >= 2 + received[1]!);
  const method = credentials === '' ? 0 : 2;
  if (!greeting.subarray(2).includes(method)) {
    socket.end(Buffer.from([5, 255]));
    throw new Error('no method');
  }
  socket.write(Buffer.from([5, method]));
  if (method === 2) {
    const [user = '', pass = ''] = credentials.split(':').map(decodeURIComponent);
    const wanted = Buffer.from(
      `\x01${String.fromCharCode(user.length)}${user}${String.fromCharCode(pass.length)}${pass}`,
    );
    const given = await read(socket, (received) => received.length >= wanted.length);
    if (!given.equals(wanted)) {
      socket.end(Buffer.from([1, 1]));
      throw new Error('wrong credentials');
    }
    socket.write(Buffer.from([1, 0]));
  }
  const request = await read(socket, (received) => received.length >= 4 && received.length >= sizeOf(received));
  if (request[3] === 3) throw new Error('a name: the proxy must be told addresses');
  const size = sizeOf(request);
  const bytes = request.subarray(4, size - 2);
  const address = size === 10 ? bytes.join('.') : bytes.toString('hex').replace(/(.{4})(?=.)/g, '$1:');
  // In two pieces, as a network may deliver them.
  const answer = (code: number) => {
    socket.write(Buffer.from([5, code, 0]));
    setImmediate(() => socket.writable && socket.write(Buffer.from([1, 0, 0, 0, 0, 0, 0])));
  };
  return { address, port: request.readUInt16BE(size - 2), answer, rest: request.subarray(size) };
}

const sizeOf = (request: Buffer) => 4 + (request[3] === 4 ? 16 : 4) + 2;

/** What came so far, once it is enough. */
function read(socket: Socket, enough: (received: Buffer) => boolean): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let received = Buffer.alloc(0);
    const more = (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      if (!enough(received)) return;
      socket.off('data', more);
      resolve(received);
    };
    socket.on('data', more);
    socket.once('close', () => reject(new Error('closed')));
  });
}
