// Reads an answer that undici's strict parser refused. Browsers open pages whose headers break the rules, so such a page is
// not broken. Its connection serves no other request. Decision 20 says why.
import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { Dispatcher } from 'undici';
import { CheckFailure } from './errors.ts';
import { trimmed } from './headers.ts';
import { MAX_HEAD_BYTES } from './limits.ts';

type Connect = (done: (error: Error | null, socket: Socket | null) => void) => void;

/** Stands in for undici's Client for one request. */
export class LenientClient {
  readonly #host: string;
  readonly #is_secure: boolean;
  readonly #connect: Connect;
  #socket: Socket | null = null;
  destroyed = false;

  constructor(origin: string, connect: Connect) {
    const { host, protocol } = new URL(origin);
    this.#host = host;
    this.#is_secure = protocol === 'https:';
    this.#connect = connect;
  }

  dispatch({ path, headers }: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const pairs = headers as readonly string[];
    let request = `GET ${path} HTTP/1.1\r\nHost: ${this.#host}\r\nConnection: close\r\n`;
    for (let i = 0; i < pairs.length; i += 2) request += `${pairs[i]}: ${pairs[i + 1]}\r\n`;

    this.#connect((error, socket) => {
      if (socket === null) {
        handler.onResponseError?.(CONTROLLER, error ?? new CheckFailure('connection_reset'));
        return;
      }
      this.#socket = socket;
      readAnswer(socket, handler, !this.#is_secure);
      handler.onRequestStart?.(CONTROLLER, {});
      socket.write(Buffer.from(`${request}\r\n`, 'latin1'));
    });
    return true;
  }

  destroy(_error: Error | null, done: () => void): void {
    this.destroyed = true;
    this.#socket?.destroy();
    done();
  }
}

/** A controller that pauses nothing, because a head is small. */
const CONTROLLER: Dispatcher.DispatchController = {
  aborted: false,
  paused: false,
  reason: null,
  abort() {},
  pause() {},
  resume() {},
};

export interface Head {
  status: number;
  headers: IncomingHttpHeaders;
}

/**
 * Passes the answer on `socket` to the handler: its head, and its body unless that is chunked. The end of the connection may end the
 * head too, but not over TLS, where browsers take such a head for truncated.
 */
function readAnswer(socket: Socket, handler: Dispatcher.DispatchHandler, may_end_in_head: boolean): void {
  const reader = new HeadReader();
  /** The bytes of the body still to come; null before the head came, or after the answer's end. */
  let left: number | null = null;
  let is_over = false;
  const over = (error: Error | null): void => {
    if (is_over) return;
    is_over = true;
    if (error === null) handler.onResponseEnd?.(CONTROLLER, {});
    else handler.onResponseError?.(CONTROLLER, error);
  };
  const begin = (head: Head | null): void => {
    if (head === null) {
      over(new CheckFailure(reader.empty ? 'connection_reset' : 'malformed_response'));
      return;
    }
    left = bodyBytes(head.headers);
    handler.onResponseStart?.(CONTROLLER, head.status, head.headers);
  };
  const pass = (body: Buffer): void => {
    if (left === null || is_over) return;
    if (body.length > 0 && left > 0) handler.onResponseData?.(CONTROLLER, body.subarray(0, left));
    left -= body.length;
    // The connection serves no other request, so the handler sees it break off.
    if (left <= 0) over(new CheckFailure('connection_reset'));
  };
  socket.on('error', over);
  socket.once('end', () => {
    if (left === null && !is_over && may_end_in_head) begin(reader.end());
  });
  socket.once('close', () =>
    over(new CheckFailure(left !== null || reader.empty ? 'connection_reset' : 'malformed_response')),
  );
  socket.on('data', (chunk: Buffer) => {
    if (is_over) return;
    if (left !== null) return pass(chunk);
    const head = reader.read(chunk);
    if (head === 'more') return;
    begin(head);
    pass(reader.rest);
  });
}

/** The length of a body by its header; without one it ends with the connection. The framing of a chunked body is not read. */
function bodyBytes(headers: IncomingHttpHeaders): number {
  if (headers['transfer-encoding'] !== undefined) return 0;
  const length = Number.parseInt(`${headers['content-length']}`, 10);
  return length >= 0 ? length : Number.POSITIVE_INFINITY;
}

/**
 * As Chromium reads it: up to four bytes may stand before it, a version may be anything, a line without a code means 200, zeros may
 * stand before the code, and streams of radios say ICY.
 */
const STATUS_LINE = /^(?:.{0,4}?HTTP|ICY(?= ))[^ \t]{0,20}(?:[ \t]+(?:0{0,9}([1-9]\d\d)(?!\d)|(?!\d))|$)/is;
/** The usual head fits. The reader takes more as it comes. */
const FIRST_BYTES = 16 * 1024;

/** Assembles the head of the final response from pieces, and skips interim responses. */
export class HeadReader {
  #bytes = Buffer.allocUnsafe(FIRST_BYTES);
  #size = 0;
  /** Start of the current head in `#bytes`. */
  #from = 0;
  /** The next byte to look at. */
  #searched = 0;
  /** The end of the line after which only CRs have come; negative while the reader looks for one. */
  #line = -1;
  /** What follows the head in its last piece: the beginning of the body. */
  rest: Buffer = Buffer.alloc(0);

  /** Whether nothing came, or nothing after interim responses. */
  get empty(): boolean {
    return this.#size === this.#from;
  }

  /** Returns the final head, 'more' until it is complete, or null when it is malformed or too long. */
  read(piece: Buffer): Head | null | 'more' {
    this.#keep(piece);
    for (;;) {
      if (this.#line < 0 && !this.#findLine()) return this.#more();
      while (this.#searched < this.#size && this.#bytes[this.#searched] === CR) this.#searched++;
      if (this.#searched === this.#size) return this.#more();
      const end = this.#line;
      this.#line = -1;
      if (this.#bytes[this.#searched] !== LF) continue;
      this.#searched++;
      const head = readHead(this.#bytes.toString('latin1', this.#from, end));
      if (head === null || head.status >= 200) {
        this.rest = piece.subarray(piece.length - Math.min(this.#size - this.#searched, piece.length));
        return head;
      }
      this.#from = this.#searched;
    }
  }

  /** The connection has ended in the middle of a head: browsers take what came of it. */
  end(): Head | null {
    return readHead(this.#bytes.toString('latin1', this.#from, this.#size));
  }

  #findLine(): boolean {
    // Line breaks may stand before a head (RFC 9112, 2.2).
    if (this.#searched === this.#from) {
      while (this.#from < this.#size && isBreak(this.#bytes[this.#from])) this.#searched = ++this.#from;
    }
    this.#line = this.#bytes.subarray(0, this.#size).indexOf(LF, this.#searched);
    this.#searched = this.#line < 0 ? this.#size : this.#line + 1;
    return this.#line >= 0;
  }

  #keep(piece: Buffer): void {
    if (this.#size + piece.length > this.#bytes.length && this.#bytes.length < MAX_HEAD_BYTES) {
      const larger = Buffer.allocUnsafe(Math.min(MAX_HEAD_BYTES, 2 * (this.#size + piece.length)));
      this.#bytes.copy(larger, 0, 0, this.#size);
      this.#bytes = larger;
    }
    this.#size += piece.copy(this.#bytes, this.#size);
  }

  #more(): 'more' | null {
    return this.#size < MAX_HEAD_BYTES ? 'more' : null;
  }
}

const CR = 13;
const LF = 10;
const isBreak = (byte: number | undefined) => byte === CR || byte === LF;

/** Null for heads that browsers refuse too: no status, a NUL, a protocol switch, contradictory lengths of a body without chunks. */
function readHead(text: string): Head | null {
  const [line = '', ...fields] = text.split(LINE_END);
  const found = STATUS_LINE.exec(line);
  if (found === null) return null;
  const status = Number(found[1] ?? 200);
  if (status === 101 || text.includes('\0')) return null;
  const headers = readFields(fields);
  const is_measured = headers['transfer-encoding'] === undefined;
  return is_measured && differ(headers['content-length']) ? null : { status, headers };
}

/** Servers end a line with any number of CRs before the LF, or with a CR alone. */
const LINE_END = /\r+\n?|\n/;

function readFields(lines: readonly string[]): IncomingHttpHeaders {
  const headers: Record<string, string | string[]> = Object.create(null);
  let last: string | null = null;
  for (const line of lines) {
    const folded = /^[ \t]/.test(line);
    const colon = line.indexOf(':');
    if (folded && last !== null) {
      const so_far = headers[last]!;
      const more = ` ${trimmed(line)}`;
      if (typeof so_far === 'string') headers[last] = so_far + more;
      else so_far[so_far.length - 1] += more;
      continue;
    }
    if (colon <= 0) continue;
    last = line.slice(0, colon).trim().toLowerCase();
    const value = trimmed(line.slice(colon + 1));
    const known = headers[last];
    if (known === undefined) headers[last] = value;
    else if (typeof known === 'string') headers[last] = [known, value];
    else known.push(value);
  }
  return headers as IncomingHttpHeaders;
}

/** Whether lengths, in one field or several, are not all the same (RFC 9112, 6.3). */
function differ(value: string | string[] | undefined): boolean {
  return new Set(`${value}`.split(',').map((length) => length.trim())).size > 1;
}
