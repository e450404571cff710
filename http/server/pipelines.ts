// Works on one request of a connection at a time. Requests that a client sends before the answer to an earlier one wait, and what waits
// is bounded: a connection above a limit is cut off.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { hasBody } from '../frame/input/bodies.ts';
import { AddressShares, type Holder } from '../frame/limits/address-shares.ts';
import type { HoldersOf } from './connections.ts';

/** The most requests of a connection that wait. */
const MOST_REQUESTS = 100;
const KIB = 1024;
/** The most bytes of the requests that wait: of a connection, of an address and of all. */
const MOST_BYTES = { of_a_connection: 512 * KIB, of_an_address: 4096 * KIB, all: 40 * 1024 * KIB };
/** What Node keeps of a request beside its headers and its body. */
const REQUEST_BYTES = 4 * KIB;
/** The most of a body that Node reads before somebody takes it. */
const BODY_BYTES = 128 * KIB;

interface Pipeline {
  /** Null until a request waits. */
  holders: readonly Holder[] | null;
  waiting: { bytes: number; begin(): void }[];
  bytes: number;
}

export class Pipelines {
  readonly #shares = new AddressShares(MOST_BYTES);
  /** The connections with a request that is worked on. */
  readonly #working = new Map<Socket, Pipeline>();

  /** Calls `begin` when each earlier request of the connection is answered. */
  enter(request: IncomingMessage, response: ServerResponse, holdersOf: HoldersOf, begin: () => void): void {
    const { socket } = request;
    const pipeline = this.#working.get(socket);
    const next = () => {
      response.once('close', () => this.#next(socket));
      begin();
    };
    if (pipeline === undefined) {
      this.#working.set(socket, { holders: null, waiting: [], bytes: 0 });
      next();
      return;
    }
    const bytes = bytesOf(request);
    pipeline.holders ??= holdersOf(socket);
    const is_full = pipeline.waiting.length >= MOST_REQUESTS || pipeline.bytes + bytes > MOST_BYTES.of_a_connection;
    if (is_full || !this.#shares.hasRoom(pipeline.holders, bytes)) {
      socket.destroy();
      return;
    }
    pipeline.waiting.push({ bytes, begin: next });
    pipeline.bytes += bytes;
    this.#shares.add(pipeline.holders, bytes);
  }

  #next(socket: Socket): void {
    const pipeline = this.#working.get(socket);
    if (!pipeline) return;
    const following = socket.destroyed ? undefined : pipeline.waiting.shift();
    if (following === undefined) {
      this.#shares.add(pipeline.holders ?? [], -pipeline.bytes);
      this.#working.delete(socket);
      return;
    }
    pipeline.bytes -= following.bytes;
    this.#shares.add(pipeline.holders ?? [], -following.bytes);
    following.begin();
  }
}

function bytesOf(request: IncomingMessage): number {
  const headers = request.rawHeaders.reduce((sum, text) => sum + text.length, request.url?.length ?? 0);
  // A body in chunks announces no length.
  const body = hasBody(request) ? Number(request.headers['content-length'] ?? BODY_BYTES) : 0;
  return REQUEST_BYTES + headers + Math.min(body, BODY_BYTES);
}
