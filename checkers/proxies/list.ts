// Fetches the operator's list of proxies every few minutes. After a failed fetch the previous list stays in use.
import type { Logger } from 'pino';
import { backOffMs } from '../../time/back-off.ts';
import { pause } from '../../time/pause.ts';
import { type ProxyEndpoint, parseProxy } from './endpoint.ts';

export const REFRESH_MS = 5 * 60_000;
/** Back-off after a failed fetch; it doubles with each failure up to `REFRESH_MS`. */
const FIRST_RETRY_MS = 5000;
const FETCH_MS = 15_000;
const MAX_LIST_BYTES = 1024 * 1024;
const MAX_PROXIES = 1000;

/** Parses one proxy a line and skips # comments. `bad`: line numbers, from 1, that name no proxy or exceed the limit. */
export function parseProxyList(text: string): { proxies: ProxyEndpoint[]; bad: number[] } {
  const proxies = new Map<string, ProxyEndpoint>();
  const bad: number[] = [];
  for (const [at, raw] of text.split('\n').entries()) {
    const line = raw.trim();
    if (line === '' || line.startsWith('#')) continue;
    const proxy = parseProxy(line);
    if (proxy === null || proxies.size >= MAX_PROXIES) bad.push(at + 1);
    else proxies.set(proxy.id, proxy);
  }
  return { proxies: [...proxies.values()], bad };
}

export interface ProxyListOptions {
  url: string;
  listed: (proxies: readonly ProxyEndpoint[]) => void;
  logger: Logger;
  signal: AbortSignal;
  refresh_ms?: number;
  first_retry_ms?: number;
}

/** Runs until `signal` aborts. */
export async function followProxyList(options: ProxyListOptions): Promise<void> {
  const { url, listed, logger, signal, refresh_ms = REFRESH_MS, first_retry_ms = FIRST_RETRY_MS } = options;
  let failures = 0;
  while (!signal.aborted) {
    try {
      const { proxies, bad } = parseProxyList(await fetchList(url, signal));
      // The lines hold passwords, so the log names their numbers only.
      if (bad.length > 0)
        logger.warn({ lines: bad.slice(0, 20), count: bad.length }, 'the list of proxies has lines that were skipped');
      if (proxies.length === 0) throw new Error('the list names no proxy');
      listed(proxies);
      failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      failures++;
      logger.warn({ reason: reasonOf(error), failures }, 'the list of proxies was not read; the last one stays');
    }
    const wait_ms =
      failures === 0 ? refresh_ms : backOffMs(failures - 1, { first_ms: first_retry_ms, longest_ms: refresh_ms });
    await pause(wait_ms, signal);
  }
}

async function fetchList(url: string, signal: AbortSignal): Promise<string> {
  // fetch refuses credentials in a URL.
  const { username, password, ...rest } = partsOf(url);
  const headers: Record<string, string> = {};
  if (username !== '') headers.authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  const response = await fetch(rest.href, {
    headers,
    signal: AbortSignal.any([signal, AbortSignal.timeout(FETCH_MS)]),
  });
  if (!response.ok || response.body === null) {
    await response.body?.cancel();
    throw new Error(`status ${response.status}`);
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body) {
    size += chunk.length;
    if (size > MAX_LIST_BYTES) throw new Error(`more than ${MAX_LIST_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function partsOf(text: string): { href: string; username: string; password: string } {
  const url = new URL(text);
  const [username, password] = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
  url.username = '';
  url.password = '';
  return { href: url.href, username, password };
}

/** The code of an error, since the message of a fetch error may hold the URL with its key. */
function reasonOf(error: unknown): string {
  const { cause, message } = error as Error;
  return (cause as NodeJS.ErrnoException | undefined)?.code ?? message;
}
