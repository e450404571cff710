// The first step of a request: gives it an id, logs it, measures it and traces it.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { Middleware } from 'koa';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { traced } from '../../events/tracing.ts';
import { setHeaders } from './answers/headers.ts';
import type { Making } from './answers/making.ts';
import type { ClientAddress } from './client-address.ts';
import type { HeavyRequest } from './limits/heavy-requests.ts';
import { openHttpMetrics } from './metrics.ts';
import type { Caller, Route } from './route.ts';

export interface ObserveOptions {
  log: Logger;
  registry: Registry;
  /** CIDRs of the proxies whose X-Forwarded-For the service trusts. */
  trusted_proxies: readonly string[];
}

/** The state that the frame keeps for a request. */
export interface RequestState {
  request_id: string;
  ip: string;
  route?: Route;
  caller?: Caller | null;
  /** Whether the answer failed after its first bytes. */
  cut_off?: boolean;
  /** Set where the answer may be sent again. */
  making?: Making | null;
  /** The place of a heavy request, which all that is asked within it shares, one after the other. */
  heavy?: HeavyRequest;
}

/** Watches one request from its begin until its answer ends or its client leaves. */
export interface Watched {
  state: RequestState;
  /** The answer is a stream that lasts: its duration ends now, because the time that the client listens does not measure the service. */
  lasts(status: number): void;
}

export type Watch = (request: IncomingMessage, response: ServerResponse) => Watched;

/** Gives requests ids, then logs and measures each when the response ends or the client leaves. */
export function openWatch({ registry, log }: ObserveOptions, clientAddress: ClientAddress): Watch {
  const metrics = openHttpMetrics(registry);
  return (request, response) => {
    const started_ms = performance.now();
    const given = request.headers['x-request-id'];
    const is_usable = typeof given === 'string' && /^[\w.:-]{1,64}$/.test(given);
    const state: RequestState = { request_id: is_usable ? given : randomUUID(), ip: clientAddress(request) };
    // The frame, the server and the stream of a large answer each listen for the end of the response.
    response.setMaxListeners(MAX_LISTENERS);
    metrics.started();
    let is_closed = false;
    let is_lasting = false;
    const seen = (status: number) => {
      const duration_ms = Math.round((performance.now() - started_ms) * 100) / 100;
      return { method: request.method!, route: state.route?.path ?? '(none)', status, duration_ms };
    };
    response.once('close', () => {
      is_closed = true;
      const left = is_lasting ? response.statusCode : CLIENT_GONE;
      const unfinished = state.cut_off ? 500 : left;
      const of_request = seen(response.writableFinished ? response.statusCode : unfinished);
      if (is_lasting) metrics.openStreams(-1);
      else metrics.finished(of_request);
      const { duration_ms: ms, ...what } = of_request;
      const { request_id, caller } = state;
      log[level(what.status, state.route)]({ ...what, ms, request_id, caller: callerName(caller) }, 'request');
    });
    const lasts = (status: number) => {
      if (is_closed) return;
      is_lasting = true;
      metrics.finished(seen(status));
      metrics.openStreams(1);
    };
    return { state, lasts };
  };
}

/** The first step of the application. */
export const observe =
  (watch: Watch): Middleware =>
  async (ctx, next) => {
    const { state, lasts } = watch(ctx.req, ctx.res);
    ctx.state = state;
    setHeaders(ctx, { [ID_HEADER]: state.request_id });
    const step = () => ({ name: ctx.method, kind: 'server' as const, ...causeOf(ctx.get('traceparent')) });
    await traced(step, async (span) => {
      await next();
      const route = state.route?.path;
      const has_left = ctx.respond === false && !ctx.res.headersSent;
      const status = has_left ? CLIENT_GONE : ctx.status;
      if (route !== undefined) span.rename(`${ctx.method} ${route}`);
      span.set({ 'http.request.method': ctx.method, ...(route !== undefined && { 'http.route': route }) });
      span.set({ 'http.response.status_code': status, request_id: state.request_id });
      if (status >= 500) span.fail(String(status));
    });
    if (state.route?.lasting === true && ctx.body instanceof Readable) lasts(ctx.status);
  };

export const ID_HEADER = 'X-Request-ID';

/** Without a traceparent, a request begins a trace. */
const causeOf = (traceparent: string) => ({ causes: traceparent === '' ? [] : [traceparent] });

const MAX_LISTENERS = 20;

/** nginx's status for a client that left before its answer. Only logs and metrics show it. */
const CLIENT_GONE = 499;

function level(status: number, route: Route | undefined): 'error' | 'info' | 'debug' {
  if (status >= 500 && status !== 503) return 'error';
  return route?.quiet && status < 400 ? 'debug' : 'info';
}

function callerName(caller: Caller | null | undefined): string | undefined {
  if (!caller) return undefined;
  return caller.kind === 'key' ? `key:${caller.key_id} of ${caller.user_id}` : caller.user_id;
}
