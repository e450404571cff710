// The connection to NATS: made again for ever, every operation on it tried again for a bounded time.
import { setTimeout as pause } from 'node:timers/promises';
import { type ConnectionOptions, connect, DebugEvents, Events, type NatsConnection } from 'nats';
import type { Logger } from 'pino';
import { QueueError } from '../limits.ts';

export type Log = Pick<Logger, 'info' | 'warn' | 'error'>;

/** How long one request may stay without an answer. */
export const REQUEST_LIMIT_MS = 2_000;
const CLOSE_LIMIT_MS = 2_000;
/** A connection that answers nothing for two of these is made anew. */
const PING_INTERVAL_MS = 10_000;
const FIRST_BACK_OFF_MS = 50;
const LAST_BACK_OFF_MS = 5_000;

/** Doubles with every failure; the jitter keeps many clients from coming back in step. */
export function backOff(failures: number): number {
  const longest_ms = Math.min(LAST_BACK_OFF_MS, FIRST_BACK_OFF_MS * 2 ** Math.min(failures, 16));
  return (longest_ms / 2) * (1 + Math.random());
}

/** @param url `nats://` or `tls://`, with the user or token where the server wants one; several with commas between. */
export async function openConnection(url: string, log: Log, limit_ms: number): Promise<Connection> {
  const reconnecting = { failures: 0, delay_ms: 0 };
  const options: ConnectionOptions = {
    ...readUrl(url),
    name: 'url-checker',
    // By the system's resolver, which knows the hosts file; the client's own does not.
    resolve: false,
    timeout: REQUEST_LIMIT_MS,
    pingInterval: PING_INTERVAL_MS,
    maxReconnectAttempts: -1,
    ignoreAuthErrorAbort: true,
    // Asked several times about one attempt, so it must not draw a new number each time.
    reconnectDelayHandler: () => reconnecting.delay_ms,
    noAsyncTraces: true,
  };
  const until = performance.now() + limit_ms;
  for (let failures = 0; ; failures += 1) {
    try {
      return new Connection(await connect(options), log, reconnecting);
    } catch (error) {
      if (performance.now() + backOff(failures) >= until) {
        throw new QueueError('unavailable', `no connection to NATS at ${options.servers}: ${reason(error)}`, error);
      }
      await pause(backOff(failures));
    }
  }
}

export class Connection {
  readonly nats: NatsConnection;
  readonly log: Log;
  readonly #closing = new AbortController();
  readonly #lost = new Set<() => void>();
  /** Pending while there is no connection. */
  #connected: PromiseWithResolvers<void> | null = null;

  constructor(nats: NatsConnection, log: Log, reconnecting: { failures: number; delay_ms: number }) {
    this.nats = nats;
    this.log = log;
    void this.#watch(reconnecting);
  }

  /** Aborts when `close` is called. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  assertOpen(): void {
    if (this.closing.aborted) throw new QueueError('closed', 'this instance of the queue is closed');
  }

  /** Calls `lost` when the connection is lost, until the function that it returns is called. */
  onLost(lost: () => void): () => void {
    this.#lost.add(lost);
    return () => this.#lost.delete(lost);
  }

  /** Waits for a connection until `limit_ms` have passed or `signal` aborts; whether there is one. */
  async connected(limit_ms: number, signal: AbortSignal): Promise<boolean> {
    if (this.#connected !== null && !signal.aborted) {
      const waited = new AbortController();
      const either = AbortSignal.any([waited.signal, signal]);
      await Promise.race([this.#connected.promise, sleep(Math.max(0, limit_ms), either)]);
      waited.abort();
    }
    return this.#connected === null;
  }

  /**
   * Does `work`, which may be done twice, again while it fails, for at most `limit_ms`. Rejects with the code
   * `unavailable`, or `closed`.
   */
  async attempt<T>(what: string, limit_ms: number, work: () => Promise<T>): Promise<T> {
    const until = performance.now() + limit_ms;
    for (let failures = 0; ; failures += 1) {
      const is_connected = await this.connected(until - performance.now(), this.closing);
      this.assertOpen();
      try {
        if (!is_connected) throw new Error('there is no connection');
        return await this.#unlessLost(work());
      } catch (error) {
        this.assertOpen();
        if (performance.now() + backOff(failures) >= until) {
          const message = `NATS: ${what} failed for ${limit_ms} ms: ${reason(error)}`;
          throw new QueueError('unavailable', message, error);
        }
        await sleep(backOff(failures), this.closing);
      }
    }
  }

  /** The client would wait for the answer to a request that went down with the connection. */
  async #unlessLost<T>(work: Promise<T>): Promise<T> {
    const lost = Promise.withResolvers<never>();
    const off = this.onLost(() => lost.reject(new Error('the connection was lost')));
    try {
      return await Promise.race([work, lost.promise]);
    } finally {
      off();
    }
  }

  /** Sends what is still to be sent, but does not wait for a server that is gone. */
  async close(): Promise<void> {
    if (this.closing.aborted) return;
    this.#closing.abort();
    const waited = new AbortController();
    if (this.#connected === null) await Promise.race([this.nats.drain(), sleep(CLOSE_LIMIT_MS, waited.signal)]);
    waited.abort();
    await this.nats.close();
  }

  async #watch(reconnecting: { failures: number; delay_ms: number }): Promise<void> {
    for await (const { type, data } of this.nats.status()) {
      if (type === Events.Disconnect) {
        this.#connected ??= Promise.withResolvers();
        this.log.warn({ server: data }, 'NATS: connection lost');
        for (const lost of [...this.#lost]) lost();
      } else if (type === DebugEvents.Reconnecting) {
        reconnecting.delay_ms = backOff(reconnecting.failures);
        reconnecting.failures += 1;
      } else if (type === Events.Reconnect) {
        reconnecting.failures = 0;
        this.#connected?.resolve();
        this.#connected = null;
        this.log.info({ server: data }, 'NATS: connected again');
      } else if (type === Events.Error) {
        this.log.error({ reason: data }, 'NATS: the server reports an error');
      }
    }
    if (!this.closing.aborted) this.log.error({ err: await this.nats.closed() }, 'NATS: connection closed for good');
  }
}

/** Not more than `limit_ms`; an abort ends it early. */
export async function sleep(limit_ms: number, signal: AbortSignal): Promise<void> {
  await pause(limit_ms, undefined, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}

export function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The client reads neither credentials nor TLS from a URL. */
function readUrl(url: string): Pick<ConnectionOptions, 'servers' | 'user' | 'pass' | 'token' | 'tls'> {
  const urls = url.split(',').map((part) => new URL(part.trim()));
  const [{ username, password, protocol }] = urls as [URL];
  const [user, pass] = [decodeURIComponent(username), decodeURIComponent(password)];
  return {
    servers: urls.map((it) => it.host),
    ...(pass ? { user, pass } : user ? { token: user } : {}),
    ...(protocol === 'tls:' ? { tls: {} } : {}),
  };
}
