// One client for a server that may be slow or away: every answer has a time limit, failed requests are retried with
// back-off for a bounded time, and closing the store ends everything.
import { EventStoreDBClient } from '@eventstore/db-client';
import type { Logger } from 'pino';
import { atMost, pause } from '../../../time/pause.ts';
import { hasTlsFiles, type TlsFiles } from '../../tls-files.ts';
import { BackOff, type Limits } from './back-off.ts';
import { ClientChannel } from './client-channel.ts';
import { EventStoreError, isPermanent } from './errors.ts';

export interface Connection {
  client: EventStoreDBClient;
  limits: Limits;
  /** Logs a failure that is retried: a warning for the first one of an outage, debug for the others. */
  missed(error: unknown, message: string): void;
  /** Notes that the server answered, which ends an outage. */
  answered(): void;
  /** Aborts when the store is closed. */
  closed: AbortSignal;
  /**
   * Runs a request until it succeeds, fails for good, or `unavailable_after_ms` have passed.
   * @throws EventStoreError with code `unavailable` or `closed`, or the request's own error when a retry cannot help.
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

/** The client accepts an invalid port and then tries to connect for ever, so we refuse it here. */
function assertPorts(url: string): void {
  const [authority = ''] = url.slice(url.indexOf('://') + 3).split(/[/?]/);
  for (const host of authority.slice(authority.lastIndexOf('@') + 1).split(',')) {
    const [, port = '2113'] = host.split(':');
    if (!(Number(port) >= 1 && Number(port) <= 65_535)) throw new TypeError(`${port} is not a port from 1 to 65535`);
  }
}

/** The client takes the files by the query of its URL alone. */
function withTls(url: string, tls: TlsFiles | undefined): string {
  if (!hasTlsFiles(tls)) return url;
  const { ca_file, cert_file, key_file } = tls;
  const given = { tls: 'true', tlsCAFile: ca_file, userCertFile: cert_file, userKeyFile: key_file };
  const query = Object.entries(given).flatMap(([name, value]) =>
    value === null ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  return `${url}${url.includes('?') ? '&' : '?'}${query.join('&')}`;
}

/** Throws TypeError when the URL names no server, and what the file system says of a file that cannot be read. */
export function connect(url: string, limits: Limits, log: Logger, tls?: TlsFiles): Connection {
  assertPorts(url);
  const client = EventStoreDBClient.connectionString(withTls(toClientUrl(url), tls));
  const channel = new ClientChannel(client);
  // `supports: false` sends each append as its own call instead of over the client's BatchAppend stream. That stream has no
  // deadline, and all clients of a process share its table of pending answers: an error on one stream loses the answers of
  // another, and the first late answer throws where nothing can catch it.
  Object.assign(client, { supports: async () => false });

  const closing = new AbortController();
  const waiting = new Set<(reason: Error) => void>();
  let is_away = false;
  let answered_at = performance.now();
  const closedError = () => new EventStoreError('closed', 'the event store is closed');

  /** Rejects when `promise` takes longer than `answer_ms` or the store is closed. */
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
    // Packets may vanish, or the name may lead elsewhere by now: only a new connection finds out.
    if (performance.now() - answered_at >= limits.silent_ms) channel.renew(limits.silent_ms);
  }
  function answered(): void {
    if (is_away) log.info('event store: the server answers again');
    is_away = false;
    answered_at = performance.now();
  }

  return {
    client,
    limits,
    missed,
    answered,
    closed: closing.signal,

    async request(what, attempt) {
      const back_off = new BackOff(limits);
      for (;;) {
        if (closing.signal.aborted) throw closedError();
        try {
          const answer = await limited(attempt());
          answered();
          return answer;
        } catch (error) {
          if (closing.signal.aborted) throw closedError();
          if (isPermanent(error)) throw error;
          const wait_ms = back_off.next(what, error);
          missed(error, `${what} failed, trying again`);
          await pause(wait_ms, closing.signal);
        }
      }
    },

    async close() {
      if (closing.signal.aborted) return;
      closing.abort(closedError());
      for (const reject of waiting) reject(closedError());
      // `dispose` may never settle.
      await atMost(limits.answer_ms, client.dispose());
      channel.close();
    },
  };
}
