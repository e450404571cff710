// Works on one request of a connection at a time. Requests that a client sends before the answer to an earlier one wait, and what waits
// is bounded: a connection above a limit is cut off.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { AddressShares, type Holder } from '../limits/address-shares.ts';
import type { HoldersOf } from './connections.ts';

/** The most requests of a connection, of an address and of all that wait for the answer to an earlier request. */
const MOST_WAITING = { of_a_connection: 100, of_an_address: 1000, all: 10_000 };
/** The most characters in the headers that wait on a connection. */
const MOST_CHARS = 64 * 1024;

interface Pipeline {
  /** Null until a request waits. */
  holders: readonly Holder[] | null;
  waiting: { chars: number; begin(): void }[];
  chars: number;
}

export class Pipelines {
  readonly #shares = new AddressShares(MOST_WAITING);
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
      this.#working.set(socket, { holders: null, waiting: [], chars: 0 });
      next();
      return;
    }
    const chars = request.rawHeaders.reduce((sum, text) => sum + text.length, request.url?.length ?? 0);
    pipeline.holders ??= holdersOf(socket);
    const is_full = pipeline.waiting.length >= MOST_WAITING.of_a_connection || pipeline.chars + chars > MOST_CHARS;
    if (is_full || !this.#shares.hasRoom(pipeline.holders, 1)) {
      socket.destroy();
      return;
    }
    pipeline.waiting.push({ chars, begin: next });
    pipeline.chars += chars;
    this.#shares.add(pipeline.holders, 1);
  }

  #next(socket: Socket): void {
    const pipeline = this.#working.get(socket);
    if (!pipeline) return;
    const following = socket.destroyed ? undefined : pipeline.waiting.shift();
    if (following === undefined) {
      this.#shares.add(pipeline.holders ?? [], -pipeline.waiting.length);
      this.#working.delete(socket);
      return;
    }
    pipeline.chars -= following.chars;
    this.#shares.add(pipeline.holders ?? [], -1);
    following.begin();
  }
}
