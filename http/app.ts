// The frame builds a Koa application from the route table. This file has the steps of a request in order; `server/observe.ts` has
// the first, which watches the others.
import { randomBytes } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { Readable } from 'node:stream';
import Koa, { type Context, type Middleware } from 'koa';
import type { CommandContext } from '../commands/aggregate.ts';
import { DocumentsNotReady } from '../readmodels/read-models.ts';
import { apiOf } from './apis/all.ts';
import { type AccessOptions, authenticate, findJob } from './callers/access.ts';
import { contextOf } from './callers/command-context.ts';
import { assertScope } from './callers/scopes.ts';
import { type SystemOptions, systemRoutes } from './docs/system.ts';
import { compressAnswers } from './frame/answers/compression.ts';
import { allowOrigins } from './frame/answers/cors.ts';
import { setHeaders } from './frame/answers/headers.ts';
import { openReadYourWrites, POSITION_HEADER, positionProblem } from './frame/answers/read-your-writes.ts';
import { Repeats, type RepeatsOptions } from './frame/answers/repeats.ts';
import { answerEarly, onceClosed, writeJson, writeReply } from './frame/answers/replies.ts';
import { securityHeaders } from './frame/answers/security-headers.ts';
import type { Api } from './frame/api.ts';
import { openClientAddress } from './frame/client-address.ts';
import {
  assertResultsKept,
  BEHIND,
  ClientGone,
  HttpError,
  retryLater,
  toHttpError,
  ValidationError,
} from './frame/errors.ts';
import type { Forward, Forwarding } from './frame/forwarding.ts';
import { withBody } from './frame/input/request-body.ts';
import { compileRoute, type RouteChecks } from './frame/input/route-checks.ts';
import type { UploadLimits } from './frame/input/uploads.ts';
import type { HeavyRequest, HeavyRequests } from './frame/limits/heavy-requests.ts';
import type { Admitted } from './frame/limits/rate-limits.ts';
import type { RawBodies } from './frame/limits/raw-bodies.ts';
import type { Maintenance } from './frame/maintenance.ts';
import { isOfAnother, noSuchRoute } from './frame/no-such-route.ts';
import { type ObserveOptions, observe, openWatch, type RequestState } from './frame/observe.ts';
import { restTurn } from './frame/request-turns.ts';
import type { Caller, Reply, Route, RouteRequest } from './frame/route.ts';
import { Routers } from './frame/router.ts';
import { type Asked, contextWithin } from './frame/within.ts';

export interface AppOptions
  extends AccessOptions,
    SystemOptions,
    ObserveOptions,
    Partial<Pick<RepeatsOptions, 'admitNow' | 'unchanged'>> {
  uploads: UploadLimits;
  /** Whether clients reach the service only by https. */
  https: boolean;
  /** The frame calls this once for each admitted request of an authenticated caller. */
  seen(caller: Caller, command: () => CommandContext): Promise<void>;
  /**
   * Admits a request or throws `HttpError`; the response carries the headers that it returns. The frame calls it twice for each
   * request: first with an undefined caller, then with the one that it found, or null.
   */
  admit?(request: Admitted): Promise<Readonly<Record<string, string>>>;
  /** The frame calls this with each error that no client caused. */
  fault?(error: unknown): void;
  heavy_requests: HeavyRequests;
  raw_bodies: RawBodies;
  /** The origins whose pages may read answers. */
  cors_origins?: readonly string[];
  /** The routes that other deployments serve. */
  forwarding?: Pick<Forwarding, 'of'> | null;
  /** Refuses commands of users while maintenance mode is on. */
  maintenance?: Pick<Maintenance, 'admit' | 'current'>;
  /** Resolves to true when reads see this position of the log, and to false when they do not after a bounded time. `waits` is called before it waits. */
  await_position(position: string, waits?: () => void): Promise<boolean>;
  /** Milliseconds that never go back. */
  monotonic?: () => number;
}

/** The application serves these routes, and its own: probes, metrics and the OpenAPI documents. Throws for a broken route table. */
export function createApp(routes: readonly Route[], options: AppOptions): { callback(): RequestListener } {
  const app = new Koa();
  const routers = new Routers();
  const positions = openReadYourWrites();
  const clientAddress = openClientAddress(options.trusted_proxies);
  const watch = openWatch(options, clientAddress);
  const repeats = new Repeats({ ...options, watch, clientAddress, expected: (id) => positions.expected('', id) });
  const steps = new Map<string, Steps>();
  const nameOf = ({ method, path }: Pick<Route, 'method' | 'path'>) => `${method} ${path}`;
  const askWithin: AskWithin = async (outer, route, asked) => {
    const asks = steps.get(nameOf(route));
    if (!asks) throw retryLater(503, 'unavailable', `Another deployment serves ${nameOf(route)}.`);
    return await asks(contextWithin(app, outer, route, asked), outer.state.caller);
  };
  for (const route of [...routes, ...systemRoutes(routes, options)]) {
    const forward = options.forwarding?.of(route) ?? null;
    const own = () => {
      const taken = takeSteps(route, compileRoute(route), options, positions, askWithin);
      steps.set(nameOf(route), taken);
      return serve(route, taken, { ...options, repeats });
    };
    routers.add(route, forward === null ? own() : passOn(route, forward, options));
  }
  app.use(observe(watch));
  app.use(repeats.keep);
  app.use(answerEarly);
  app.use(compressAnswers);
  app.use(securityHeaders(options.https));
  app.use(allowOrigins(options.cors_origins ?? []));
  app.use(answerErrors(options));
  app.use(routers.routes());
  app.use(noSuchRoute((ctx, caller) => admit(ctx, options, caller)));
  // When a stream fails after its answer began, Koa cuts the connection off, so that the client sees the failure.
  app.on('error', (error, ctx?: Context) => {
    const state = ctx?.state as RequestState | undefined;
    // Koa reports the same error twice. It also reports clients that leave, and the request's own log line shows those.
    if (!ctx || !state || state.cut_off) return;
    const is_cut_off = isOfStream(error, ctx.body);
    // A step before `answerErrors` failed, where there still is a client.
    const is_unanswered = ctx.writable && !ctx.headerSent;
    if (!is_cut_off && !is_unanswered) return;
    if (is_cut_off) state.cut_off = true;
    options.log.error(
      { err: error, request_id: state.request_id },
      is_cut_off ? 'http cuts a response off' : 'request failed',
    );
    options.fault?.(error);
  });
  const handle = app.callback();
  return {
    callback: () => (request, response) => void (repeats.answer(request, response) || handle(request, response)),
  };
}

/** Whether the stream itself failed, rather than its connection. */
const isOfStream = (error: NodeJS.ErrnoException, body: unknown) =>
  body instanceof Readable && body.errored === error && !OF_THE_CLIENT.has(error.code);
const OF_THE_CLIENT: ReadonlySet<unknown> = new Set(['ERR_STREAM_PREMATURE_CLOSE', 'client_gone']);

/** The API of the request's route, or of its path when no route matches. */
const apiOfRequest = (ctx: Context): Api => (ctx.state as RequestState).route?.api ?? apiOf(ctx.path);

/** Answers a thrown error in the shape of the requested API. */
function answerErrors(options: AppOptions): Middleware {
  const logFault = openFaultLog(options);
  return async (ctx, next) => {
    try {
      await next();
    } catch (thrown) {
      if (thrown instanceof ClientGone) {
        ctx.respond = false;
        return;
      }
      const { request_id } = ctx.state as RequestState;
      const error = toHttpError(thrown, request_id);
      if (error !== thrown) {
        logFault(thrown, error.status, request_id);
        options.fault?.(thrown);
      }
      ctx.status = error.status;
      // A 401 must carry a challenge (RFC 9110, 15.5.2). On bearer routes the error's own header replaces this one.
      if (error.status === 401) ctx.set('WWW-Authenticate', 'Signature');
      setHeaders(ctx, error.headers);
      writeJson(ctx, apiOfRequest(ctx).errorBody(error));
    }
  };
}

const NOT_READY_LINE_MS = 60_000;

/** Logs each fault with its stack. While the projector builds the read models, every read fails: that is one line a minute. */
function openFaultLog({ log, monotonic = () => performance.now() }: AppOptions) {
  let next_line_at_ms = Number.NEGATIVE_INFINITY;
  return (thrown: unknown, status: number, request_id: string) => {
    if (!(thrown instanceof DocumentsNotReady)) {
      log[status === 503 ? 'warn' : 'error']({ err: thrown, request_id }, 'request failed');
    } else if (monotonic() >= next_line_at_ms) {
      next_line_at_ms = monotonic() + NOT_READY_LINE_MS;
      log.warn({ reason: thrown.message }, 'http answers reads with 503 until the read models are ready');
    }
  };
}

/** The steps of a request after it was admitted, up to the reply. */
type Steps = (ctx: Context, caller: Caller | null) => Promise<Reply>;
type AskWithin = (outer: Context, route: Pick<Route, 'method' | 'path'>, asked: Asked) => Promise<Reply>;

/** Serves one request: finds out who asks, admits it, and writes the reply of its steps. */
function serve(route: Route, steps: Steps, options: AppOptions & { repeats: Repeats }): Middleware {
  return async (ctx, next) => {
    const state = ctx.state as RequestState;
    if (isOfAnother(ctx, route)) return await next();
    state.route = route;
    if (!route.quiet) await admit(ctx, options, undefined);
    const caller = await identify(route, ctx, options).catch(async (refusal: unknown) => {
      await admit(ctx, options, null);
      throw refusal;
    });
    state.caller = caller;
    if (!route.quiet) await admit(ctx, options, caller);
    state.making = options.repeats.begin(ctx, route, caller);
    await writeReply(ctx, route, await steps(ctx, caller));
  };
}

const identify = (route: Route, ctx: Context, options: AppOptions) =>
  authenticate(route, (name) => ctx.get(name), options);

/** It checks cheap conditions first and reads the body last, so that it reads no large body in vain. */
function takeSteps(
  route: Route,
  checks: RouteChecks,
  options: AppOptions,
  positions: ReturnType<typeof openReadYourWrites>,
  askWithin: AskWithin,
): Steps {
  const waits = route.method === 'GET' && !route.of_log;
  return async (ctx, caller) => {
    const { ip, request_id, making } = ctx.state as RequestState;
    assertScope(route, caller);
    options.maintenance?.admit(route, caller);
    const command = () => contextOf(caller, route.access, request_id, Date.now());
    if (caller) await options.seen(caller, command);

    const position = ctx.get(POSITION_HEADER);
    const input = checks.input(ctx.params, ctx.querystring, ctx.headers);
    const problems = [...input.problems, ...positionProblem(position)];
    if (problems.length > 0) throw new ValidationError(problems);

    const expected = waits ? positions.expected(position, caller?.user_id) : null;
    const is_fresh = expected === null || (await options.await_position(expected, () => restTurn(ctx.req)));
    if (expected !== null && is_fresh) positions.seen(caller?.user_id, expected);
    /** What reads do not find may be what the caller has just written. */
    const lagging = (thrown: unknown): never => {
      const is_missing = thrown instanceof HttpError && thrown.status === 404;
      throw is_missing && !is_fresh ? retryLater(503, 'unavailable', BEHIND) : thrown;
    };
    const jobNow = async () => {
      if (route.job === null) return null;
      const job = await findJob(route, ctx.params[route.job], caller, options.jobs).catch(lagging);
      if (route.of_results) assertResultsKept(job);
      return job;
    };
    route.early?.((name) => ctx.get(name), undefined);
    const found = await jobNow();
    let of_client: AbortSignal | undefined;
    /** Most handlers need none. */
    const signal = () => (of_client ??= clientSignal(ctx));
    if (route.heavy !== false || route.lasting) restTurn(ctx.req);
    const heavy = isHeavy(route, ctx) ? entered(ctx, options.heavy_requests) : null;
    const rest = () => heavy?.rest();
    // A store that is away says nothing about the credentials.
    const isStillAdmitted = () =>
      identify(route, ctx, options)
        .then((now) => now && options.seen(now, command))
        .then(
          () => true,
          (refusal: unknown) => !(refusal instanceof HttpError && refusal.status < 500),
        );
    const handle = async (body: unknown): Promise<Reply> => {
      const has_waited = await heavy?.work(signal());
      // Meanwhile the job may have been deleted, or its results may have expired.
      const job = has_waited ? await jobNow() : found;
      // The body, and the turn of a large request, may have taken minutes.
      options.maintenance?.admit(route, caller);
      const { params, query, headers } = input;
      const request: RouteRequest = {
        route,
        params,
        query,
        headers,
        body,
        caller,
        job,
        request_id,
        command,
        secret: randomSecret,
        ip,
        isStillAdmitted,
        rest,
        ask: (other, asked) => askWithin(ctx, other, asked),
        ctx,
        get signal() {
          return signal();
        },
      };
      try {
        return await route.handler(request, undefined);
      } finally {
        rest();
      }
    };
    const reply = await withBody(ctx, route, checks, options, handle).catch(lagging);
    if (reply.unchanged) making?.add(reply.unchanged);
    if (reply.position !== undefined) {
      // The command has succeeded, so a store that is away delays the answer and does not change it.
      if (!reply.is_early) await options.await_position(reply.position).catch(() => {});
      positions.reached(caller?.user_id, reply.position);
      ctx.set(POSITION_HEADER, reply.position);
    }
    return reply;
  };
}

/** Has another deployment serve the request. */
function passOn(route: Route, forward: Forward, options: AppOptions): Middleware {
  return async (ctx) => {
    const state = ctx.state as RequestState;
    state.route = route;
    // The other deployment looks at the credentials, and counts for their user.
    await admit(ctx, options, undefined);
    const { ip, request_id } = state;
    const reply = await forward(ctx, { ip, request_id, signal: clientSignal(ctx) });
    // The answer to HEAD is written with the headers that are there by then. Other answers may still fail before their first bytes.
    if (ctx.method === 'HEAD') setHeaders(ctx, reply.headers ?? {});
    await writeReply(ctx, route, reply);
  };
}

const randomSecret = () => randomBytes(32);

/** A body up to this size takes less than a millisecond to read. */
const SMALL_BODY_BYTES = 16 * 1024;

function isHeavy({ heavy }: Pick<Route, 'heavy'>, ctx: Context): boolean {
  if (heavy !== 'large body') return heavy;
  // A body in chunks announces no length.
  const announced = ctx.get('content-length');
  return announced === '' || Number(announced) > SMALL_BODY_BYTES;
}

/** Counts the heavy request as in flight until its answer is sent or its client leaves. */
function entered(ctx: Context, heavy_requests: HeavyRequests): HeavyRequest {
  const state = ctx.state as RequestState;
  if (state.heavy) return state.heavy;
  const { caller = null, ip } = state;
  state.heavy = heavy_requests.enter({ caller, ip });
  onceClosed(ctx.res, state.heavy.leave);
  return state.heavy;
}

async function admit(ctx: Context, options: AppOptions, caller: Caller | null | undefined): Promise<void> {
  const { ip } = ctx.state as RequestState;
  const { method } = ctx;
  if (options.admit) setHeaders(ctx, await options.admit({ api: apiOfRequest(ctx), caller, ip, method }));
}

function clientSignal(ctx: Context): AbortSignal {
  const controller = new AbortController();
  onceClosed(ctx.res, () => ctx.res.writableFinished || controller.abort(new ClientGone('the client left')));
  return controller.signal;
}
