// Raw headers: a server may repeat any of them, although the types of Node's parser say otherwise.
import type { IncomingHttpHeaders } from 'node:http';

/** The first value of a header (`name` in lower case), or undefined. */
export function firstOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}

/**
 * The value without the white space around it. A header is bytes that were read as latin1: `trim` would take 0xA0 for a space, which ends
 * letters in UTF-8, such as à.
 */
export function trimmed(value: string): string {
  let start = 0;
  let end = value.length;
  while (start < end && isSpace(value.charCodeAt(start))) start++;
  while (end > start && isSpace(value.charCodeAt(end - 1))) end--;
  return value.slice(start, end);
}

/** A space, or a control from the tab to the carriage return. */
const isSpace = (code: number) => code === 0x20 || (code >= 9 && code <= 13);
