// Forwards groups of routes to other deployments of the service (SERVICE_URLS). Bodies stream in both directions, and the other
// deployment decides on access, limits and input. What goes wrong on the way is answered here, in the shape of the route's API.
// Decision 83 says why.
import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import type { Context } from 'koa';
import type { Logger } from 'pino';
import { type Span, type Step, traced, traceparent } from '../../events/tracing.ts';
import type { ServiceUrls } from '../../settings/service-urls.ts';
import { ClientGone, HttpError, retryLater } from './errors.ts';
import { hasBody } from './input/bodies.ts';
import { bodyChunks } from './input/body-chunks.ts';
import type { Route } from './route.ts';

export interface Forwarded {
  status: number;
  headers: Readonly<Record<string, string>>;
  stream?: Readable;
  body?: null;
}
/** Throws HttpError with 502 or 504, and ClientGone. */
export type Forward = (
  ctx: Context,
  request: { ip: string; request_id: string; signal: AbortSignal },
) => Promise<Forwarded>;

export type Forwarding = Awaited<ReturnType<typeof openForwarding>>;

export interface ForwardingOptions {
  urls: ServiceUrls;
  log: Pick<Logger, 'warn'>;
  /** From the end of the request to the head of the answer, and between two pieces of the answer. */
  answer_ms?: number;
}

const CONNECT_MS = 5_000;
/** Large uploads take turns before they are read. */
const ANSWER_MS = 120_000;
/** A request that went through so many deployments goes in circles. */
const MAX_HOPS = 3;
const PSEUDONYM = 'url-checker';
const RETRY_S = 5;

/** Headers of one connection, and those that say who the client is, which this deployment says itself. */
const OWN: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'host', 'expect', 'forwarded', 'x-forwarded-for', 'x-real-client-ip'],
]);
const TIMEOUTS: ReadonlySet<unknown> = new Set([
  ...['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'UND_ERR_CONNECT_TIMEOUT', 'ETIMEDOUT'],
]);
const WITHOUT_CONTENT: ReadonlySet<number> = new Set([204, 205, 304]);

/** Loads its HTTP client only here, because most deployments forward nothing. */
export async function openForwarding(options: ForwardingOptions) {
  const { urls, log, answer_ms = ANSWER_MS } = options;
  const { Agent } = await import('undici');
  const agent = new Agent({ connect: { timeout: CONNECT_MS }, bodyTimeout: answer_ms });

  const forwardTo =
    (origin: string, query: Route['query']): Forward =>
    (ctx, request) =>
      traced(
        () => stepOf(ctx, origin),
        (span) => passOn(origin, query, span, ctx, request),
      );

  async function passOn(
    origin: string,
    query: Route['query'],
    span: Span,
    ctx: Context,
    { ip, request_id, signal }: Parameters<Forward>[1],
  ): Promise<Forwarded> {
    if (hopsOf(ctx) >= MAX_HOPS) throw new HttpError(502, 'forwarding_loop', LOOP);
    const via = `${ctx.get('via') ? `${ctx.get('via')}, ` : ''}1.1 ${PSEUDONYM}`;
    // What the other deployment does is a part of this step, and not of the client's.
    const trace = traceparent();
    const headers = {
      ...passed(ctx.req.headers),
      ...{ 'x-real-client-ip': ip, 'x-request-id': request_id, via },
      ...(trace !== undefined && { traceparent: trace }),
    };
    let of_client: unknown = null;
    async function* body() {
      try {
        yield* bodyChunks(ctx);
      } catch (error) {
        of_client = error;
        throw error;
      }
    }
    const sent = {
      // The target may also name a host, which would choose another site behind the origin.
      ...{ origin, path: ctx.path + ctx.search, method: ctx.method as 'GET', headers, signal },
      body: hasBody(ctx.req) ? Readable.from(body(), { objectMode: false }) : null,
      headersTimeout: answer_ms + waitOf(ctx, query),
    };
    const failed = (error: NodeJS.ErrnoException): never => {
      if (of_client !== null) throw of_client;
      if (error instanceof ClientGone) throw error;
      // The error itself may hold bytes of the answer.
      const { code, message: reason } = error;
      log.warn({ code, reason, origin, request_id }, 'a request could not be forwarded');
      throw TIMEOUTS.has(code) ? timedOut() : unreachable();
    };
    const answer = await agent.request(sent).catch(failed);
    const { statusCode: status, body: content } = answer;
    span.set({ 'http.response.status_code': status });
    if (status >= 400) span.fail(String(status));
    // Whoever reads it sees its failure; nobody reads it after the client has left.
    content.on('error', () => {});
    // An answer that nobody reads to its end would keep the connection.
    ctx.res.once('close', () => content.destroy());
    const reply = { status, headers: passed(answer.headers) };
    if (ctx.method !== 'HEAD' && !WITHOUT_CONTENT.has(status)) return { ...reply, stream: readingOf(content, failed) };
    await content.dump().catch(failed);
    return ctx.method === 'HEAD' ? { ...reply, stream: Readable.from([]) } : { ...reply, body: null };
  }

  return {
    /** Null for a route that is served here. */
    of({ tag, query }: Pick<Route, 'tag' | 'query'>): Forward | null {
      const origin = urls[tag as keyof ServiceUrls];
      return origin === undefined ? null : forwardTo(origin, query);
    },
    close: () => agent.destroy(),
  };
}

function stepOf({ method }: Context, origin: string): Step {
  const { hostname, port, protocol } = new URL(origin);
  const server = { 'server.address': hostname, 'server.port': Number(port) || (protocol === 'https:' ? 443 : 80) };
  return { name: method, kind: 'client', attributes: { 'http.request.method': method, ...server } };
}

export const UNREACHABLE = 'The deployment that serves this route cannot be reached, or answers wrongly.';
export const TIMEOUT = 'The deployment that serves this route does not answer in time.';
export const unreachable = () => retryLater(502, 'bad_gateway', UNREACHABLE, RETRY_S);
export const timedOut = () => retryLater(504, 'gateway_timeout', TIMEOUT, RETRY_S);
const LOOP = 'The request goes in circles between deployments: check SERVICE_URLS of each.';

const hopsOf = (ctx: Context) => ctx.get('via').split(`1.1 ${PSEUDONYM}`).length - 1;

/** The headers that are for the other side, and not for one connection. */
function passed(headers: IncomingHttpHeaders): Record<string, string> {
  const named = String(headers.connection ?? '')
    .toLowerCase()
    .split(',');
  const dropped = new Set([...OWN, ...named.map((name) => name.trim())]);
  const kept = Object.entries(headers).filter(([name, value]) => value !== undefined && !dropped.has(name));
  return Object.fromEntries(kept) as Record<string, string>;
}

/** The bytes of an answer, with the failure of its reading as `failed` throws it. */
function readingOf(content: Readable, failed: (error: Error) => never): Readable {
  async function* chunks() {
    try {
      yield* content;
    } catch (error) {
      failed(error as Error);
    }
  }
  return Readable.from(chunks(), { objectMode: false });
}

/** How long the client asks the route to wait before it answers, in milliseconds. */
function waitOf(ctx: Context, query: Route['query']): number {
  const wait = query.properties.wait_seconds as { maximum: number; default: number } | undefined;
  if (!wait) return 0;
  const asked = Number(ctx.query.wait_seconds ?? wait.default);
  return Math.min(Math.max(Number.isFinite(asked) ? asked : 0, 0), wait.maximum) * 1000;
}
