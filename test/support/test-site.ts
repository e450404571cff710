// A site on a loopback address that does odd things: each path is one behaviour. It speaks in bytes, so that it can
// break off, lie and drip where a real server would not.
import { once } from 'node:events';
import net, { type AddressInfo, type Socket } from 'node:net';
import tls from 'node:tls';
import zlib from 'node:zlib';
import { closeWith } from './loopback.ts';
import { reset } from './reset.ts';
import { SERVER_KEY } from './test-certificates.ts';

export interface TestRequest {
  path: string;
  /** Lower-case names. */
  headers: { readonly [name: string]: string };
  /** How often this path was asked for, this time included. */
  visit: number;
}

export interface TestSite {
  readonly port: number;
  /** `http://127.0.0.1:<port>`, or https, or another address. */
  readonly origin: string;
  /** Sockets open now, and accepted so far. */
  readonly open: number;
  readonly accepted: number;
  /** The most requests that were unanswered at one time. */
  readonly most_at_once: number;
  /** The paths asked for, in order. */
  readonly requests: string[];
  /** Resolves when no socket is open. */
  drained(): Promise<void>;
  close(): Promise<void>;
}

/** What a path does with the connection once a request for it is there. */
export type Behaviour = (request: TestRequest, socket: Socket) => void;

export interface TestSiteOptions {
  /** Paths beside or over the usual ones. A path that ends with `*` is for all that begin so. */
  behaviours?: { readonly [path: string]: Behaviour };
  /** PEM: speaks TLS with this certificate. */
  certificate?: string;
  /** The loopback address to listen on. */
  host?: string;
}

export function reply(
  socket: Socket,
  status: number,
  headers: { [name: string]: string },
  body: string | Buffer = '',
): void {
  const bytes = Buffer.from(body);
  const lines = Object.entries({ 'Content-Length': String(bytes.length), ...headers }).map(
    ([k, v]) => `${k}: ${v}\r\n`,
  );
  socket.write(Buffer.concat([Buffer.from(`HTTP/1.1 ${status} Status\r\n${lines.join('')}\r\n`, 'latin1'), bytes]));
}

export function html(
  title: string,
  heading: string,
  text = 'Words that fill the page with something to read. '.repeat(8),
) {
  return `<!doctype html><html><head><title>${title}</title></head><body><h1>${heading}</h1><p>${text}</p></body></html>`;
}

export function page(
  socket: Socket,
  body: string | Buffer,
  headers: { [name: string]: string } = {},
  status = 200,
): void {
  reply(socket, status, { 'Content-Type': 'text/html; charset=utf-8', ...headers }, body);
}

/** A redirect to `location`. */
export function to(location: string, status = 302, headers: { [name: string]: string } = {}): Behaviour {
  return (_request, socket) => reply(socket, status, { Location: location, ...headers });
}

export function raw(text: string, then: (socket: Socket) => void = () => {}): Behaviour {
  return (_request, socket) => {
    socket.write(Buffer.from(text, 'latin1'));
    then(socket);
  };
}

export function drip(socket: Socket, bytes: string | Buffer, every_ms: number): void {
  const timer = setInterval(() => socket.write(bytes), every_ms);
  socket.once('close', () => clearInterval(timer));
}

const fine = html('Welcome to the shop', 'Things to buy');
const not_found = html('Page not found | Shop', 'Page not found');
const encoded = (name: string, body: Buffer): Behaviour => {
  return (_request, socket) => page(socket, body, { 'Content-Encoding': name });
};

export const BEHAVIOURS: { readonly [path: string]: Behaviour } = {
  '/': (_request, socket) => page(socket, fine),
  '/fine': (_request, socket) => page(socket, fine),
  '/chunked': raw(
    'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
  ),
  '/until-close': raw(`HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n${fine}`, (socket) => socket.end()),
  '/no-content': raw('HTTP/1.1 204 No Content\r\n\r\n'),
  '/early-hints': raw(
    `HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nok`,
  ),
  '/image': (_request, socket) => reply(socket, 200, { 'Content-Type': 'image/png' }, Buffer.alloc(1000)),
  '/big-image': raw('HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 999999999\r\n\r\n', (socket) =>
    drip(socket, Buffer.alloc(65_536), 1),
  ),
  '/endless-image': raw('HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n', (s) => drip(s, Buffer.alloc(16_384), 1)),
  '/endless': raw('HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>Endless</title>', (socket) =>
    drip(socket, 'and so on '.repeat(1000), 1),
  ),
  '/stalled-body': raw('HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n<title>Well'),
  '/slow-body': raw('HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n', (socket) => drip(socket, 'x', 20)),
  '/gzip': encoded('gzip', zlib.gzipSync(fine)),
  '/br': encoded('br', zlib.brotliCompressSync(fine)),
  '/deflate': encoded('deflate', zlib.deflateSync(fine)),
  '/raw-deflate': encoded('deflate', zlib.deflateRawSync(fine)),
  '/zstd': encoded('zstd', zlib.zstdCompressSync(fine)),
  '/not-gzip': encoded('gzip', Buffer.from(fine)),
  '/bomb': encoded('gzip', zlib.gzipSync(Buffer.alloc(100_000_000), { level: 9 })),

  '/once': to('/fine', 301),
  '/relative/a': to('../fine'),
  '/relative/query': to('?b=1'),
  '/relative/query?b=1': (_request, socket) => page(socket, fine),
  '/fragment': to('/fine#part'),
  '/hop-3': to('/hop-2', 307),
  '/hop-2': to('/hop-1', 308),
  '/hop-1': to('/fine', 303),
  '/count/*': (request, socket) => {
    const left = Number(request.path.slice('/count/'.length));
    if (left === 0) page(socket, fine);
    else reply(socket, 302, { Location: `/count/${left - 1}` });
  },
  '/loop': to('/loop'),
  '/loop-a': to('/loop-b'),
  '/loop-b': to('/loop-a'),
  '/cookie': (request, socket) => {
    if (request.headers.cookie === 'seen=yes') page(socket, fine);
    else reply(socket, 302, { Location: '/cookie', 'Set-Cookie': 'seen=yes; Path=/; HttpOnly' });
  },
  '/cookie-secure': to('/cookie-secure', 302, { 'Set-Cookie': 'seen=yes; Secure' }),
  '/cookie-count': (request, socket) => {
    const count = Number(/n=(\d+)/.exec(request.headers.cookie ?? '')?.[1] ?? 0);
    reply(socket, 302, { Location: '/cookie-count', 'Set-Cookie': `n=${count + 1}` });
  },
  '/longwinded/*': ({ path }, socket) => {
    const left = Number(path.split('/')[2]);
    if (left === 0) page(socket, html('Things', 'Things'));
    else reply(socket, 302, { Location: `/longwinded/${left - 1}/${'x'.repeat(20_000)}` });
  },
  '/no-location': (_request, socket) => reply(socket, 301, {}),
  '/to-mail': to('mailto:someone@example.com'),
  '/to-nonsense': to('http://[nonsense'),
  '/to-private': to('http://10.0.0.1/secret'),
  '/to-metadata': to('http://169.254.169.254/latest/meta-data/'),
  '/to-404': to('/404'),
  '/to-utf8': to(Buffer.from('/größe').toString('latin1')),
  '/gr%C3%B6%C3%9Fe': (_request, socket) => page(socket, fine),

  '/401': (_request, socket) => page(socket, html('Sign in', 'Sign in'), { 'WWW-Authenticate': 'Basic' }, 401),
  '/403': (_request, socket) => page(socket, html('Forbidden', 'Forbidden'), {}, 403),
  '/404': (_request, socket) => page(socket, not_found, {}, 404),
  '/410': (_request, socket) => page(socket, not_found, {}, 410),
  '/418': (_request, socket) => reply(socket, 418, {}),
  '/500': (_request, socket) => page(socket, html('Oh no', 'Oh no'), {}, 500),
  '/503': (_request, socket) => reply(socket, 503, { 'Retry-After': '1' }),
  '/503-once': (request, socket) => {
    if (request.visit === 1) reply(socket, 503, { 'Retry-After': '1' });
    else page(socket, fine);
  },
  '/429-twice': (request, socket) => (request.visit < 3 ? reply(socket, 429, {}) : page(socket, fine)),
  '/999': (_request, socket) => reply(socket, 999, {}),
  '/challenge': (_request, socket) =>
    page(socket, html('Just a moment...', 'Checking your browser'), { 'CF-Mitigated': 'challenge' }, 403),
  '/challenge-gzip': (_request, socket) =>
    page(
      socket,
      zlib.gzipSync(html('', '') + '<script src="https://ct.captcha-delivery.com/c.js"></script>'),
      { 'Content-Encoding': 'gzip' },
      403,
    ),
  '/challenge-503': (_request, socket) =>
    page(socket, '<script src="/cdn-cgi/challenge-platform/h/g/orchestrate"></script>', {}, 503),

  '/silent': () => {},
  '/slow-headers': raw('HTTP/1.1 200 OK\r\n', (socket) => drip(socket, 'X-More: and more\r\n', 20)),
  '/huge-headers': raw(`HTTP/1.1 200 OK\r\n${`X-Long: ${'x'.repeat(8000)}\r\n`.repeat(20)}\r\n`),
  '/nonsense': raw('This is not HTTP, whatever it is\r\n\r\n'),
  '/short': raw(`HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5000\r\n\r\n${fine}`, (s) => s.end()),
  '/long': raw(`HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 10\r\n\r\n${fine}`),
  '/reset': (_request, socket) => reset(socket),
  '/hang-up': (_request, socket) => socket.end(),
  '/reset-once': (request, socket) => (request.visit === 1 ? reset(socket) : page(socket, fine)),
  '/reset-in-headers': raw('HTTP/1.1 200 OK\r\nContent-Ty', (socket) => setImmediate(() => reset(socket))),
  '/reset-in-body': raw('HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 900\r\n\r\n<p>', (socket) =>
    setImmediate(() => reset(socket)),
  ),

  '/soft/*': (_request, socket) => page(socket, not_found),
  '/soft-russian/*': (_request, socket) => {
    const text = Buffer.from(
      '<title>\xd1\xf2\xf0\xe0\xed\xe8\xf6\xe0 \xed\xe5 \xed\xe0\xe9\xe4\xe5\xed\xe0</title>',
      'latin1',
    );
    page(socket, text, { 'Content-Type': 'text/html; charset=windows-1251' });
  },
  '/honest/gone': (_request, socket) => page(socket, not_found),
  '/honest/how-to': (_request, socket) =>
    page(socket, html('How to design the best "page not found" experience for a shop', 'Twelve ideas')),
  '/honest/titled': (_request, socket) => page(socket, html('Page not found', 'The film of 1999')),
  '/honest/body': (_request, socket) =>
    page(socket, html('Help', 'Help', 'Page not found? Not found! 404! '.repeat(20))),
  '/app/*': (_request, socket) => page(socket, '<!doctype html><title>App</title><div id=root></div>'),
  '/home/*': to('/'),
  '/moved/*': (request, socket) => (request.path === '/moved/a' ? to('/')(request, socket) : reply(socket, 404, {})),
  '/lost/*': to('/errors/not-found.html'),
  '/errors/not-found.html': (_request, socket) => page(socket, html('Sorry', 'Sorry')),
};

const nothing_here: Behaviour = (_request, socket) => reply(socket, 404, {});

export async function startTestSite(options: TestSiteOptions = {}): Promise<TestSite> {
  const behaviours = { ...BEHAVIOURS, ...options.behaviours };
  const prefixes = Object.keys(behaviours).filter((path) => path.endsWith('*'));
  const sockets = new Set<Socket>();
  const visits = new Map<string, number>();
  const requests: string[] = [];
  let accepted = 0;
  let at_once = 0;
  let most_at_once = 0;

  function behaviourOf(path: string): Behaviour {
    const [without_query = ''] = path.split('?');
    const prefix = prefixes.find((each) => path.startsWith(each.slice(0, -1))) ?? '';
    return behaviours[path] ?? behaviours[without_query] ?? behaviours[prefix] ?? nothing_here;
  }

  function accept(socket: Socket): void {
    accepted++;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    // Clients break off here all the time.
    socket.on('error', () => socket.destroy());
    let text = '';
    let answering = false;
    const write = socket.write.bind(socket) as (chunk: unknown) => boolean;
    const answered = (): void => {
      if (answering) at_once--;
      answering = false;
    };
    socket.write = ((chunk: unknown) => {
      answered();
      return write(chunk);
    }) as typeof socket.write;
    socket.on('close', answered);
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      for (let end = text.indexOf('\r\n\r\n'); end >= 0; end = text.indexOf('\r\n\r\n')) {
        const [line = '', ...fields] = text.slice(0, end).split('\r\n');
        text = text.slice(end + 4);
        const path = line.split(' ')[1] ?? '';
        const headers = Object.fromEntries(
          fields.map((field) => [
            field.slice(0, field.indexOf(':')).toLowerCase(),
            field.slice(field.indexOf(':') + 1).trim(),
          ]),
        );
        requests.push(path);
        visits.set(path, (visits.get(path) ?? 0) + 1);
        answering = true;
        most_at_once = Math.max(most_at_once, ++at_once);
        behaviourOf(path)({ path, headers, visit: visits.get(path)! }, socket);
      }
    });
  }

  const { certificate, host = '127.0.0.1' } = options;
  const server =
    certificate === undefined
      ? net.createServer({ noDelay: true }, accept)
      : tls.createServer({ cert: certificate, key: SERVER_KEY }, accept);
  // A client that does not trust the certificate.
  server.on('tlsClientError', () => {});
  server.listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  return {
    port,
    origin: `${certificate === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`,
    get open() {
      return sockets.size;
    },
    get accepted() {
      return accepted;
    },
    get most_at_once() {
      return most_at_once;
    },
    requests,
    async drained() {
      // A connection that its client has already left may not even be accepted yet.
      while (sockets.size > 0) {
        await Promise.all(Array.from(sockets, (socket) => new Promise((closed) => socket.once('close', closed))));
        await new Promise(setImmediate);
      }
    },
    close: () => closeWith(server, sockets),
  };
}
