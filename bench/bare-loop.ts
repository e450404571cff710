// Bare undici loops in a process of their own: what a checker is measured against. No redirects, no verdicts, no guard.
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Agent, type Dispatcher, request } from 'undici';

export type Kind = 'request' | 'dispatch';

export interface BareLoop {
  /** How many milliseconds the list takes. */
  run(kind: Kind, urls: readonly string[]): Promise<number>;
  stop(): Promise<void>;
}

export interface BareOptions {
  concurrency: number;
  per_host: number;
}

/** Starts the process; it ends with `stop`, or with its parent. */
export function startBareLoop(options: BareOptions): BareLoop {
  const child = fork(fileURLToPath(import.meta.url), ['loop', JSON.stringify(options)], { serialization: 'advanced' });
  return {
    run: (kind, urls) =>
      new Promise((resolve, reject) => {
        child.once('exit', (code) => reject(new Error(`the bare loop ended with ${code}`)));
        child.once('message', (ms) => {
          child.removeAllListeners('exit');
          resolve(ms as number);
        });
        child.send({ kind, urls });
      }),
    async stop() {
      child.removeAllListeners('exit');
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.disconnect();
      await ended;
    },
  };
}

/** `next` for each URL, so many at a time. */
async function loop(urls: readonly string[], concurrency: number, next: (url: string) => Promise<unknown>) {
  let i = 0;
  const worker = async (): Promise<void> => {
    while (i < urls.length) await next(urls[i++]!);
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}

export async function byRequest(urls: readonly string[], { concurrency, per_host }: BareOptions): Promise<void> {
  const agent = new Agent({ connections: per_host });
  await loop(urls, concurrency, async (url) => {
    const response = await request(url, { dispatcher: agent });
    if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`);
    await response.body.dump();
  });
  await agent.destroy();
}

/** The least that undici asks for: the status, and the body thrown away. */
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

export async function byDispatch(urls: readonly string[], { concurrency, per_host }: BareOptions): Promise<void> {
  const agent = new Agent({ connections: per_host });
  await loop(urls, concurrency, (url) => {
    const { origin, pathname } = new URL(url);
    return new Promise<void>((done) => {
      agent.dispatch({ origin, path: pathname, method: 'GET' }, new Discard(done));
    });
  });
  await agent.destroy();
}

if (import.meta.main && process.argv[2] === 'loop') {
  const options = JSON.parse(process.argv[3]!) as BareOptions;
  process.on('message', async ({ kind, urls }: { kind: Kind; urls: string[] }) => {
    const began = performance.now();
    await (kind === 'request' ? byRequest : byDispatch)(urls, options);
    process.send!(performance.now() - began);
  });
  process.on('disconnect', () => process.exit(0));
}
