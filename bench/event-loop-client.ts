// The client of `bench/event-loop.ts`, in a thread of its own: sends a request and polls /healthz meanwhile.
import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';

export interface Sent {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: Uint8Array | null;
}
export interface Got {
  status: number;
  ms: number;
  size_bytes: number;
  /** The beginning of the answer. */
  text: string;
  /** Time of the slowest answer of /healthz meanwhile, in ms. */
  healthz_ms: number;
}

const KEPT_BYTES = 2000;
const HEALTHZ_EVERY_MS = 3;
const { url } = workerData as { url: string };
const [own, beside] = [new Agent({ keepAlive: true }), new Agent({ keepAlive: true })];

async function send({ method, path, headers, body }: Sent, agent: Agent): Promise<Omit<Got, 'healthz_ms'>> {
  const began = performance.now();
  return await new Promise((resolve, reject) => {
    const length = body ? { 'content-length': String(body.byteLength) } : {};
    const asked = request(url + path, { method, agent, headers: { ...headers, ...length } }, (response) => {
      let size_bytes = 0;
      let text = '';
      response.on('data', (chunk: Buffer) => {
        size_bytes += chunk.length;
        if (text.length < KEPT_BYTES) text += chunk.toString('latin1', 0, KEPT_BYTES);
      });
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode!, ms: performance.now() - began, size_bytes, text }),
      );
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

parentPort!.on('message', async (sent: Sent) => {
  let is_over = false;
  const looking = (async () => {
    let slowest_ms = 0;
    while (!is_over) {
      slowest_ms = Math.max(
        slowest_ms,
        (await send({ method: 'GET', path: '/healthz', headers: {}, body: null }, beside)).ms,
      );
      await delay(HEALTHZ_EVERY_MS);
    }
    return slowest_ms;
  })();
  const got = await send(sent, own).catch((error: Error) => ({
    ...{ status: 0, ms: 0, size_bytes: 0 },
    text: error.message,
  }));
  is_over = true;
  parentPort!.postMessage({ ...got, healthz_ms: await looking } satisfies Got);
});
