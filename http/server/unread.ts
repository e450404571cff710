// Bounds what was answered and not read: for a connection, an address and the process. A client that takes nothing for some seconds, or
// next to nothing for a minute, is cut off, whatever kind of answer it gets. Decision 124 says why.
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { AddressShares, type Holder, type ShareLimits } from '../frame/limits/address-shares.ts';
import { openCounter, openGauge } from '../frame/metrics.ts';
import { ServerResponse } from '../frame/node-http.ts';

export interface UnreadLimits extends ShareLimits {
  of_a_connection: number;
  /** The client is cut off when it takes nothing for this long. */
  still_ms: number;
  /** And when it takes less than `slow_bytes` in this time: 8 kbit/s. */
  slow_ms: number;
  slow_bytes: number;
}

/** Half of what may wait in all may wait for one address. */
export const unreadLimits = (all: number): UnreadLimits => ({
  ...{ all, of_an_address: all / 2, of_a_connection: Math.min(all / 2, 8 * 1024 * 1024) },
  ...{ still_ms: 10_000, slow_ms: 60_000, slow_bytes: 64 * 1024 },
});

const LOOK_MS = 1000;

/** The answer that waits on a connection. */
interface Waiting {
  holders: readonly Holder[];
  bytes: number;
  /** The bytes that the client, or the system for it, had taken at the last look, and at the begin of this minute. */
  taken: number;
  taken_before: number;
  still_ms: number;
  minute_ms: number;
}

export interface UnreadOptions {
  limits: UnreadLimits;
  holdersOf: (socket: Socket) => readonly Holder[];
  log: Logger;
  monotonic?: () => number;
}

export class Unread {
  readonly #options: UnreadOptions;
  readonly #monotonic: () => number;
  readonly #shares: AddressShares;
  readonly #known = new WeakMap<Socket, Waiting>();
  /** Those of them with bytes that wait. */
  readonly #waiting = new Map<Socket, Waiting>();
  readonly #timer: NodeJS.Timeout;
  #looked_at: number;
  #cut_off = 0;

  constructor(options: UnreadOptions) {
    this.#options = options;
    this.#shares = new AddressShares(options.limits);
    this.#monotonic = options.monotonic ?? (() => performance.now());
    this.#looked_at = this.#monotonic();
    // After a pause of this process the look comes after the writes that waited, so that it counts what the client took meanwhile.
    this.#timer = setInterval(() => setImmediate(() => this.look()), LOOK_MS).unref();
  }

  /** The class of the server's answers, which counts each write. */
  get Response(): typeof ServerResponse {
    const wrote = (response: ServerResponse) => response.socket && this.wrote(response.socket);
    return class extends ServerResponse {
      // biome-ignore lint/suspicious/noExplicitAny: it has the overloads of the class
      override write(...args: any[]): boolean {
        const has_room = super.write(...(args as Parameters<ServerResponse['write']>));
        wrote(this);
        return has_room;
      }
      // biome-ignore lint/suspicious/noExplicitAny: it has the overloads of the class
      override end(...args: any[]): this {
        const { socket } = this;
        super.end(...(args as Parameters<ServerResponse['end']>));
        if (socket) wrote(this);
        return this;
      }
    } as typeof ServerResponse;
  }

  /** Counts what was written to the socket. */
  wrote(socket: Socket): void {
    let waiting = this.#waiting.get(socket);
    if (waiting === undefined) {
      if (socket.writableLength === 0 || socket.destroyed) return;
      waiting = this.#watch(socket);
    }
    if (!this.#count(socket, waiting)) return;
    const { limits } = this.#options;
    if (waiting.bytes > limits.of_a_connection) this.#cutOff(socket);
    for (;;) {
      const full = this.#shares.fullHolder(waiting.holders, 0);
      if (full === null && this.#shares.total <= limits.all) return;
      this.#cutOff(this.#stillest(full ?? this.#greediest()));
    }
  }

  /**
   * Whether so much waits for the address that the service begins no further request of it. While half of what may wait in all waits,
   * that is anything: who leaves answers unread keeps nobody else from theirs.
   */
  isFull(holders: readonly Holder[]): boolean {
    const { all, of_an_address } = this.#options.limits;
    const is_scarce = this.#shares.total > all / 2;
    return holders.some(([name, times]) => this.#shares.heldBy(name) > (is_scarce ? 0 : (times * of_an_address) / 2));
  }

  measure(registry: Registry): void {
    const help = 'Bytes of answers that clients have not read yet.';
    openGauge(registry, { name: 'http_unread_bytes', help }, () => this.#shares.total);
    const cut = 'Clients that the server cut off because they did not read their answers.';
    openCounter(registry, { name: 'http_clients_cut_off_total', help: cut }, () => this.#cut_off);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Looks at each connection with bytes that wait. */
  look(): void {
    const now = this.#monotonic();
    // A longer time is a pause of this process.
    const passed_ms = Math.min(now - this.#looked_at, 2 * LOOK_MS);
    this.#looked_at = now;
    for (const [socket, waiting] of this.#waiting) {
      if (this.#count(socket, waiting) && this.#isSlow(socket, waiting, passed_ms)) this.#cutOff(socket);
    }
  }

  #isSlow(socket: Socket, waiting: Waiting, passed_ms: number): boolean {
    const { still_ms, slow_ms, slow_bytes } = this.#options.limits;
    const taken = takenOf(socket);
    waiting.still_ms = taken === waiting.taken ? waiting.still_ms + passed_ms : 0;
    waiting.taken = taken;
    waiting.minute_ms += passed_ms;
    if (waiting.still_ms >= still_ms) return true;
    if (waiting.minute_ms < slow_ms) return false;
    const in_minute = taken - waiting.taken_before;
    waiting.taken_before = taken;
    waiting.minute_ms = 0;
    return in_minute < slow_bytes;
  }

  #watch(socket: Socket): Waiting {
    const taken = takenOf(socket);
    const begun = { taken, taken_before: taken, still_ms: 0, minute_ms: 0 };
    const known = this.#known.get(socket);
    const holders = this.#options.holdersOf(socket);
    const waiting = known ? Object.assign(known, { ...begun, holders }) : { ...begun, holders, bytes: 0 };
    if (!known) {
      this.#known.set(socket, waiting);
      socket.once('close', () => this.#forget(socket, waiting));
    }
    this.#waiting.set(socket, waiting);
    return waiting;
  }

  /** Counts what waits now. Returns whether anything does. */
  #count(socket: Socket, waiting: Waiting): boolean {
    const bytes = socket.writableLength;
    this.#shares.add(waiting.holders, bytes - waiting.bytes);
    waiting.bytes = bytes;
    if (bytes === 0) this.#waiting.delete(socket);
    return bytes > 0;
  }

  #forget(socket: Socket, waiting: Waiting): void {
    this.#shares.add(waiting.holders, -waiting.bytes);
    waiting.bytes = 0;
    this.#waiting.delete(socket);
  }

  /** The site, or else the address, for which most waits; null where nobody knows whose connections these are. */
  #greediest(): string | null {
    const names = this.#waiting.values().flatMap(({ holders }) => holders.slice(0, 1).map(([name]) => name));
    return names.reduce<string | null>((most, name) => (this.#heldBy(name) > this.#heldBy(most) ? name : most), null);
  }

  #heldBy(name: string | null): number {
    return name === null ? 0 : this.#shares.heldBy(name);
  }

  /** The connection that has taken nothing for the longest time, and of several the one for which most waits. */
  #stillest(holder: string | null): Socket {
    let stillest: [Socket, Waiting] | null = null;
    for (const entry of this.#waiting) {
      const [, waiting] = entry;
      if (holder !== null && !waiting.holders.some(([name]) => name === holder)) continue;
      const before = stillest?.[1];
      if (!before || waiting.still_ms > before.still_ms) stillest = entry;
      else if (waiting.still_ms === before.still_ms && waiting.bytes > before.bytes) stillest = entry;
    }
    return stillest![0];
  }

  #cutOff(socket: Socket): void {
    const waiting = this.#waiting.get(socket);
    this.#cut_off++;
    this.#options.log.debug({ address: socket.remoteAddress, bytes: waiting?.bytes }, 'http cuts off a slow reader');
    if (waiting) this.#forget(socket, waiting);
    socket.destroy();
  }
}

/** What the handle of a socket knows beside the socket: Node itself asks it whether a large write goes on. */
interface Handle {
  bytesWritten: number;
  writeQueueSize: number;
}

/** The bytes that the system has taken from the service for the client, also of a write that goes on. */
function takenOf(socket: Socket): number {
  const { _handle: handle } = socket as Socket & { _handle?: Handle | null };
  if (handle?.writeQueueSize === undefined) return socket.bytesWritten - socket.writableLength;
  return handle.bytesWritten - handle.writeQueueSize;
}
