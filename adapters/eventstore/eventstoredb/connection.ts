// One client and the rules of talking to a server that may be slow or away: a time limit for every answer, tries again
// with back-off for a bounded time, and an end to everything when the store is closed.
import { setTimeout as sleep } from 'node:timers/promises';
import { EventStoreDBClient } from '@eventstore/db-client';
import type { Logger } from 'pino';
import { EventStoreError, isPermanent } from './errors.ts';
import { type Limits, Patience } from './patience.ts';

export interface Connection {
  client: EventStoreDBClient;
  limits: Limits;
  /** Logs what failed and is tried again: one warning for as long as nothing is answered. */
  missed(error: unknown, message: string): void;
  /** Something was answered. */
  answered(): void;
  /** Aborts when the store is closed. */
  closed: AbortSignal;
  /**
   * Runs a request until it succeeds, fails for good, or `unavailable_after_ms` have passed.
   * @throws EventStoreError with code `unavailable` or `closed`; what the request throws when trying again cannot help.
   */
  request<T>(what: string, attempt: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** The client knows the product only by its old name, `esdb`. */
const NEW_NAMES = ['kurrentdb', 'kurrent', 'kdb'];

function toClientUrl(url: string): string {
  const [scheme = ''] = url.split('://', 1);
  const [name = '', ...rest] = scheme.split('+');
  return NEW_NAMES.includes(name) ? ['esdb', ...rest].join('+') + url.slice(scheme.length) : url;
}

/** The client takes any port, and then looks for it for ever. */
function assertPorts(url: string): void {
  const [authority = ''] = url.slice(url.indexOf('://') + 3).split(/[/?]/);
  for (const host of authority.slice(authority.lastIndexOf('@') + 1).split(',')) {
    const [, port = '2113'] = host.split(':');
    if (!(Number(port) >= 1 && Number(port) <= 65_535)) throw new TypeError(`${port} is no port: it wants 1 to 65535`);
  }
}

/** Throws TypeError when the URL names no server. */
export function connect(url: string, limits: Limits, log: Logger): Connection {
  assertPorts(url);
  const client = EventStoreDBClient.connectionString(toClientUrl(url));
  const closeChannel = keepChannel(client);
  // Appends go as calls of their own instead of over the client's one BatchAppend stream: that has no deadline, and all
  // clients of a process share its table of pending answers, so that an error on one stream loses the answers of another
  // and the first late one throws where nothing can catch it.
  Object.assign(client, { supports: async () => false });

  const closing = new AbortController();
  const waiting = new Set<(reason: Error) => void>();
  let is_away = false;
  const closedError = () => new EventStoreError('closed', 'the event store is closed');

  /** The promise, or an error when it takes too long or the store is closed. */
  async function limited<T>(promise: Promise<T>): Promise<T> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(new Error(`no answer in ${limits.answer_ms} ms`)), limits.answer_ms);
    waiting.add(reject);
    try {
      return await Promise.race([promise, late]);
    } finally {
      clearTimeout(timer);
      waiting.delete(reject);
    }
  }

  function missed(error: unknown, message: string): void {
    log[is_away ? 'debug' : 'warn']({ err: error }, `event store: ${message}`);
    is_away = true;
  }
  function answered(): void {
    if (is_away) log.info('event store: it answers again');
    is_away = false;
  }

  return {
    client,
    limits,
    missed,
    answered,
    closed: closing.signal,

    async request(what, attempt) {
      const patience = new Patience(limits);
      for (;;) {
        if (closing.signal.aborted) throw closedError();
        try {
          const answer = await limited(attempt());
          answered();
          return answer;
        } catch (error) {
          if (closing.signal.aborted) throw closedError();
          if (isPermanent(error)) throw error;
          const wait_ms = patience.next(what, error);
          missed(error, `${what} failed, trying again`);
          await sleep(wait_ms, undefined, { signal: closing.signal }).catch(() => {
            throw closedError();
          });
        }
      }
    },

    async close() {
      if (closing.signal.aborted) return;
      closing.abort(closedError());
      for (const reject of waiting) reject(closedError());
      // The wait keeps the process alive: the client may never end, and whoever closes it goes on all the same.
      const disposed = new AbortController();
      const late = sleep(limits.answer_ms, undefined, { signal: disposed.signal }).catch(() => {});
      await Promise.race([client.dispose(), late]).finally(() => disposed.abort());
      closeChannel();
    },
  };
}

interface Channel {
  close(): void;
}
/** Parts of the client that it does not export. */
interface ClientParts {
  createChannel(): Promise<Channel>;
  handleError(...failure: unknown[]): Promise<void>;
}

/**
 * Gives what closes the client's connection, which the client itself leaves open. And keeps the client from ending the
 * process: its own handling of failures is awaited by nobody, and a call that is begun on a connection which it closes in
 * the same turn throws where nothing can catch it.
 */
function keepChannel(client: EventStoreDBClient): () => void {
  const parts = client as unknown as ClientParts;
  const { createChannel, handleError } = parts;
  let current: Channel | undefined;
  let is_closed = false;
  Object.assign(parts, {
    async createChannel() {
      const channel = await createChannel();
      const close = channel.close.bind(channel);
      channel.close = () => void setImmediate(close);
      current = channel;
      if (is_closed) channel.close();
      return channel;
    },
    handleError: (...failure: unknown[]) => handleError(...failure).catch(() => undefined),
  } satisfies ClientParts);
  return () => {
    is_closed = true;
    current?.close();
  };
}
