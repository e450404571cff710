// A request that a handler asks of another route, in the request that it answers: the other route's own steps serve it, with the same
// checks, limits and errors as if the caller had sent it.
import { Socket } from 'node:net';
import type Koa from 'koa';
import type { Context } from 'koa';
import { IncomingMessage } from './node-http.ts';

export interface Asked {
  params?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, string | number | boolean | undefined>>;
  /** Names in lower case. */
  headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  body?: object;
}

/**
 * Returns the context of the request. The answer's headers, the client's leaving and the request's id are those of `outer`; nothing is
 * written to its response.
 */
export function contextWithin(
  app: Koa,
  outer: Context,
  { method, path }: { method: string; path: string },
  asked: Asked,
): Context {
  const { params = {}, query = {}, headers = {}, body } = asked;
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const search = new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)])).toString();
  // A connection of its own: whatever becomes of this request, the client's stays as it is.
  const request = new IncomingMessage(new Socket());
  request.method = method;
  request.url = search === '' ? path : `${path}?${search}`;
  Object.assign(request.headers, headers);
  if (body !== undefined) {
    const bytes = Buffer.from(JSON.stringify(body));
    Object.assign(request.headers, { 'content-type': 'application/json', 'content-length': String(bytes.length) });
    request.push(bytes);
  }
  request.push(null);
  request.complete = true;
  const ctx = app.createContext(request, outer.res) as Context;
  ctx.params = params;
  ctx.state = outer.state;
  return ctx;
}
