// Headers as they came: any of them may have come more than once, whatever the types of Node's own parser say.
import type { IncomingHttpHeaders } from 'node:http';

/** The first value of a header (`name` in lower case), or undefined. */
export function firstOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}
