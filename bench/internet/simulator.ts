// Plays all hosts of a world, in a process of its own: names at 127.9.9.9, http at port 80, https at 443. Its parent forks it inside a
// network namespace, with the world and the certificate as its argument; it says `ready`, and at the message `end` what it saw.

import { spawn } from 'node:child_process';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { hostNumberAt, serveNames } from './names.ts';
import { FULL_PORT, type Host, makeWorld, type Page, type WorldOptions } from './world.ts';

export interface SimulatorArguments {
  world: WorldOptions;
  cert: string;
  key: string;
}

/** What the hosts saw. */
export interface Seen {
  requests: number;
  connections: number;
  dns_queries: number;
  /** The most requests at once, on all hosts and on one. */
  most_at_once: number;
  most_on_a_host: number;
  /** Requests to a host later than two seconds after its 429, while it wanted none. */
  late_after_429: number;
}

const REQUESTS_A_SECOND = 10;
const LATE_MS = 2000;
const DRIP_MS = 500;
const FIRST_CHUNK = 14_000;

interface Running {
  host: Host;
  active: number;
  most: number;
  second: number;
  in_second: number;
  limited_since: number;
  limited_until: number;
}

const { world: options, cert, key }: SimulatorArguments = JSON.parse(process.argv[2]!);
const world = makeWorld(options);
const running: Running[] = world.hosts.map((host) => ({
  ...{ host, active: 0, most: 0, second: 0, in_second: 0, limited_since: 0, limited_until: 0 },
}));
const seen: Seen = {
  requests: 0,
  connections: 0,
  dns_queries: 0,
  most_at_once: 0,
  most_on_a_host: 0,
  late_after_429: 0,
};
const text = makeText();
let active = 0;

const answer = (request: IncomingMessage, response: ServerResponse) => void respond(request, response);
const http = createHttpServer({ keepAliveTimeout: 65_000 }, answer);
const https = createHttpsServer({ cert, key, keepAliveTimeout: 65_000 }, answer);
await Promise.all([listen(80, http), listen(443, https), fillBacklog()]);
const names = await serveNames(world.hosts, () => seen.dns_queries++);
process.on('message', () => {
  seen.most_on_a_host = Math.max(...running.filter(({ host }) => host.kind !== 'drip').map(({ most }) => most));
  process.send!(seen, () => process.exit(0));
});
process.on('disconnect', () => process.exit(1));
process.send!('ready');
names.unref();

/** Gives the connections of hosts that answer to the server. */
function listen(port: number, server: typeof http | typeof https): Promise<Server> {
  const listener = createServer((socket) => {
    seen.connections++;
    socket.on('error', () => {});
    const host = hostOf(socket);
    if (host === undefined || host.host.kind === 'silent') socket.resume();
    else server.emit('connection', socket);
  });
  return new Promise((resolve, reject) => {
    listener.once('error', reject);
    listener.listen({ port, host: '0.0.0.0', backlog: 65_535 }, () => resolve(listener));
  });
}

/** A listener that is stopped takes no connection: its backlog is full after two, and drops all others. */
async function fillBacklog(): Promise<void> {
  const script = `require('node:net').createServer().listen({ port: ${FULL_PORT}, host: '0.0.0.0', backlog: 1 }, () => process.send('listens'))`;
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  process.on('exit', () => child.kill('SIGKILL'));
  await new Promise((resolve) => child.once('message', resolve));
  child.kill('SIGSTOP');
  child.unref();
  child.channel?.unref();
  for (let n = 0; n < 4; n++)
    connect(FULL_PORT, '127.0.0.1')
      .on('error', () => {})
      .unref();
}

const hostOf = ({ localAddress }: Pick<Socket, 'localAddress'>) => running[hostNumberAt(localAddress ?? '')];
const after = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { socket } = request;
  const host = hostOf(socket);
  if (host === undefined) return void response.writeHead(404).end();
  seen.requests++;
  seen.most_at_once = Math.max(seen.most_at_once, ++active);
  host.most = Math.max(host.most, ++host.active);
  response.once('close', () => {
    active--;
    host.active--;
  });
  const { round_trip_ms, think_ms, kind, name } = host.host;
  const wait_s = kind === 'limited' ? waitOf(host) : 0;
  const is_secure = 'encrypted' in socket;
  // The packets that open a connection take no time on loopback.
  const is_first = !opened.has(socket);
  opened.add(socket);
  await after(round_trip_ms * (1 + (is_first ? (is_secure ? 2 : 1) : 0)) + think_ms);
  if (response.destroyed) return;
  if (wait_s > 0) return void response.writeHead(429, { 'retry-after': String(wait_s) }).end('Too many requests');
  const path = request.url ?? '/';
  if (kind === 'redirect' && !is_secure) return redirect(response, 301, `https://${name}${path}`);
  const page = pageAt(path, host.host);
  if (page?.is_moved && !path.endsWith('/new')) return redirect(response, 302, `${path}/new`);
  await send(response, host.host, page, path);
}
const opened = new WeakSet<object>();

const redirect = (response: ServerResponse, status: number, location: string) =>
  void response.writeHead(status, { location, 'content-length': 0 }).end();

/** The seconds that a host that limits its rate wants to be left alone; 0 when it answers. */
function waitOf(host: Running): number {
  const now = Date.now();
  if (now < host.limited_until) {
    if (now - host.limited_since > LATE_MS) seen.late_after_429++;
    return Math.ceil((host.limited_until - now) / 1000);
  }
  const second = Math.floor(now / 1000);
  host.in_second = host.second === second ? host.in_second + 1 : 1;
  host.second = second;
  if (host.in_second <= REQUESTS_A_SECOND) return 0;
  host.limited_since = now;
  host.limited_until = now + 1000 * host.host.retry_after_s;
  return host.host.retry_after_s;
}

function pageAt(path: string, host: Host): Page | undefined {
  const [, articles, number] = path.split('/');
  const page = articles === 'articles' ? world.pages[Number(number)] : undefined;
  return page?.host.name === host.name ? page : undefined;
}

async function send(response: ServerResponse, host: Host, page: Page | undefined, path: string): Promise<void> {
  const is_root = path === '/' || path === '/robots.txt';
  const status = page?.status ?? (is_root ? 200 : 404);
  const is_missing = status >= 400;
  const title = is_missing
    ? 'Page not found'
    : page
      ? `Article ${page.url.split('/').at(-1)}`
      : `Welcome to ${host.name}`;
  const top = `<!doctype html><html lang="en"><head><title>${title}</title></head><body><h1>${title}</h1>
${is_missing ? '<p>Sorry, the page you are looking for does not exist.</p>' : ''}`;
  const bottom = '</body></html>';
  const size = Math.max(top.length + bottom.length + 100, is_missing ? 3000 : (page?.bytes ?? 4000));
  const from = is_missing || page === undefined ? 0 : (Number(page.url.split('/').at(-1)) * 7919) % 1_000_000;
  const body = `${top}${text.slice(from, from + size - top.length - bottom.length)}${bottom}`;
  response.writeHead(is_missing && host.kind === 'soft_404' ? 200 : status, {
    'content-type': 'text/html; charset=utf-8',
    'content-length': Buffer.byteLength(body),
  });
  if (host.kind === 'drip') {
    response.write(top);
    for (let at = top.length; at < body.length && !response.destroyed; at++) {
      await after(DRIP_MS);
      response.write(body[at]!);
    }
    return;
  }
  let chunk = FIRST_CHUNK;
  for (let at = 0; at < body.length && !response.destroyed; chunk *= 2) {
    if (at > 0) await after(host.round_trip_ms);
    response.write(body.slice(at, at + chunk));
    at += chunk;
  }
  response.end();
}

/** Text of which no two pages have the same. */
function makeText(): string {
  const words =
    'river stone cloud amber north lantern field copper willow harbor garden winter bridge market silver meadow'.split(
      ' ',
    );
  let made = '';
  for (let n = 1; made.length < 2 << 20; n++) made += `${words[(n * n) % 16]} ${words[(n * 7) % 16]}${n % 97} `;
  return made;
}
