// Posts webhooks with undici. Each attempt opens its own connection, to an address that the checker's guard has vetted; a
// later change of the DNS name has no effect on it.
import { isIP, type Socket } from 'node:net';
import type { Client, Dispatcher } from 'undici';
import { type AddressGuard, createAddressGuard } from '../../checkers/engine/addresses.ts';
import { DnsLookup } from '../../checkers/engine/dns/lookup.ts';
import { CheckFailure, errorCodeOf, isShortage, Shortage } from '../../checkers/engine/errors.ts';
import { MAX_ANSWER_BYTES } from '../../checkers/engine/limits.ts';
import { createResolver, type Lookup, type Vetted } from '../../checkers/engine/resolver.ts';
import { parseRetryAfter } from '../../checkers/engine/retries.ts';
import type { WebhookAnswer, WebhookSender } from '../../processes/webhook-sender.ts';

const TIMEOUT_MS = 15_000;
const EXCERPT_BYTES = 1024;
const LOOK_MS = 100;
const MAX_HEADER_SIZE_BYTES = 16 * 1024;
const USER_AGENT = 'url-checker-webhooks/1.0';

export interface WebhookSenderOptions {
  /** CIDRs that the guard allows although they are private; plain http is allowed there too. */
  allow_addresses: readonly string[];
  /** Time limit of a whole attempt. */
  timeout_ms?: number;
  /** Replaces DNS, for tests. */
  lookup?: Lookup;
  /** PEM of the certificate authorities that replace the system's, for tests. */
  ca?: string;
}

export function openUndiciWebhookSender(options: WebhookSenderOptions): WebhookSender {
  const { timeout_ms = TIMEOUT_MS, ca } = options;
  const guard = createAddressGuard(options.allow_addresses);
  const dns = options.lookup ? null : new DnsLookup();
  const resolver = createResolver(guard, options.lookup ?? dns!.lookup, () => performance.now());

  return {
    async send({ url, headers, body }, signal) {
      const { protocol, hostname, origin, pathname, search } = new URL(url);
      const limit = AbortSignal.any([signal, AbortSignal.timeout(timeout_ms)]);
      const vetted = await within<Vetted>(limit, (done) => resolver.resolve(hostname, done));
      signal.throwIfAborted();
      if (vetted === null) return unanswered('dns_failed');
      if (!vetted.ok) {
        if (vetted.code === 'shortage') throw new Shortage();
        return unanswered(vetted.code);
      }
      if (protocol !== 'https:' && !isExcepted(vetted.addresses, guard)) return unanswered('https_required');

      let socket: Socket | null = null;
      const client = await clientOf(origin, vetted.addresses, timeout_ms, ca, (opened) => (socket = opened));
      const watch = setInterval(() => {
        if (!socket || socket.bytesRead <= MAX_ANSWER_BYTES) return;
        client.destroy(new CheckFailure('malformed_response')).catch(() => {});
      }, LOOK_MS);
      try {
        const response = await client.request({
          method: 'POST',
          path: pathname + search,
          headers: { 'user-agent': USER_AGENT, 'accept-encoding': 'identity', ...headers },
          body,
          signal: limit,
        });
        return await answerOf(response);
      } catch (error) {
        signal.throwIfAborted();
        if (isShortage(error)) throw error;
        if (limit.aborted) return unanswered(socket ? 'response_timeout' : 'connect_timeout');
        return unanswered(errorCodeOf(error, socket !== null));
      } finally {
        clearInterval(watch);
        client.destroy().catch(() => {});
      }
    },
    close() {
      resolver.close();
      dns?.close();
    },
  };
}

/** Resolves to the value that `ask` passes to its callback, or to null when `limit` aborts first. */
function within<T>(limit: AbortSignal, ask: (done: (answer: T) => void) => void): Promise<T | null> {
  return new Promise((resolve) => {
    if (limit.aborted) return resolve(null);
    limit.addEventListener('abort', () => resolve(null), { once: true });
    ask(resolve);
  });
}

const isExcepted = (addresses: readonly string[], guard: AddressGuard) =>
  addresses.every((address) => guard.excepts(address));

async function clientOf(
  origin: string,
  addresses: readonly string[],
  timeout_ms: number,
  ca: string | undefined,
  opened: (socket: Socket) => void,
): Promise<Client> {
  // Most services send no webhook, and the module takes 10 MB.
  const { Client, buildConnector } = await import('undici');
  const vetted = addresses.map((address) => ({ address, family: isIP(address) }));
  const connect = buildConnector({
    lookup: (_name, { all }, answer) => {
      if (all) answer(null, vetted);
      else answer(null, vetted[0]!.address, vetted[0]!.family);
    },
    autoSelectFamily: true,
    allowH2: false,
    // Twice the limit, so that the caller's own limit fires first and names the phase that it cut.
    timeout: 2 * timeout_ms,
    ...(ca === undefined ? {} : { ca }),
  });
  return new Client(origin, {
    connect: (to, done) =>
      connect(to, (...connected) => {
        if (connected[1]) opened(connected[1]);
        done(...connected);
      }),
    allowH2: false,
    headersTimeout: 2 * timeout_ms,
    bodyTimeout: 2 * timeout_ms,
    maxHeaderSize: MAX_HEADER_SIZE_BYTES,
  });
}

const unanswered = (error: string): WebhookAnswer => ({
  status_code: null,
  error,
  response_excerpt: '',
  retry_after_ms: null,
});

async function answerOf({ statusCode, headers, body }: Dispatcher.ResponseData): Promise<WebhookAnswer> {
  const retry_after = headers['retry-after'];
  return {
    status_code: statusCode,
    error: null,
    response_excerpt: await excerptOf(body),
    retry_after_ms: parseRetryAfter(Array.isArray(retry_after) ? retry_after[0] : retry_after, Date.now()),
  };
}

async function excerptOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size_bytes = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      size_bytes += chunk.length;
      if (size_bytes >= EXCERPT_BYTES) break;
    }
  } catch {
    // The status is the answer, even when the body breaks off.
  }
  // `stream` drops a character that the cut splits.
  const text = new TextDecoder().decode(Buffer.concat(chunks).subarray(0, EXCERPT_BYTES), { stream: true });
  return text.replace(/[^\P{Cc}\n\t]/gu, ' ').trim();
}
