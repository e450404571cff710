// Writes the heads of requests as browsers do. undici knows the names of two headers in lower case only, which some servers do not know,
// and looks at each header of each request anew. Decision 207 says why it writes none of them.
import { validateHeaderValue } from 'node:http';
import type net from 'node:net';
import { Writable } from 'node:stream';

const HOST = '\r\nhost: ';
const CONNECTION = '\r\nconnection: ';
/** What undici writes after the host of a request without headers. */
const WITHOUT_HEADERS = `${CONNECTION}keep-alive\r\n\r\n`;

/**
 * Makes the `write` of a socket that undici uses for HTTP/1.1. It names the first two headers as browsers do, and adds `usual`, names and
 * values, to a request that has no others. Throws when a value is none.
 */
export function headWriter(usual: readonly string[]): net.Socket['write'] {
  let lines = '';
  for (let i = 0; i < usual.length; i += 2) {
    const [name, value] = [usual[i]!, usual[i + 1]!];
    validateHeaderValue(name, value);
    lines += `${name}: ${value}\r\n`;
  }
  const with_usual = `\r\nConnection: keep-alive\r\n${lines}\r\n`;

  function browserHead(head: string): string {
    const host_at = head.indexOf(HOST);
    const has_none = head.endsWith(WITHOUT_HEADERS);
    const host_end = has_none ? head.length - WITHOUT_HEADERS.length : head.indexOf(CONNECTION, host_at);
    if (host_at < 0 || host_end < 0) return head;
    const rest = has_none ? with_usual : `\r\nConnection: ${head.slice(host_end + CONNECTION.length)}`;
    return `${head.slice(0, host_at)}\r\nHost: ${head.slice(host_at + HOST.length, host_end)}${rest}`;
  }

  function write(this: net.Socket, data: Uint8Array | string, encoding?: BufferEncoding, done?: () => void): boolean {
    const written = typeof data === 'string' && data.startsWith('GET ') ? browserHead(data) : data;
    return Writable.prototype.write.call(this, written, encoding as BufferEncoding, done);
  }
  return write as net.Socket['write'];
}
