// The connection to NATS: it reconnects for ever, and retries each operation for a bounded time.

import { setTimeout as delay } from 'node:timers/promises';
import { type ConnectionOptions, connect, DebugEvents, Events, type NatsConnection, NatsError } from 'nats';
import type { Logger } from 'pino';
import { backOffMs, jittered } from '../../../time/back-off.ts';
import { pause } from '../../../time/pause.ts';
import { TIME_LIMITS } from '../../../time/time-limits.ts';
import { hasTlsFiles, type TlsFiles } from '../../tls-files.ts';
import { QueueError } from '../limits.ts';
import './given-up-attempts.ts';

export type Log = Pick<Logger, 'info' | 'warn' | 'error'>;

export const REQUEST_LIMIT_MS = TIME_LIMITS.NATS.answer_ms;
const CLOSE_LIMIT_MS = 2_000;
/** The client reconnects at the third ping when the two before it have no answer: nothing else tells it of a server that vanished. */
const PING_INTERVAL_MS = TIME_LIMITS.NATS.silent_ms / 3;
const BACK_OFF = { first_ms: 50, longest_ms: TIME_LIMITS.NATS.longest_wait_ms };

/** Jittered wait in ms before the next try; it doubles with each failure. */
export function backOff(failures: number): number {
  return jittered(backOffMs(failures, BACK_OFF), Math.random());
}

/**
 * Connects, and retries for `limit_ms`. Throws QueueError `unavailable` after that.
 * @param url `nats://` or `tls://`, with user and password or a token; several servers are separated by commas.
 */
export async function openConnection(url: string, log: Log, limit_ms: number, tls?: TlsFiles): Promise<Connection> {
  const reconnecting: Reconnecting = { failures: 0, delay_ms: 0, since: 0 };
  const options: ConnectionOptions = {
    ...readUrl(url),
    ...(hasTlsFiles(tls) && { tls: tlsOptions(tls) }),
    name: 'url-checker',
    // Leaves names to the system's resolver, which reads the hosts file; the client's own does not.
    resolve: false,
    timeout: REQUEST_LIMIT_MS,
    pingInterval: PING_INTERVAL_MS,
    maxReconnectAttempts: -1,
    ignoreAuthErrorAbort: true,
    reconnectDelayHandler: () => waitOf(reconnecting),
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
      await delay(backOff(failures));
    }
  }
}

/** The client reads the files at each connection: certificates that were renewed count from the next one. */
const tlsOptions = ({ ca_file, cert_file, key_file }: TlsFiles): NonNullable<ConnectionOptions['tls']> => ({
  ...(ca_file !== null && { caFile: ca_file }),
  ...(cert_file !== null && key_file !== null && { certFile: cert_file, keyFile: key_file }),
});

interface Reconnecting {
  failures: number;
  /** The wait after the last attempt, which began at `since`, in milliseconds that never go back. */
  delay_ms: number;
  since: number;
}

/**
 * The client adds this to the wall time of its last attempt: with a clock that was set back by an hour it would wait for an hour. Once the wait
 * is over, any time is late enough.
 */
const waitOf = ({ delay_ms, since }: Reconnecting) =>
  performance.now() - since >= delay_ms ? Number.NEGATIVE_INFINITY : delay_ms;

export class Connection {
  readonly nats: NatsConnection;
  readonly log: Log;
  readonly #closing = new AbortController();
  readonly #lost = new Set<() => void>();
  /** A pending promise while disconnected; null while connected. */
  #connected: PromiseWithResolvers<void> | null = null;

  constructor(nats: NatsConnection, log: Log, reconnecting: Reconnecting) {
    this.nats = nats;
    this.log = log;
    void this.#watch(reconnecting);
  }

  /** Aborts at `close`. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  assertOpen(): void {
    if (this.closing.aborted) throw new QueueError('closed', 'this instance of the queue is closed');
  }

  /** Calls `lost` each time the connection is lost. Returns a function that unsubscribes. */
  onLost(lost: () => void): () => void {
    this.#lost.add(lost);
    return () => this.#lost.delete(lost);
  }

  /** Waits for a connection until `limit_ms` have passed or `signal` aborts. Resolves to whether there is one. */
  async connected(limit_ms: number, signal: AbortSignal): Promise<boolean> {
    if (this.#connected !== null && !signal.aborted) {
      const waited = new AbortController();
      const either = AbortSignal.any([waited.signal, signal]);
      await Promise.race([this.#connected.promise, pause(Math.max(0, limit_ms), either)]);
      waited.abort();
    }
    return this.#connected === null;
  }

  /**
   * Retries `work`, which must be idempotent, for at most `limit_ms`. Rejects with QueueError `unavailable` or `closed`.
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
        await pause(backOff(failures), this.closing);
      }
    }
  }

  /** Rejects when the connection is lost: the client itself would go on waiting for the lost answer. */
  async #unlessLost<T>(work: Promise<T>): Promise<T> {
    const lost = Promise.withResolvers<never>();
    const off = this.onLost(() => lost.reject(new Error('the connection was lost')));
    try {
      return await Promise.race([work, lost.promise]);
    } finally {
      off();
    }
  }

  /** Sends what is buffered, for at most two seconds, then closes. */
  async close(): Promise<void> {
    if (this.closing.aborted) return;
    this.#closing.abort();
    const waited = new AbortController();
    if (this.#connected === null) await Promise.race([this.nats.drain(), pause(CLOSE_LIMIT_MS, waited.signal)]);
    waited.abort();
    await this.nats.close();
  }

  async #watch(reconnecting: Reconnecting): Promise<void> {
    /** What the user may not do, as far as it was told since the connection was made: each retry meets it again. */
    const told = new Set<string>();
    for await (const { type, data, permissionContext: refused } of this.nats.status()) {
      if (type === Events.Disconnect) {
        this.#connected ??= Promise.withResolvers();
        this.log.warn({ server: data }, 'NATS: connection lost');
        for (const lost of [...this.#lost]) lost();
      } else if (type === DebugEvents.Reconnecting) {
        reconnecting.since = performance.now();
        reconnecting.delay_ms = backOff(reconnecting.failures);
        reconnecting.failures += 1;
      } else if (type === Events.Reconnect) {
        reconnecting.failures = 0;
        told.clear();
        this.#connected?.resolve();
        this.#connected = null;
        this.log.info({ server: data }, 'NATS: connected again');
      } else if (refused) {
        const { operation, subject } = refused;
        const what = `${operation} ${subject}`;
        if (!told.has(what)) this.log.error({ operation, subject }, 'NATS: the user of NATS_URL may not do this');
        told.add(what);
      } else if (type === Events.Error) {
        this.log.error({ reason: data }, 'NATS: the server reports an error');
      }
    }
    if (!this.closing.aborted)
      this.log.error(
        { err: await this.nats.closed() },
        'NATS: the client closed the connection and will not reconnect',
      );
  }
}

export function reason(error: unknown): string {
  // The message of a refusal by JetStream is its code alone, such as 503 for a full stream.
  if (error instanceof NatsError && error.chainedError) return `${error.message}: ${error.chainedError.message}`;
  return error instanceof Error ? error.message : String(error);
}

/**
 * The servers of a URL: `nats://USER:PASSWORD@ONE:4222,TWO:4222`. A server after a comma may leave out the scheme.
 */
function serversOf(url: string): URL[] {
  const scheme = url.includes('://') ? url.slice(0, url.indexOf('://') + '://'.length) : '';
  return url.split(',').map((part) => new URL(part.includes('://') ? part.trim() : `${scheme}${part.trim()}`));
}

/** Reads credentials and TLS from the URL, which the client does not. */
function readUrl(url: string): Pick<ConnectionOptions, 'servers' | 'user' | 'pass' | 'token' | 'tls'> {
  const urls = serversOf(url);
  const [{ username, password, protocol }] = urls as [URL];
  const [user, pass] = [decodeURIComponent(username), decodeURIComponent(password)];
  return {
    servers: urls.map((it) => it.host),
    ...(pass ? { user, pass } : user ? { token: user } : {}),
    ...(protocol === 'tls:' ? { tls: {} } : {}),
  };
}
