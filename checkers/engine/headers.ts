// Raw headers: a server may repeat any of them, although the types of Node's parser say otherwise.
import type { IncomingHttpHeaders } from 'node:http';

/** The first value of a header (`name` in lower case), or undefined. */
export function firstOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}
