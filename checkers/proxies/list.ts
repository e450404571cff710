// Keeps a checker's list of proxies up to date: reads it every few minutes, and at once when an administrator asks. After a
// failed read the previous list stays in use.
import type { Logger } from 'pino';
import { backOffMs } from '../../time/back-off.ts';
import { pause } from '../../time/pause.ts';
import { type ParsedList, readProxyList } from './read-list.ts';

const REFRESH_MS = 5 * 60_000;
/** Back-off after a failed read; it doubles with each failure up to `REFRESH_MS`. */
const FIRST_RETRY_MS = 5000;
const LOOK_MS = 2000;

export interface ProxyListOptions {
  url: string;
  listed: (list: ParsedList) => void;
  /** Whether somebody has asked to read the list anew since the last call. */
  wasAsked?: () => Promise<boolean>;
  logger: Logger;
  signal: AbortSignal;
  refresh_ms?: number;
  first_retry_ms?: number;
  look_ms?: number;
}

/** Runs until `signal` aborts. */
export async function followProxyList(options: ProxyListOptions): Promise<void> {
  const { url, listed, logger, signal, refresh_ms = REFRESH_MS, first_retry_ms = FIRST_RETRY_MS } = options;
  let failures = 0;
  while (!signal.aborted) {
    try {
      const list = await readProxyList(url, signal);
      const { bad } = list;
      // The lines hold passwords, so the log names their numbers only.
      if (bad.length > 0)
        logger.warn({ lines: bad.slice(0, 20), count: bad.length }, 'the list of proxies has lines that were skipped');
      listed(list);
      failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      failures++;
      logger.warn(
        { reason: (error as Error).message, failures },
        'the list of proxies was not read; the last one stays',
      );
    }
    const wait_ms =
      failures === 0 ? refresh_ms : backOffMs(failures - 1, { first_ms: first_retry_ms, longest_ms: refresh_ms });
    await untilNext(wait_ms, options);
  }
}

/** Waits, but no longer than until somebody asks for the list. */
async function untilNext(wait_ms: number, options: ProxyListOptions): Promise<void> {
  const { wasAsked = async () => false, signal, look_ms = LOOK_MS } = options;
  for (const until = performance.now() + wait_ms; !signal.aborted; ) {
    const left_ms = until - performance.now();
    if (left_ms <= 0) return;
    await pause(Math.min(left_ms, look_ms), signal);
    // While the log is away, the list is read at its time.
    if (!signal.aborted && (await wasAsked().catch(() => false))) return;
  }
}
