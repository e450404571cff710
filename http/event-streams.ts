// Streams of server-sent events (HTML, "Server-sent events"): how many there may be, what a slow client gets, how they end.
import { Readable } from 'node:stream';
import { ClientGone, retryLater } from './errors.ts';

export interface EventStream {
  readable: Readable;
  /** Takes the place of an event that waits: who reads slowly misses some, but not the last. */
  send(event: string): void;
  /** Sends this, or what waits, and no more. */
  end(event?: string): void;
}

export interface EventStreams {
  /** Throws 429 when the user has too many of them, 503 when the process has. */
  open(user_id: string): EventStream;
  /** Ends them all, so that their clients come back to another process; no more are opened. */
  close(): void;
}

export const STREAM_LIMITS = {
  all: 1000,
  of_a_user: 20,
  /** Proxies close what is silent for a minute. */
  heartbeat_ms: 15_000,
  /** Then the client comes back, and is asked again who it is: nobody follows for longer on a token that has expired. */
  heartbeats: 120,
};

/** After this time a client comes back whose stream has ended. */
export const RETRY_MS = 2000;

export function openEventStreams(limits = STREAM_LIMITS): EventStreams {
  const open = new Set<LiveStream>();
  const by_user = new Map<string, number>();
  let closed = false;
  const timer = setInterval(() => {
    for (const stream of open) stream.beat();
  }, limits.heartbeat_ms).unref();
  return {
    open(user_id) {
      if (closed || open.size >= limits.all) throw refused(503, 'This process has as many streams as it takes.');
      const held = by_user.get(user_id) ?? 0;
      if (held >= limits.of_a_user) throw refused(429, `You have ${held} streams of events open: end one.`);
      const stream = openStream(limits.heartbeats);
      open.add(stream);
      by_user.set(user_id, held + 1);
      stream.readable.once('close', () => {
        open.delete(stream);
        const left = by_user.get(user_id)! - 1;
        if (left > 0) by_user.set(user_id, left);
        else by_user.delete(user_id);
      });
      return stream;
    },
    close() {
      closed = true;
      clearInterval(timer);
      for (const stream of open) stream.end();
    },
  };
}

const refused = (status: number, message: string) => retryLater(status, 'too_many_streams', message);

interface LiveStream extends EventStream {
  beat(): void;
}

function openStream(heartbeats: number): LiveStream {
  let waiting = '';
  let is_wanted = false;
  let is_over = false;
  let beats = 0;
  const readable = new Readable({
    // A client that does not read has one event in hand, and one that waits.
    highWaterMark: 1,
    read() {
      is_wanted = true;
      flush();
    },
  });
  readable.push(`retry: ${RETRY_MS}\n\n`);

  function flush(): void {
    if (is_wanted && waiting !== '') push(waiting);
    if (is_over && waiting === '') readable.push(null);
  }
  function push(text: string): void {
    waiting = '';
    is_wanted = false;
    readable.push(text);
  }
  return {
    readable,
    send(event) {
      if (is_over) return;
      waiting = event;
      flush();
    },
    end(event) {
      if (is_over) return;
      is_over = true;
      waiting = event ?? waiting;
      flush();
    },
    beat() {
      beats++;
      if (beats === heartbeats) this.end();
      // It still has the end to read: it would keep its place for as long as it likes.
      else if (beats > heartbeats) readable.destroy(new ClientGone('the client does not read'));
      else if (is_wanted && !is_over) push(':\n\n');
    },
  };
}
