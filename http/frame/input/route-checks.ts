// Compiles the checks of one route at start, for its parameters and its body.
import type { IncomingHttpHeaders } from 'node:http';
import type { Problem } from '../errors.ts';
import type { Route } from '../route.ts';
import { readQuery } from './query.ts';
import { type Check, openValidation } from './validation.ts';

export interface RouteChecks {
  /** The parameters with their types and defaults. */
  input(
    params: Record<string, string>,
    search: string,
    headers: IncomingHttpHeaders,
  ): { params: object; query: object; headers: object; problems: Problem[] };
  body: Check;
}

const validation = openValidation();

/** Node reads the bytes of a header as Latin-1; clients send UTF-8. */
function textOf(given: string | string[]): string | string[] {
  if (typeof given !== 'string' || !/[\x80-\xff]/.test(given)) return given;
  const text = Buffer.from(given, 'latin1').toString();
  return text.includes('\ufffd') ? given : text;
}

export function compileRoute(route: Omit<Route, 'handler'>): RouteChecks {
  const path = validation.compile('path', route.params);
  const query = validation.compile('query', route.query);
  const header = validation.compile('header', route.headers);
  const rules = { keeps_empty: route.method === 'DELETE', is_open: route.access === 'none' };
  const header_names = Object.keys(route.headers.properties);
  return {
    input(given_params, search, given_headers) {
      const params = { ...given_params };
      const read = readQuery(search, route.query, rules);
      const headers = Object.fromEntries(
        header_names.flatMap((name) =>
          given_headers[name] === undefined ? [] : [[name, textOf(given_headers[name])]],
        ),
      );
      const problems = [...path(params), ...read.problems, ...query(read.query), ...header(headers)];
      return { params, query: read.query, headers, problems };
    },
    body: route.body && 'schema' in route.body ? validation.compile('body', route.body.schema) : () => [],
  };
}
