// One HTTP request on one connection, as undici's handler. It ends exactly once, with a response (whole, or as much of it
// as the check wanted or the server sent) or with an error code.
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { ErrorCode } from '../../events/checks.ts';
import type { Placed } from './bag.ts';
import type { Connection, SecondLook } from './connections.ts';
import { bytesReadAtEnd, errorCodeOf, isHandshakeFailure, isHttp2Wanted, isShortage, isStrictness } from './errors.ts';
import { firstOf } from './headers.ts';
import { MAX_ANSWER_BYTES } from './limits.ts';
import { tlsDetailOf } from './tls-details.ts';

/** An unwanted body up to this size is read and dropped, so that the connection can be reused. */
const DRAIN_BYTES = 64 * 1024;

/** A server that says nothing for this long is silent: four of five answer sooner. */
const SILENT_MS = 1000;
/** Most 1xx responses before the final one. */
const MAX_INTERIM = 100;
/** A body in more pieces is copied to one buffer, because a piece takes far more memory than its bytes. */
const MAX_PIECES = 32;

const REQUEST_TIMEOUT = 408;
const MISDIRECTED_REQUEST = 421;
/** 426 Upgrade Required, 464 of load balancers that expect another protocol, 505 HTTP Version Not Supported. */
const WANTS_HTTP2: ReadonlySet<number> = new Set([426, 464, 505]);

const NO_HEADERS: IncomingHttpHeaders = {};
const NO_CHUNKS: Buffer[] = [];

export interface Limits {
  /** From the start of the request to the established connection, TLS included. */
  connect_ms: number;
  /** From the headers of a response to the end of its body. */
  body_ms: number;
}

/** The owner starts the exchange; the exchange calls `ended` once. */
export interface ExchangeOwner {
  readonly limits: Limits;
  now(): number;
  ended(exchange: Exchange): void;
}

/** The check that needs the response. */
export interface Requester {
  /** How many bytes of the body it wants; 0 for none. */
  bytesWanted(status: number, headers: IncomingHttpHeaders): number;
  /** End of its attempt, by the owner's clock. */
  readonly deadline: number;
}

export class Exchange implements Dispatcher.DispatchHandler, Placed {
  place = -1;
  readonly check: Requester;
  readonly connection: Connection;
  readonly #owner: ExchangeOwner;
  readonly #made: number;

  #phase: 'connecting' | 'waiting' | 'body' | 'ended' = 'connecting';
  #phase_at: number;
  #wanted = 0;
  /** At this size of the body the connection is given up. */
  #enough = 0;

  /** Null when a response came: `status` and `headers` describe it. */
  failure: ErrorCode | null = null;
  /** What is wrong with the TLS of the server, for its owner. */
  tls_detail: string | null = null;
  /** The machine lacked resources for the request: the failure says nothing of the URL. */
  is_shortage = false;
  /** How another request may get the answer that this one did not: the answer is malformed, or the server wants HTTP/2. */
  second_look: SecondLook | null = null;
  status = 0;
  headers: IncomingHttpHeaders = NO_HEADERS;
  /** When the headers came, by the owner's clock. */
  responded_at = 0;
  /** The bytes that the check wanted of the body, and what came with them. */
  chunks: Buffer[] = NO_CHUNKS;
  #size = 0;
  #gathered: Buffer | null = null;
  #interim = 0;
  /** The bytes that its socket had read before. */
  #read_before = 0;
  /** Whether the connection can serve another request. */
  reusable = false;

  constructor(check: Requester, connection: Connection, owner: ExchangeOwner, now: number) {
    this.check = check;
    this.connection = connection;
    this.#owner = owner;
    this.#made = connection.made;
    this.#phase_at = now;
  }

  /**
   * Whether it failed on a reused connection. The server may have closed it as idle, perhaps with 408 Request Timeout before
   * (https://www.rfc-editor.org/rfc/rfc9110#section-15.5.9), so the request is sent again.
   */
  get failedOnUsedConnection(): boolean {
    const is_ended = this.failure === 'connection_reset' || this.status === REQUEST_TIMEOUT;
    return is_ended && this.#made > 0 && this.connection.made === this.#made;
  }

  onRequestStart(): void {
    if (this.#phase !== 'connecting') return;
    this.#phase = 'waiting';
    this.#read_before = this.#bytesRead();
  }

  #bytesRead(): number {
    return this.connection.socket?.bytesRead ?? 0;
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (this.#phase === 'ended') return;
    if (status < 200) {
      if (++this.#interim <= MAX_INTERIM) return;
      this.failure = 'malformed_response';
      this.#end(false);
      return;
    }
    this.#phase = 'body';
    this.#phase_at = this.#owner.now();
    this.responded_at = this.#phase_at;
    this.status = status;
    this.headers = headers;
    const { origin, speaks_h2 } = this.connection;
    if (WANTS_HTTP2.has(status) && origin.startsWith('https:') && !speaks_h2) this.second_look = 'h2';
    // A second look has a connection of its own, which may reach the right server (RFC 9110, 15.5.20). Browsers try that too.
    else if (status === MISDIRECTED_REQUEST) this.second_look = 'lenient';
    this.#wanted = this.check.bytesWanted(status, headers);
    const is_big = Number(firstOf(headers, 'content-length')) > DRAIN_BYTES;
    this.#enough = is_big ? this.#wanted : Math.max(this.#wanted, DRAIN_BYTES);
    if (this.#enough === 0 || this.failedOnUsedConnection) this.#end(false);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#phase !== 'body') return;
    if (this.#size < this.#wanted) this.#keep(chunk);
    this.#size += chunk.length;
    if (this.#size >= this.#enough) this.#end(false);
  }

  #keep(chunk: Buffer): void {
    if (this.#gathered !== null) {
      chunk.copy(this.#gathered, this.#size);
    } else if (this.chunks === NO_CHUNKS) {
      this.chunks = [chunk];
    } else if (this.chunks.push(chunk) === MAX_PIECES) {
      this.#gathered = Buffer.allocUnsafe(this.#wanted);
      let at = 0;
      for (const piece of this.chunks) at += piece.copy(this.#gathered, at);
      this.chunks = NO_CHUNKS;
    }
  }

  onResponseEnd(): void {
    if (this.#phase === 'body') this.#end(true);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#phase === 'ended') return;
    // The headers decide the status; a truncated body only gives less evidence.
    if (this.#phase !== 'body') {
      const code = errorCodeOf(error, this.#phase === 'waiting');
      this.failure = code === 'connection_reset' && this.connection.got_alert ? 'tls_failed' : code;
      if (this.failure.startsWith('tls_')) this.tls_detail = tlsDetailOf(error);
      if (isHttp2Wanted(error) || this.#endsHandshake(error)) this.second_look = 'h2';
      else if (isStrictness(error) || this.#endsInHead(error)) this.second_look = 'lenient';
      this.is_shortage = isShortage(error);
    }
    this.#end(false);
  }

  /** Whether the server ended the handshake without a reason, as some do that speak HTTP/2 alone: browsers always offer it. */
  #endsHandshake(error: Error): boolean {
    const { origin, offers_h2 } = this.connection;
    if (this.#phase !== 'connecting' || offers_h2 || !origin.startsWith('https:')) return false;
    return this.failure === 'connection_reset' || isHandshakeFailure(error);
  }

  /** Whether the server closed the connection in the middle of the head. */
  #endsInHead(error: Error): boolean {
    return this.#phase === 'waiting' && bytesReadAtEnd(error) > this.#read_before;
  }

  /** Whether the server has said nothing for some time. */
  isSilent(now: number): boolean {
    return (this.#phase === 'connecting' || this.#phase === 'waiting') && now - this.#phase_at > SILENT_MS;
  }

  /** Ends the exchange when one of its limits, also that of its bytes, or the attempt's `deadline` has passed. */
  sweep(now: number, deadline: number): void {
    const { connect_ms, body_ms } = this.#owner.limits;
    const elapsed = now - this.#phase_at;
    const late = now >= deadline;
    if (this.#phase === 'connecting') {
      if (!late && elapsed < connect_ms) return;
      this.failure = 'connect_timeout';
      this.#end(false);
      return;
    }
    const floods = this.#bytesRead() - this.#read_before > MAX_ANSWER_BYTES;
    if (this.#phase === 'waiting') {
      if (!late && !floods) return;
      this.failure = floods ? 'malformed_response' : 'response_timeout';
    } else if (!late && !floods && elapsed < body_ms) {
      return;
    }
    this.#end(false);
  }

  /** Ends the exchange without calling the owner. */
  abandon(): void {
    this.#phase = 'ended';
  }

  #end(reusable: boolean): void {
    if (this.#phase === 'ended') return;
    this.#phase = 'ended';
    this.reusable = reusable;
    if (this.#gathered !== null) this.chunks = [this.#gathered.subarray(0, Math.min(this.#size, this.#wanted))];
    this.#owner.ended(this);
  }
}
