// Compiles the checks of one route at start: for its parameters, its body and, in tests, its replies.
import type { IncomingHttpHeaders } from 'node:http';
import type { TSchema } from '../events/schema.ts';
import type { Problem } from './errors.ts';
import { closedInput } from './input-schemas.ts';
import { isStreamed } from './json-pieces.ts';
import { readQuery } from './query.ts';
import type { Reply, Route } from './route.ts';
import { successStatus } from './route.ts';
import { type Check, openValidation } from './validation.ts';

export interface RouteChecks {
  /** The parameters with their types and defaults. */
  input(
    params: Record<string, string>,
    search: string,
    headers: IncomingHttpHeaders,
  ): { params: object; query: object; headers: object; problems: Problem[] };
  body: Check;
  /** Throws when the reply differs from the route's declared responses. */
  reply(reply: Reply): void;
}

const validation = openValidation();

export function compileRoute(route: Omit<Route, 'handler'>): RouteChecks {
  const path = validation.compile('path', route.params);
  const query = validation.compile('query', route.query);
  const header = validation.compile('header', route.headers);
  const header_names = Object.keys(route.headers.properties);
  return {
    input(given_params, search, given_headers) {
      const params = { ...given_params };
      const read = readQuery(search, route.query);
      const headers = Object.fromEntries(
        header_names.flatMap((name) => (given_headers[name] === undefined ? [] : [[name, given_headers[name]]])),
      );
      const problems = [...path(params), ...read.problems, ...query(read.query), ...header(headers)];
      return { params, query: read.query, headers, problems };
    },
    body: route.body && 'schema' in route.body ? validation.compile('body', route.body.schema) : () => [],
    reply: replyCheck(route),
  };
}

function replyCheck(route: Omit<Route, 'handler'>): RouteChecks['reply'] {
  const checks = new Map<TSchema, Check>();
  const fail = (what: string): never => {
    throw new Error(`${route.method} ${route.path} replies with ${what}`);
  };
  return (reply) => {
    const status = reply.status ?? successStatus(route)!;
    const declared = route.responses[status] ?? fail(`status ${status}, which it does not declare`);
    const is_json = typeof reply.body === 'object' && reply.body !== null && !(reply.body instanceof Uint8Array);
    if (!is_json) return;
    const schema = declared.schema ?? fail(`a body with status ${status}, which it does not declare`);
    const check = checks.get(schema) ?? validation.compile('body', closedInput(schema));
    checks.set(schema, check);
    // The check reads the JSON that the client gets: a Date is text, and undefined is absent. It does not read streamed lists.
    const seen = JSON.stringify(reply.body, (_name, value) => (isStreamed(value) ? [] : value));
    const [problem] = check(JSON.parse(seen));
    if (problem) fail(`${problem.loc.join('.')}, which ${problem.msg}`);
  };
}
