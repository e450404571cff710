// What stands before the application: one request of a connection at a time, probes at once, others in turns, and nobody who lets too much
// wait unread. Decision 126 says why.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { openClientAddress } from '../frame/client-address.ts';
import { AddressShares, type Holder, holdersOf } from '../frame/limits/address-shares.ts';
import { RequestTurns, restTurn } from '../frame/request-turns.ts';
import { Pipelines } from './pipelines.ts';
import { Unread, unreadLimits } from './unread.ts';

export interface FrontOptions {
  log: Logger;
  /** CIDRs of proxies whose headers name the client. */
  trusted_proxies?: readonly string[];
  max_unread_bytes?: number;
  /** How long a request may wait for its turn. */
  request_wait_ms?: number;
}

/** What a request is, for the front. */
export interface Arrived {
  request: IncomingMessage;
  response: ServerResponse;
  /** A probe waits for nothing, unless its address sends many. */
  isProbe(): boolean;
  begin(): void;
  /** Answers 503 without the application. */
  refuse(): void;
}

const MAX_UNREAD_BYTES = 64 * 1024 * 1024;
/** The most probes of an address and of all that begin at once in a second. Further ones take turns with other requests. */
const PROBES_A_SECOND = { of_an_address: 50, all: 500 };
/** The end of credentials is enough to tell callers of one address apart: a signature, or random characters. */
const CREDENTIAL_CHARS = 48;

export class Front {
  readonly unread: Unread;
  readonly #turns: RequestTurns;
  readonly #pipelines = new Pipelines();
  readonly #clientAddress: ReturnType<typeof openClientAddress>;
  #probes = new AddressShares(PROBES_A_SECOND);
  #probes_from_ms = 0;
  /** Of the client whose request a connection serves now. */
  readonly #clients = new WeakMap<Socket, { address: string; holders: readonly Holder[] }>();

  constructor(options: FrontOptions) {
    const { log, trusted_proxies = [], max_unread_bytes = MAX_UNREAD_BYTES, request_wait_ms: wait_ms } = options;
    this.#turns = new RequestTurns(wait_ms === undefined ? {} : { wait_ms });
    this.#clientAddress = openClientAddress(trusted_proxies);
    const holdersOf = (socket: Socket) => this.#clients.get(socket)?.holders ?? [];
    this.unread = new Unread({ limits: unreadLimits(max_unread_bytes), holdersOf, log });
  }

  /** Whom a connection counts for: nobody where a trusted proxy opened it. */
  readonly peersOf = (socket: Socket): readonly Holder[] => {
    const peer = this.#clientAddress.peerOf(socket);
    return peer === null ? [] : holdersOf(peer);
  };

  enter(arrived: Arrived): void {
    const { request, response } = arrived;
    this.#pipelines.enter(request, response, this.peersOf, () => this.#begin(arrived));
  }

  measure(registry: Registry): void {
    this.unread.measure(registry);
    this.#turns.measure(registry);
  }

  #begin({ request, response, isProbe, begin, refuse }: Arrived): void {
    const holders = this.#clientOf(request);
    if (isProbe() && this.#isSoon(holders)) begin();
    else if (this.unread.isFull(holders)) refuse();
    else {
      const of = [...holders.map(([name]) => name), credentialsOf(request)];
      const leave = this.#turns.enter({ request, of, begin, refuse });
      response.once('prefinish', () => restTurn(request)).once('close', leave);
    }
  }

  /** Counts a probe. Returns whether it is one of the first of this second. */
  #isSoon(holders: readonly Holder[]): boolean {
    const now = performance.now();
    if (now - this.#probes_from_ms >= 1000) {
      this.#probes_from_ms = now;
      this.#probes = new AddressShares(PROBES_A_SECOND);
    }
    if (!this.#probes.hasRoom(holders, 1)) return false;
    this.#probes.add(holders, 1);
    return true;
  }

  #clientOf(request: IncomingMessage): readonly Holder[] {
    const address = this.#clientAddress(request);
    let client = this.#clients.get(request.socket);
    if (client?.address !== address) {
      client = { address, holders: holdersOf(address) };
      this.#clients.set(request.socket, client);
    }
    return client.holders;
  }
}

function credentialsOf({ headers: { authorization, cookie } }: IncomingMessage): string {
  return (authorization ?? cookie ?? '').slice(-CREDENTIAL_CHARS);
}
