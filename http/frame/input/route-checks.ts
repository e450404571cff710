// Compiles the checks of one route at start, for its parameters and its body.
import type { IncomingHttpHeaders } from 'node:http';
import type { TObject } from '../../../events/schema.ts';
import type { Problem } from '../errors.ts';
import type { Route } from '../route.ts';
import { readQuery } from './query.ts';
import { type Check, openValidation } from './validation.ts';

export type RouteChecks = ReturnType<typeof compileRoute>;

const validation = openValidation();
const namesIn = ({ properties }: TObject) => Object.keys(properties);
/** Of what the frame itself has picked by the names of the schema. */
const checkOf = (place: 'path' | 'header', schema: TObject): Check =>
  namesIn(schema).length === 0 ? () => [] : validation.compile(place, schema);

/** Node reads the bytes of a header as Latin-1; clients send UTF-8. */
function textOf(given: string | string[]): string | string[] {
  if (typeof given !== 'string' || !/[\x80-\xff]/.test(given)) return given;
  const text = Buffer.from(given, 'latin1').toString();
  return text.includes('\ufffd') ? given : text;
}

export function compileRoute(route: Omit<Route, 'handler'>) {
  const path = checkOf('path', route.params);
  const query = validation.compile('query', route.query);
  const header = checkOf('header', route.headers);
  const takes_no_query = namesIn(route.query).length === 0;
  const rules = { keeps_empty: route.method === 'DELETE', is_open: route.access === 'none' };
  const header_names = namesIn(route.headers);
  return {
    /** The parameters with their types and defaults. */
    input(
      given_params: Record<string, string>,
      search: string,
      given_headers: IncomingHttpHeaders,
    ): { params: object; query: object; headers: object; problems: Problem[] } {
      const params = { ...given_params };
      const headers: Record<string, string | string[]> = {};
      for (const name of header_names) {
        const given = given_headers[name];
        if (given !== undefined) headers[name] = textOf(given);
      }
      if (takes_no_query && search === '')
        return { params, query: {}, headers, problems: [...path(params), ...header(headers)] };
      const read = readQuery(search, route.query, rules);
      const problems = [...path(params), ...read.problems, ...query(read.query), ...header(headers)];
      return { params, query: read.query, headers, problems };
    },
    body: route.body && 'schema' in route.body ? validation.compile('body', route.body.schema) : () => [],
  };
}
