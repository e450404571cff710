// The first step of a request: gives it an id, logs it, measures it and traces it.
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Middleware } from 'koa';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { traced } from '../../events/tracing.ts';
import { setHeaders } from './answers/headers.ts';
import { openClientAddress } from './client-address.ts';
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
  /** The place of a heavy request, which all that is asked within it shares, one after the other. */
  heavy?: HeavyRequest;
}

/** Gives the request an id, then logs and measures it when the response ends or the client leaves. */
export function observe(options: ObserveOptions): Middleware {
  const metrics = openHttpMetrics(options.registry);
  const clientAddress = openClientAddress(options.trusted_proxies);
  return async (ctx, next) => {
    const started_ms = performance.now();
    const given = ctx.get('x-request-id');
    const state: RequestState = {
      request_id: /^[\w.:-]{1,64}$/.test(given) ? given : randomUUID(),
      ip: clientAddress(ctx.req),
    };
    ctx.state = state;
    setHeaders(ctx, { 'X-Request-ID': state.request_id });
    // The frame, the server and the stream of a large answer each listen for the end of the response.
    ctx.res.setMaxListeners(MAX_LISTENERS);
    metrics.started();
    let is_closed = false;
    let is_lasting = false;
    const seen = (status: number) => {
      const duration_ms = Math.round((performance.now() - started_ms) * 100) / 100;
      return { method: ctx.method, route: state.route?.path ?? '(none)', status, duration_ms };
    };
    ctx.res.once('close', () => {
      is_closed = true;
      const left = is_lasting ? ctx.res.statusCode : CLIENT_GONE;
      const unfinished = state.cut_off ? 500 : left;
      const request = seen(ctx.res.writableFinished ? ctx.res.statusCode : unfinished);
      if (is_lasting) metrics.openStreams(-1);
      else metrics.finished(request);
      const { duration_ms: ms, ...what } = request;
      const { request_id, caller } = state;
      options.log[level(what.status, state.route)]({ ...what, ms, request_id, caller: callerName(caller) }, 'request');
    });
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
    is_lasting = !is_closed && state.route?.lasting === true && ctx.body instanceof Readable;
    if (!is_lasting) return;
    // The duration ends when the stream begins, because the time that the client listens does not measure the service.
    metrics.finished(seen(ctx.status));
    metrics.openStreams(1);
  };
}

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
