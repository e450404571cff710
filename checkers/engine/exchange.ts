// One HTTP request on one connection: undici's handler. It ends exactly once, with a response (whole, or as much of it
// as was wanted or came) or with an error code, whatever the server does.
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { ErrorCode } from '../../events/checks.ts';
import type { Connection } from './connections.ts';
import { errorCodeOf, isShortage, isStrictness } from './errors.ts';
import { firstOf } from './headers.ts';

/** A body that no one wants is read up to here, to keep the connection; a longer one costs it. */
const DRAIN_BYTES = 64 * 1024;

/** Of 1xx before the answer: who sends more only keeps us busy. */
const MAX_INTERIM = 100;
/** A body that comes in more pieces is gathered in one buffer: a piece takes far more memory than its bytes. */
const MAX_PIECES = 32;

const NO_HEADERS: IncomingHttpHeaders = {};
const NO_CHUNKS: Buffer[] = [];

export interface Limits {
  /** From the start to the connection, its name resolved and TLS agreed. */
  connect_ms: number;
  /** From a response's headers to the end of its body. */
  body_ms: number;
}

/** Who started it: told once, when it has ended. */
export interface ExchangeOwner {
  readonly limits: Limits;
  now(): number;
  ended(exchange: Exchange): void;
}

/** For whom a request is made. */
export interface Requester {
  /** How much of the body it wants; 0 for nothing. */
  bytesWanted(status: number, headers: IncomingHttpHeaders): number;
  /** When its attempt has to have ended, by the owner's clock. */
  readonly deadline: number;
}

export class Exchange implements Dispatcher.DispatchHandler {
  readonly check: Requester;
  readonly connection: Connection;
  readonly #owner: ExchangeOwner;
  readonly #made: number;

  #phase: 'connecting' | 'waiting' | 'body' | 'ended' = 'connecting';
  #phase_at: number;
  #wanted = 0;

  /** Null when a response came: then `status` and `headers` are its. */
  failure: ErrorCode | null = null;
  /** It was not made, for this machine lacked something: the failure says nothing. */
  is_shortage = false;
  /** Of a malformed answer: a lenient reader may understand it. */
  worth_second_look = false;
  status = 0;
  headers: IncomingHttpHeaders = NO_HEADERS;
  /** When the headers were there, by the owner's clock. */
  responded_at = 0;
  /** What was read of a body that the check wanted. */
  chunks: Buffer[] = NO_CHUNKS;
  #size = 0;
  #gathered: Buffer | null = null;
  #interim = 0;
  /** Whether the connection can serve another request. */
  reusable = false;

  constructor(check: Requester, connection: Connection, owner: ExchangeOwner, now: number) {
    this.check = check;
    this.connection = connection;
    this.#owner = owner;
    this.#made = connection.made;
    this.#phase_at = now;
  }

  /** Whether it failed on a connection that others had used: the server may just have closed it, which says nothing. */
  get failedOnUsedConnection(): boolean {
    return this.failure === 'connection_reset' && this.#made > 0 && this.connection.made === this.#made;
  }

  onRequestStart(): void {
    if (this.#phase !== 'connecting') return;
    this.#phase = 'waiting';
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
    this.#wanted = this.check.bytesWanted(status, headers);
    if (this.#wanted === 0 && Number(firstOf(headers, 'content-length')) > DRAIN_BYTES) this.#end(false);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#phase !== 'body') return;
    if (this.#wanted > 0) this.#keep(chunk);
    this.#size += chunk.length;
    if (this.#wanted > 0) {
      if (this.#size >= this.#wanted) this.#end(false);
    } else if (this.#size > DRAIN_BYTES) {
      this.#end(false);
    }
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
    // A response is judged by its headers: a body that breaks off is only less evidence.
    if (this.#phase !== 'body') {
      this.failure = errorCodeOf(error, this.#phase === 'waiting');
      this.worth_second_look = isStrictness(error);
      this.is_shortage = isShortage(error);
    }
    this.#end(false);
  }

  /** Ends it when a limit has passed: its own, or its attempt's (`deadline`). */
  sweep(now: number, deadline: number): void {
    const { connect_ms, body_ms } = this.#owner.limits;
    const elapsed = now - this.#phase_at;
    const late = now >= deadline;
    if (this.#phase === 'connecting') {
      if (!late && elapsed < connect_ms) return;
      this.failure = this.connection.resolving ? 'dns_failed' : 'connect_timeout';
    } else if (this.#phase === 'waiting') {
      if (!late) return;
      this.failure = 'response_timeout';
    } else if (!late && elapsed < body_ms) {
      return;
    }
    this.#end(false);
  }

  /** Ends it without telling the owner. */
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
