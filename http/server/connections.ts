// Keeps the server's connections below the open-file limit and each address below its share, and ends idle ones when the server closes.
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { mostInFlight, openFilesAllowed } from '../../net/open-files.ts';
import type { Config } from '../../settings/config.ts';
import type { Holder } from '../frame/limits/address-shares.ts';
import { openCounter, openGauge } from '../frame/metrics.ts';

/** Files of stores, logs, uploads and of Node itself. */
const OWN_FILES = 200;
/** Files that a URL in flight can have open: its connection, a second attempt, and a DNS lookup. */
const FILES_A_CHECK = 3;
const FEWEST = 16;
/** Connections above the limit, so that the server answers a probe while every connection is busy. */
const SPARE = 8;
const LOGGED_EVERY_MS = 1000;

/** The smaller of `wanted` and the open files that the process and its checker leave free. */
export function mostConnections(
  { wanted, checks_at_once }: { wanted: number; checks_at_once: number },
  open_files = openFilesAllowed(),
): number {
  return Math.max(FEWEST, Math.min(wanted, open_files - OWN_FILES - FILES_A_CHECK * checks_at_once));
}

/** Opens the connections of a process, and leaves its checker enough open files. */
export function connectionsBeside(
  { roles, max_connections: wanted, connections_per_address: of_an_address, ...config }: Config,
  log: Logger,
): Connections {
  const limits = { concurrency: config.checker_concurrency, concurrency_limit: config.checker_concurrency_limit };
  const checks_at_once = roles.includes('checker') ? mostInFlight(limits) : 0;
  const most = mostConnections({ wanted, checks_at_once });
  if (most < wanted)
    log.info({ most }, 'http takes fewer connections than MAX_CONNECTIONS: the process may open too few files');
  return new Connections({ most, of_an_address, log });
}

export interface ConnectionsOptions {
  most: number;
  of_an_address?: number;
  log: Logger;
  monotonic?: () => number;
}

/** The holders of each socket; none for a trusted proxy. */
export type HoldersOf = (socket: Socket) => readonly Holder[];

export class Connections {
  readonly #most: number;
  readonly #of_an_address: number;
  readonly #log: Logger;
  readonly #monotonic: () => number;
  /** The answers in flight on each connection. Of the idle connections, the longest idle comes first. */
  readonly #sockets = new Map<Socket, Set<ServerResponse>>();
  readonly #by_holder = new Map<string, Set<Socket>>();
  readonly #spare = new Set<Socket>();
  #closed = 0;
  #unlogged = 0;
  #logged_at = Number.NEGATIVE_INFINITY;
  #is_draining = false;

  constructor({
    most,
    of_an_address = Number.POSITIVE_INFINITY,
    log,
    monotonic = () => performance.now(),
  }: ConnectionsOptions) {
    this.#most = most;
    this.#of_an_address = of_an_address;
    this.#log = log;
    this.#monotonic = monotonic;
  }

  /** Returns a function that ends each connection as soon as it has no request in flight. */
  watch(server: Server, holdersOf: HoldersOf = () => []): () => void {
    server.on('connection', (socket: Socket) => this.#take(socket, holdersOf(socket)));
    server.on('request', ({ socket }, response) => {
      const answers = this.#sockets.get(socket);
      answers?.add(response);
      if (this.#is_draining) response.setHeader('Connection', 'close');
      response.once('close', () => {
        answers?.delete(response);
        if (!answers || !this.#sockets.delete(socket)) return;
        this.#sockets.set(socket, answers);
        if (this.#is_draining) this.#endIfIdle(socket);
      });
    });
    return () => {
      this.#is_draining = true;
      for (const [socket, answers] of this.#sockets) {
        for (const response of answers) if (!response.headersSent) response.setHeader('Connection', 'close');
        this.#endIfIdle(socket);
      }
    };
  }

  /** Whether the connection opened while all others were busy: the server answers only probes on it. */
  isSpare(socket: Socket): boolean {
    return this.#spare.has(socket);
  }

  measure(registry: Registry): void {
    openGauge(registry, { name: 'http_connections', help: 'Open connections.' }, () => this.#sockets.size);
    const help = 'Connections that the server closed because it, or an address, had too many.';
    openCounter(registry, { name: 'http_connections_closed_for_room_total', help }, () => this.#closed);
  }

  #take(socket: Socket, holders: readonly Holder[]): void {
    for (const [name, times] of holders) {
      const own = this.#by_holder.get(name) ?? new Set();
      if (own.size >= times * this.#of_an_address && !this.#makeRoomOf(own)) {
        this.#close(socket);
        return;
      }
      this.#by_holder.set(name, own);
    }
    for (const [name] of holders) this.#by_holder.get(name)!.add(socket);
    this.#sockets.set(socket, new Set());
    socket.once('close', () => this.#forget(socket, holders));
    if (this.#sockets.size - this.#spare.size > this.#most) this.#makeRoom(socket);
  }

  #forget(socket: Socket, holders: readonly Holder[]): void {
    this.#sockets.delete(socket);
    this.#spare.delete(socket);
    for (const [name] of holders) {
      const own = this.#by_holder.get(name);
      own?.delete(socket);
      if (own?.size === 0) this.#by_holder.delete(name);
    }
  }

  /** Closes an idle connection of an address that has too many. */
  #makeRoomOf(own: Set<Socket>): boolean {
    for (const socket of own) {
      if (this.#sockets.get(socket)?.size !== 0) continue;
      own.delete(socket);
      this.#close(socket);
      return true;
    }
    return false;
  }

  /** Closes the longest idle connection, else the oldest spare one. With neither, the new connection becomes spare. */
  #makeRoom(last: Socket): void {
    const closed = this.#longestIdle(last) ?? (this.#spare.size < SPARE ? null : [...this.#spare][0]!);
    if (closed === null || this.#spare.has(closed)) this.#spare.add(last);
    if (closed !== null) this.#close(closed);
  }

  #longestIdle(last: Socket): Socket | null {
    for (const [socket, answers] of this.#sockets) {
      if (answers.size === 0 && socket !== last && !this.#spare.has(socket)) return socket;
    }
    return null;
  }

  #close(socket: Socket): void {
    socket.destroy();
    this.#sockets.delete(socket);
    this.#spare.delete(socket);
    this.#closed++;
    this.#unlogged++;
    const now = this.#monotonic();
    if (now - this.#logged_at < LOGGED_EVERY_MS) return;
    this.#log.warn({ most: this.#most, closed: this.#unlogged }, 'too many connections: the server closes some');
    this.#logged_at = now;
    this.#unlogged = 0;
  }

  #endIfIdle(socket: Socket): void {
    if (this.#sockets.get(socket)?.size === 0) socket.destroy();
  }
}
