// The entry of the thread that answers probes on METRICS_PORT. No request, and no work of the other threads, keeps it: it answers from what
// the first thread reported last, and says so when that thread has sent no heartbeat.
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { Pulse } from '../checkers/pulse.ts';
import { Silence } from './supervised-thread.ts';

export interface ProbeThreadData {
  host: string;
  port: number;
  /** The memory of the `Pulse` of the first thread. */
  pulse: SharedArrayBuffer;
  paths: readonly string[];
}
export interface Probed {
  status: number;
  body: string;
  content_type: string;
}
/** From the first thread: what `/readyz` says now, or the answer to a question. */
export type ToProbes =
  | { type: 'ready'; probed: Probed }
  | { type: 'answer'; id: number; probed: Probed }
  | { type: 'stop' };
/** To it: the port that is bound, an error that prevents it, or a question. */
export type FromProbes =
  | { type: 'listening'; port: number }
  | { type: 'failed'; message: string; code?: string; port: number }
  | { type: 'ask'; id: number; path: string };

const LOOK_MS = 250;
/** The process is not ready when its first thread has been silent for this long, and not up when it has been for the other. */
const NOT_READY_MS = 5_000;
const DOWN_MS = 60_000;
/** How long a scrape waits for the first thread; Prometheus waits for 10 s. */
const ANSWER_MS = 8_000;
const MOST_CONNECTIONS = 100;

const { host, port, pulse: memory, paths } = workerData as ProbeThreadData;
const pulse = new Pulse(memory);
const silence = new Silence(pulse.beats, performance.now(), LOOK_MS);
let silent_ms = 0;
let ready: Probed = json(503, { status: 'unavailable', failed: ['start'] });
const asked = new Map<number, (probed: Probed) => void>();
let questions = 0;
const post = (message: FromProbes) => parentPort!.postMessage(message);

const timer = setInterval(() => {
  silent_ms = silence.look(pulse.beats, performance.now());
}, LOOK_MS);

function json(status: number, body: object): Probed {
  return { status, body: JSON.stringify(body), content_type: 'application/json; charset=utf-8' };
}

const isSilent = (limit_ms: number) => pulse.beats > 0 && silent_ms >= limit_ms;
function silent(): Probed {
  const detail = `the thread of http has sent no heartbeat for ${Math.round(silent_ms / 1000)} s`;
  return json(503, { status: 'unavailable', failed: ['http'], checks: { http: { ok: false, detail } } });
}

async function ask(path: string): Promise<Probed> {
  const id = ++questions;
  const { promise, resolve } = Promise.withResolvers<Probed>();
  asked.set(id, resolve);
  const late = setTimeout(() => resolve(silent()), ANSWER_MS);
  post({ type: 'ask', id, path });
  return promise.finally(() => {
    clearTimeout(late);
    asked.delete(id);
  });
}

async function probe(path: string): Promise<Probed> {
  if (path === '/healthz') return isSilent(DOWN_MS) ? silent() : json(200, { status: 'ok' });
  if (path === '/readyz') return isSilent(NOT_READY_MS) ? silent() : ready;
  if (paths.includes(path)) return ask(path);
  return json(404, { detail: `This port serves only ${paths.join(', ')}.`, code: 'not_found' });
}

function answer(response: ServerResponse, { status, body, content_type }: Probed): void {
  const retry = status === 503 ? { 'retry-after': '5' } : {};
  response.writeHead(status, { 'content-type': content_type, 'content-length': Buffer.byteLength(body), ...retry });
  response.end(body);
}

const server = createServer({ connectionsCheckingInterval: 1000, headersTimeout: 5000, requestTimeout: 5000 });
server.maxConnections = MOST_CONNECTIONS;
server.on('request', (request, response) => {
  response.setHeader('connection', 'close');
  void probe(request.url!.split('?', 1)[0]!).then((probed) => answer(response, probed));
});
server.on('error', ({ message, code }: NodeJS.ErrnoException) => {
  post({ type: 'failed', message, port, ...(code !== undefined && { code }) });
  parentPort!.close();
  clearInterval(timer);
});
server.listen(port, host, () => post({ type: 'listening', port: (server.address() as AddressInfo).port }));

parentPort!.on('message', (message: ToProbes) => {
  if (message.type === 'ready') ready = message.probed;
  else if (message.type === 'answer') asked.get(message.id)?.(message.probed);
  else {
    server.close();
    server.closeAllConnections();
    clearInterval(timer);
    parentPort!.close();
  }
});
