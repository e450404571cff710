// Reads an answer that undici's strict parser refused. Browsers open pages whose headers break the rules, so such a page is
// not broken. The client reads the head only, and its connection serves no other request.
import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { Dispatcher } from 'undici';
import { CheckFailure } from './errors.ts';

const MAX_HEAD_BYTES = 64 * 1024;

type Connect = (done: (error: Error | null, socket: Socket | null) => void) => void;

/** Stands in for undici's Client for one request. */
export class LenientClient {
  readonly #host: string;
  readonly #connect: Connect;
  #socket: Socket | null = null;
  destroyed = false;

  constructor(origin: string, connect: Connect) {
    this.#host = new URL(origin).host;
    this.#connect = connect;
  }

  dispatch({ path, headers }: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const pairs = headers as readonly string[];
    let request = `GET ${path} HTTP/1.1\r\nhost: ${this.#host}\r\nconnection: close\r\n`;
    for (let i = 0; i < pairs.length; i += 2) request += `${pairs[i]}: ${pairs[i + 1]}\r\n`;

    const failed = (error: Error): void => handler.onResponseError?.(CONTROLLER, error);
    this.#connect((error, socket) => {
      if (socket === null) return failed(error ?? new CheckFailure('connection_reset'));
      this.#socket = socket;
      const reader = new HeadReader();
      let ended = false;
      const end = (outcome: Head | Error): void => {
        if (ended) return;
        ended = true;
        if (outcome instanceof Error) {
          failed(outcome);
        } else {
          handler.onResponseStart?.(CONTROLLER, outcome.status, outcome.headers);
          // The client does not read the body: the handler sees it break off.
          failed(new CheckFailure('connection_reset'));
        }
      };
      socket.on('error', end);
      socket.once('close', () => end(new CheckFailure(reader.empty ? 'connection_reset' : 'malformed_response')));
      socket.on('data', (chunk: Buffer) => {
        if (ended) return;
        const head = reader.read(chunk);
        if (head !== 'more') end(head ?? new CheckFailure('malformed_response'));
      });
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

const STATUS_LINE = /^HTTP\/\d(?:\.\d)? +([1-9]\d\d)(?!\d)/i;

/** Assembles the head of the final response from pieces, and skips interim responses. */
export class HeadReader {
  readonly #bytes = Buffer.allocUnsafe(MAX_HEAD_BYTES);
  #size = 0;
  /** Start of the current head in `#bytes`. */
  #from = 0;

  get empty(): boolean {
    return this.#size === 0;
  }

  /** Returns the final head, 'more' until it is complete, or null when it is malformed or too long. */
  read(piece: Buffer): Head | null | 'more' {
    // A blank line may have begun in the piece before.
    let searched = Math.max(this.#from, this.#size - 2);
    this.#size += piece.copy(this.#bytes, this.#size);
    for (;;) {
      const line = this.#bytes.subarray(0, this.#size).indexOf('\n', searched);
      if (line < 0) return this.#size < MAX_HEAD_BYTES ? 'more' : null;
      searched = line + 1;
      const next = this.#bytes[searched] === CR ? searched + 1 : searched;
      if (next >= this.#size || this.#bytes[next] !== LF) continue;
      const head = readHead(this.#bytes.toString('latin1', this.#from, line));
      if (head === null || head.status >= 200) return head;
      this.#from = next + 1;
      searched = this.#from;
    }
  }
}

const CR = 13;
const LF = 10;

/** Null for heads that browsers refuse too: no status, a NUL, a protocol switch, contradictory lengths. */
function readHead(text: string): Head | null {
  const [line = '', ...fields] = text.split(/\r?\n/);
  const status = Number(STATUS_LINE.exec(line)?.[1]);
  if (Number.isNaN(status) || status === 101 || text.includes('\0')) return null;
  const headers = readFields(fields);
  return differ(headers['content-length']) ? null : { status, headers };
}

function readFields(lines: readonly string[]): IncomingHttpHeaders {
  const headers: Record<string, string | string[]> = Object.create(null);
  let last: string | null = null;
  for (const line of lines) {
    const folded = /^[ \t]/.test(line);
    const colon = line.indexOf(':');
    if (folded && last !== null) {
      const so_far = headers[last]!;
      const more = ` ${line.trim()}`;
      if (typeof so_far === 'string') headers[last] = so_far + more;
      else so_far[so_far.length - 1] += more;
      continue;
    }
    if (colon <= 0) continue;
    last = line.slice(0, colon).trim().toLowerCase();
    const value = line.slice(colon + 1).trim();
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
