// Serves the application over HTTP/1.1, with time limits for clients, and drains requests in flight before it stops.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import { apiOf } from '../apis/all.ts';
import { answerAndClose } from '../frame/answers/replies.ts';
import { HttpError, headersTooLarge, MAX_HEADER_BYTES, retryLater, statusText } from '../frame/errors.ts';
import { hasBody } from '../frame/input/bodies.ts';
import { awaitContinue, refusingSmallChunks } from '../frame/input/body-chunks.ts';
import { createServer } from '../frame/node-http.ts';
import { Connections } from './connections.ts';
import { Front } from './front.ts';
import { PROBES } from './probes.ts';

/** Longer than the idle time of usual load balancers (60 s), so that they do not use a connection that we have just closed. */
const KEEP_ALIVE_MS = 65_000;
const HEADERS_MS = 15_000;
/** Enough for 100 MB at 1.4 Mbit/s. */
const REQUEST_MS = 600_000;
const MAX_HEADERS = 100;
/** Connections that the system accepts for the service while the event loop is busy; the system may allow fewer. */
const BACKLOG = 16_384;
/** The time that `close` gives to requests in flight. */
const DRAIN_MS = 10_000;

export interface RunningServer {
  /** The URL with the bound port, without a slash at its end. */
  url: string;
  /** Takes no more connections, waits up to `drain_ms` for requests in flight, then cuts the others off. */
  close(): Promise<void>;
}

/**
 * Resolves once the server listens; rejects when it cannot bind the port. Port 0 lets the system pick one.
 * @example const { url, close } = await startServer(app, { host: '127.0.0.1', port: 8080, log });
 */
export async function startServer(
  app: { callback(): RequestListener },
  options: {
    host: string;
    port: number;
    log: Logger;
    connections?: Connections;
    front?: Front;
    drain_ms?: number;
    /** How long the headers of a request may take to arrive. */
    headers_ms?: number;
  },
): Promise<RunningServer> {
  const { host, port, log, connections = new Connections({ most: Number.POSITIVE_INFINITY, log }) } = options;
  const { front = new Front({ log }), headers_ms = HEADERS_MS } = options;
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: headers_ms,
    requestTimeout: REQUEST_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: headers_ms / 3,
    requireHostHeader: false, // Node's own refusal has no body
    ServerResponse: front.unread.Response,
    IncomingMessage: refusingSmallChunks(({ socket }) => {
      answerBroken(Object.assign(new Error('small chunks'), { code: SMALL_CHUNKS }), socket);
      socket.destroySoon();
    }),
  });
  server.maxHeadersCount = MAX_HEADERS;
  const handle = app.callback();
  const draining = connections.watch(server, front.peersOf);
  /** Connections whose request is overdue. */
  const late = new WeakSet<Duplex>();

  server.on('request', (request, response) => {
    late.delete(request.socket);
    if (request.socket.destroyed) return;
    const target = pathOf(request.url!);
    const isProbe = () => target !== null && Object.hasOwn(PROBES, target);
    const begin = () => {
      if (target === null) return refuse(NO_PATH, request, response);
      request.url = target;
      if (connections.isSpare(request.socket) && !isProbe()) refuse(FULL, request, response);
      else if (request.headers.host === undefined && request.httpVersion === '1.1') refuse(NO_HOST, request, response);
      else if (expectsOther(request)) refuse(NOT_EXPECTED, request, response);
      else void handle(request, response);
    };
    front.enter({ request, response, isProbe, begin, refuse: () => refuse(BUSY, request, response) });
  });
  server.on('checkContinue', (request, response) => {
    awaitContinue(request);
    server.emit('request', request, response);
  });
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code !== 'ERR_HTTP_REQUEST_TIMEOUT') return answerBroken(error, socket);
    // After a pause of this process, a request that arrived meanwhile is read later in this turn of the event loop.
    late.add(socket);
    setImmediate(() => late.delete(socket) && answerBroken(error, socket));
  });
  await listening(server, port, host);
  const bound = server.address() as AddressInfo;
  const url = `http://${bound.family === 'IPv6' ? `[${bound.address}]` : bound.address}:${bound.port}`;
  log.info({ url }, 'listening');

  let closed: Promise<void> | undefined;
  const close = async () => {
    const done = new Promise<void>((resolve) => server.close(() => resolve()));
    draining();
    const timer = setTimeout(() => {
      log.warn('http cuts off the requests in flight');
      server.closeAllConnections();
    }, options.drain_ms ?? DRAIN_MS);
    await done;
    front.unread.close();
    clearTimeout(timer);
    log.info('closed');
  };
  return { url, close: () => (closed ??= close()) };
}

const FULL = retryLater(503, 'unavailable', 'The service has too many connections. Try again soon.');
const BUSY = retryLater(503, 'unavailable', 'The service is busy. Try again soon.', 1);
const NO_PATH = new HttpError(400, 'malformed_request', 'The target of the request is no path and no URL.');
const NO_HOST = new HttpError(400, 'malformed_request', 'The header Host is missing.');
const NOT_EXPECTED = new HttpError(417, 'expectation_failed', 'The header Expect may only be 100-continue.');

/** A client may send `*`, or a whole URL instead of its path (RFC 9112, 3.2). Null for another target. */
function pathOf(target: string): string | null {
  if (target.startsWith('/') || target === '*') return target;
  const url = URL.parse(target);
  return url && /^https?:$/.test(url.protocol) ? url.pathname + url.search : null;
}

const expectsOther = ({ headers: { expect }, httpVersion }: IncomingMessage) =>
  expect !== undefined && httpVersion === '1.1' && expect.toLowerCase() !== '100-continue';

function refuse(error: HttpError, request: IncomingMessage, response: ServerResponse): void {
  const { status } = error;
  // A client that is refused for a while continues with its connection: a new one would cost more than the refusal.
  const headers = { ...error.headers, ...(error === BUSY && !hasBody(request) && { connection: 'keep-alive' }) };
  void answerAndClose(request, response, { status, headers, body: apiOf(request.url ?? '').errorBody(error) });
}

const SMALL_CHUNKS = 'SMALL_CHUNKS';

/** Answers to requests that Node's parser refuses. Each has the shape of the API that its path begins with. */
const BROKEN: Readonly<Record<string, HttpError>> = {
  HPE_HEADER_OVERFLOW: headersTooLarge(),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: new HttpError(413, 'too_large', 'The extensions of the chunks are too large.'),
  [SMALL_CHUNKS]: new HttpError(400, 'chunks_too_small', 'The body has too many small chunks. Send larger ones.'),
  ERR_HTTP_REQUEST_TIMEOUT: new HttpError(408, 'too_slow', 'The request took too long to arrive.'),
};
const NOT_HTTP = new HttpError(400, 'malformed_request', 'The request is not HTTP/1.1.');

function answerBroken(error: NodeJS.ErrnoException & { rawPacket?: Buffer }, socket: Duplex): void {
  const { _httpMessage: response } = socket as Duplex & { _httpMessage?: ServerResponse };
  if (!socket.writable || error.code === 'ECONNRESET' || response?.headersSent) {
    socket.destroy();
    return;
  }
  const refused = BROKEN[error.code ?? ''] ?? NOT_HTTP;
  const path = /^[A-Z]+ ([^ ?]+)/.exec(error.rawPacket?.toString('latin1', 0, 200) ?? '')?.[1] ?? '';
  const body = JSON.stringify(apiOf(path).errorBody(refused));
  const head = [
    `HTTP/1.1 ${refused.status} ${statusText(refused.status)}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-ID: ${randomUUID()}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

async function listening(server: Server, port: number, host: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, backlog: BACKLOG }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
