// Bare undici loops in a process of their own, the baseline of the checker's benchmarks: no redirects, verdicts or guard.
import { fileURLToPath } from 'node:url';
import { Agent, type Dispatcher, request } from 'undici';
import { serveLoop, startLoop } from './loop-process.ts';

export type Kind = 'request' | 'dispatch';

export interface BareLoop {
  /** Checks the list and resolves to the time in milliseconds. */
  run(kind: Kind, urls: readonly string[]): Promise<number>;
  stop(): Promise<void>;
}

export interface BareOptions {
  concurrency: number;
  per_host: number;
  /** PEM of the trusted certificate authority. */
  ca?: string;
}

/** For `startLoop`. */
export const BARE_LOOP = fileURLToPath(import.meta.url);

/** Starts the process; it ends with `stop`, or with its parent. */
export function startBareLoop(options: BareOptions): BareLoop {
  const loop = startLoop<Kind>(BARE_LOOP, options);
  return { run: async (kind, urls) => (await loop.measure(kind, urls)).ms, stop: loop.stop };
}

/** Calls `next` for each URL, with `concurrency` calls in flight. */
async function loop(urls: readonly string[], concurrency: number, next: (url: string) => Promise<unknown>) {
  let i = 0;
  const worker = async (): Promise<void> => {
    while (i < urls.length) await next(urls[i++]!);
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}

export async function byRequest(urls: readonly string[], { concurrency, per_host, ca }: BareOptions): Promise<void> {
  const agent = new Agent({ connections: per_host, ...(ca ? { connect: { ca } } : {}) });
  await loop(urls, concurrency, async (url) => {
    const response = await request(url, { dispatcher: agent });
    if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`);
    await response.body.dump();
  });
  await agent.destroy();
}

/** The smallest dispatch handler: it keeps the status and discards the body. */
class Discard implements Dispatcher.DispatchHandler {
  readonly done: () => void;
  constructor(done: () => void) {
    this.done = done;
  }
  onRequestStart(): void {}
  onResponseStart(_controller: unknown, status: number): void {
    if (status !== 200) throw new Error(`status ${status}`);
  }
  onResponseData(): void {}
  onResponseEnd(): void {
    this.done();
  }
  onResponseError(_controller: unknown, error: Error): void {
    throw error;
  }
}

export async function byDispatch(urls: readonly string[], { concurrency, per_host, ca }: BareOptions): Promise<void> {
  const agent = new Agent({ connections: per_host, ...(ca ? { connect: { ca } } : {}) });
  await loop(urls, concurrency, (url) => {
    const { origin, pathname } = new URL(url);
    return new Promise<void>((done) => {
      agent.dispatch({ origin, path: pathname, method: 'GET' }, new Discard(done));
    });
  });
  await agent.destroy();
}

if (import.meta.main && process.argv[2] === 'loop') {
  serveLoop<Kind, BareOptions>((kind, urls, options) => (kind === 'request' ? byRequest : byDispatch)(urls, options));
}
