// Yields the bytes of a request body at the pace of its consumer, and gives up on a client that sends them too slowly. A slow
// body would hold one of its user's places for large requests until the timeout of the whole request.
import type { ServerResponse } from 'node:http';
import type { Context } from 'koa';
import { breather } from '../../../time/event-loop.ts';
import { ClientGone, HttpError } from '../errors.ts';
import { IncomingMessage } from '../node-http.ts';

export interface Pace {
  /** The most time from the service's first read until the first byte. */
  begin_ms: number;
  /** The most time that the service waits for each further `bytes`. */
  more_ms: number;
  bytes: number;
}

/** The slowest pace that the service accepts: 4 kbit/s. */
const PACE: Pace = { begin_ms: 5000, more_ms: 30_000, bytes: 16 * 1024 };

/** Requests whose client waits for `100 Continue` before it sends the body. After a refusal it never sends the body. */
const awaiting_continue = new WeakSet<IncomingMessage>();
export const awaitContinue = (request: IncomingMessage) => void awaiting_continue.add(request);
export const isAwaitingContinue = (request: IncomingMessage) => awaiting_continue.has(request);

/** Throws 408 when the client is too slow, and ClientGone when it leaves. `answerEarly` discards bytes that nobody consumed. */
export async function* bodyChunks(
  { req, res }: { req: IncomingMessage; res: ServerResponse } | Context,
  pace = PACE,
): AsyncGenerator<Buffer> {
  if (awaiting_continue.delete(req)) res.writeContinue();
  // A small body mostly comes together with its headers.
  const whole: Buffer | null = req.complete ? req.read() : null;
  if (whole !== null) {
    yield whole;
    return;
  }
  const chunks = req.iterator({ destroyOnReturn: false });
  const breathe = breather();
  let [allowed_ms, waited_ms, bytes] = [pace.begin_ms, 0, 0];
  let is_late = false;
  try {
    for (;;) {
      const since = performance.now();
      const { promise: late, reject } = Promise.withResolvers<never>();
      // After a pause of this process, bytes that arrived meanwhile are read before the timer calls the client late.
      const timer = setTimeout(() => setImmediate(() => reject(tooSlow())), allowed_ms - waited_ms);
      const next = await Promise.race([chunks.next(), late])
        .catch((error: unknown) => {
          is_late = error instanceof HttpError;
          throw is_late ? error : new ClientGone('the client left while it sent the body');
        })
        .finally(() => clearTimeout(timer));
      if (next.done) return;
      // A longer wait may be a pause of this process, so it counts as at most `begin_ms`.
      waited_ms += Math.min(performance.now() - since, pace.begin_ms);
      bytes += next.value.length;
      if (waited_ms > allowed_ms) throw tooSlow();
      if (allowed_ms === pace.begin_ms || bytes >= pace.bytes) [allowed_ms, waited_ms, bytes] = [pace.more_ms, 0, 0];
      yield next.value;
      await breathe();
    }
  } finally {
    // A late iterator still waits for its next chunk, so `return` would wait too.
    if (!is_late) await chunks.return?.();
  }
}

export const tooSlow = () =>
  new HttpError(408, 'too_slow', 'The body took too long to arrive.', undefined, { connection: 'close' });

/** Each chunk costs the thread a microsecond, however small it is, and one read may bring thousands. */
const MANY_CHUNKS = 10_000;
const SMALL_BYTES = 32;

/** The request class of a server. It calls `refuse` for a body of many small chunks (RFC 9112, 7.1), and reads no more of that body. */
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
