// A case of the laboratory: what a server does, in bytes, and what the checker says of it.
import type { Socket } from 'node:net';
import type { TlsOptions } from 'node:tls';
import type { Certificates } from './certificates.ts';

/** One request that a case's server has got. */
export interface Asked {
  /** Path and query. */
  path: string;
  /** As it was sent, with the port. */
  host: string;
  cookie: string;
  /** How many requests for this path have come, with this one. */
  visit: number;
}
export type Answer = (asked: Asked, socket: Socket) => void;

export interface LabCase {
  /** The name of its host, too. */
  name: string;
  /** Where people met it: the tracker and the number. */
  from?: string;
  answer: Answer;
  /** Runs for each connection, the first being 1, before its requests are read. True: it took the connection. */
  accept?: (socket: Socket, connection: number) => boolean;
  /** The path to check; `/page` by default. */
  path?: string;
  /** Options of its TLS server. */
  tls?: (certificates: Certificates) => TlsOptions;
  /** Its URL is https; without `tls` it gets the bytes of the handshake. */
  is_secure?: true;
  /** Status, verdict and error code of the outcome, such as `200 ok` or `- unreachable tls_expired`. */
  expected: string;
  /** Why it answers otherwise than Chromium does, where that is intended. */
  choice?: string;
}

export const PAGE =
  '<!doctype html><html lang="en"><head><title>A page about gardens</title></head><body><h1>A page about gardens</h1><p>' +
  `${'Honest prose about gardens, rivers and bridges of the town. '.repeat(20)}</p></body></html>`;
export const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n';

/** Answers every request with these bytes (of a latin1 string), and leaves the connection open. */
export function bytes(text: string | Buffer): Answer {
  return (_asked, socket) => socket.write(typeof text === 'string' ? Buffer.from(text, 'latin1') : text);
}
/** The same, and ends the connection. */
export function last(text: string | Buffer): Answer {
  return (_asked, socket) => socket.end(typeof text === 'string' ? Buffer.from(text, 'latin1') : text);
}
export function page(lines = '', body: string | Buffer = PAGE, status = '200 OK'): Answer {
  const content = Buffer.from(body);
  const head = `HTTP/1.1 ${status}\r\nContent-Type: text/html; charset=utf-8\r\n${lines}Content-Length: ${content.length}\r\n\r\n`;
  return bytes(Buffer.concat([Buffer.from(head, 'latin1'), content]));
}
export function to(location: string, status = '302 Found', lines = ''): Answer {
  return bytes(`HTTP/1.1 ${status}\r\nLocation: ${location}\r\n${lines}Content-Length: 0\r\n\r\n`);
}
/** The answer at `path`, a page at `/there`, and nothing elsewhere. */
export function site(answer: Answer, path = '/page'): Answer {
  return (asked, socket) => {
    if (asked.path === path) answer(asked, socket);
    else if (/^\/there(?:$|\?)/.test(asked.path)) page()(asked, socket);
    else page('', '<title>Not found</title>', '404 Not Found')(asked, socket);
  };
}
