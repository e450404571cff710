// What is answered before the service can answer: it lives, and says what it waits for.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type Koa from 'koa';
import { errorBody, HttpError } from './errors.ts';

export interface Starting {
  callback(): RequestListener;
  /** Names what is missing, or null. */
  waits(reason: string | null): void;
  /** From here on the application answers. */
  started(app: Koa): void;
}

export function openStarting(): Starting {
  let reason = 'the service starts';
  let handle: RequestListener = (request, response) => answer(request, response, reason);
  return {
    callback: () => (request, response) => handle(request, response),
    waits: (missing) => (reason = missing ?? 'the service starts'),
    started: (app) => (handle = app.callback()),
  };
}

function answer(request: IncomingMessage, response: ServerResponse, reason: string): void {
  const path = (request.url ?? '/').split('?', 1)[0]!;
  const not_yet = new HttpError(503, 'unavailable', `The service cannot answer yet: ${reason}.`);
  const [status, body] =
    path === '/healthz'
      ? [200, { status: 'ok' }]
      : path === '/readyz'
        ? [503, { status: 'unavailable', failed: ['start'], checks: { start: { ok: false, detail: reason } } }]
        : [503, errorBody(not_yet, path)];
  const json = JSON.stringify(body);
  response.writeHead(status as number, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(json),
    'x-request-id': randomUUID(),
    ...(status === 503 ? { 'retry-after': '5' } : {}),
    // What its client still sends is not read.
    connection: 'close',
  });
  response.end(request.method === 'HEAD' ? undefined : json);
}
