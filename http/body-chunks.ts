// The bytes of a request's body at the pace of whoever takes them. A client that keeps the service waiting is given up: its
// body would hold a place among the large requests of its user for as long as the whole request may last.
import type { ServerResponse } from 'node:http';
import type { Context } from 'koa';
import { breather } from '../intake/event-loop.ts';
import { ClientGone, HttpError } from './errors.ts';
import { IncomingMessage } from './node-http.ts';

export interface Pace {
  /** Until the first byte, once the service asks for it. */
  begin_ms: number;
  /** How long the service waits in all for each `bytes` that follow. */
  more_ms: number;
  bytes: number;
}

/** The slowest: 4 kbit/s. */
const PACE: Pace = { begin_ms: 5000, more_ms: 30_000, bytes: 16 * 1024 };

/** Requests whose client waits for `100 Continue` before it sends the body: one that is refused is never sent. */
const awaiting_continue = new WeakSet<IncomingMessage>();
export const awaitContinue = (request: IncomingMessage) => void awaiting_continue.add(request);
export const isAwaitingContinue = (request: IncomingMessage) => awaiting_continue.has(request);

/** Throws 408 when its client is too slow, ClientGone when it leaves. What is not taken is left to be read away. */
export async function* bodyChunks(
  { req, res }: { req: IncomingMessage; res: ServerResponse } | Context,
  pace = PACE,
): AsyncGenerator<Buffer> {
  if (awaiting_continue.delete(req)) res.writeContinue();
  const chunks = req.iterator({ destroyOnReturn: false });
  const breathe = breather();
  let [allowed_ms, waited_ms, bytes] = [pace.begin_ms, 0, 0];
  let is_late = false;
  try {
    for (;;) {
      const since = performance.now();
      const { promise: late, reject } = Promise.withResolvers<never>();
      // What came while this thread or process stood still is looked at before it is called late.
      const timer = setTimeout(() => setImmediate(() => reject(tooSlow())), allowed_ms - waited_ms);
      const next = await Promise.race([chunks.next(), late])
        .catch((error: unknown) => {
          is_late = error instanceof HttpError;
          throw is_late ? error : new ClientGone('the client left while it sent the body');
        })
        .finally(() => clearTimeout(timer));
      if (next.done) return;
      // More of it may be a time in which this process stood still.
      waited_ms += Math.min(performance.now() - since, pace.begin_ms);
      bytes += next.value.length;
      if (waited_ms > allowed_ms) throw tooSlow();
      if (allowed_ms === pace.begin_ms || bytes >= pace.bytes) [allowed_ms, waited_ms, bytes] = [pace.more_ms, 0, 0];
      yield next.value;
      await breathe();
    }
  } finally {
    // One that is late still waits for its next chunk, and would wait here.
    if (!is_late) await chunks.return?.();
  }
}

const tooSlow = () =>
  new HttpError(408, 'too_slow', 'The body took too long to arrive.', undefined, { connection: 'close' });

/** A chunk costs the thread a microsecond, however small it is, and thousands come in one read. */
const MANY_CHUNKS = 10_000;
const SMALL_BYTES = 32;

/** Requests of a server that calls `refuse` for one whose body comes in many small chunks (RFC 9112, 7.1), and reads no more of it. */
export function refusingSmallChunks(refuse: (request: IncomingMessage) => void): typeof IncomingMessage {
  return class extends IncomingMessage {
    #chunks = 0;
    #bytes = 0;
    #is_refused = false;

    override push(chunk: Buffer | null, encoding?: BufferEncoding): boolean {
      if (this.#is_refused) return false;
      this.#chunks += 1;
      this.#bytes += chunk?.length ?? 0;
      const is_small = this.#chunks > MANY_CHUNKS && this.#bytes < this.#chunks * SMALL_BYTES;
      if (!is_small || this.headers['transfer-encoding'] === undefined) return super.push(chunk, encoding);
      this.#is_refused = true;
      refuse(this);
      return false;
    }
  };
}
