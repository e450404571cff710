// Streams of server-sent events (HTML, "Server-sent events"), with a limit on their number. A slow client gets only the latest event.
import { Readable } from 'node:stream';
import { ClientGone, retryLater } from '../errors.ts';
import { AddressShares, type Holder, holdersOf } from '../limits/address-shares.ts';

export interface EventStream {
  readable: Readable;
  /**
   * Replaces a waiting event: a slow client misses some events, but gets the latest one. `instead` is sent where an event is replaced that
   * came without one.
   */
  send(event: string, instead?: string): void;
  /** Sends this event, or else the waiting one, and ends the stream. */
  end(event?: string): void;
}

export interface EventStreams {
  /**
   * Throws HttpError: 429 when the user or the address has too many open streams, 503 when the process has, and no other site has more of
   * them than this one: a stream of the site with the most ends for it. The stream asks at each heartbeat whether its client is still
   * admitted, and ends without an event when it is not.
   */
  open(of: { user_id: string; ip: string }, isStillAdmitted?: () => Promise<boolean>): EventStream;
  /** Ends all streams, so that their clients reconnect to another process, and opens no more. */
  close(): void;
}

export const STREAM_LIMITS = {
  all: 1000,
  of_a_user: 20,
  of_an_address: 500,
  /** Proxies close a stream that is silent for a minute. */
  heartbeat_ms: 15_000,
  /** The stream ends after this many heartbeats. The client reconnects. */
  heartbeats: 120,
};

/** How long a client waits before it reconnects. */
export const RETRY_MS = 2000;

export function openEventStreams(limits = STREAM_LIMITS): EventStreams {
  /** Each stream, in the order in which they began, with how it gives its place back. */
  const open = new Map<LiveStream, { holders: readonly Holder[]; leave(): void }>();
  const by_user = new Map<string, number>();
  const by_address = new AddressShares(limits);
  let closed = false;
  const timer = setInterval(() => {
    for (const stream of open.keys()) stream.beat();
  }, limits.heartbeat_ms).unref();
  const ofSite = ([widest]: readonly Holder[]) => (widest ? by_address.heldBy(widest[0]) : 0);

  /** Ends the oldest stream of the site that has the most, unless these holders would then have as many. */
  function makeRoom(holders: readonly Holder[]): boolean {
    const most = Math.max(...open.values().map((of) => ofSite(of.holders)));
    if (most <= ofSite(holders) + 1) return false;
    const [stream, { leave }] = open.entries().find(([, of]) => ofSite(of.holders) === most)!;
    leave();
    stream.end();
    return true;
  }
  return {
    open({ user_id, ip }, isStillAdmitted = async () => true) {
      const held = by_user.get(user_id) ?? 0;
      if (held >= limits.of_a_user) throw refused(429, `You have ${held} open event streams. Close one first.`);
      const holders = holdersOf(ip);
      if (by_address.fullHolder(holders, 1) !== null)
        throw refused(429, 'Your address has too many open event streams. Close one first.');
      if (closed || (open.size >= limits.all && !makeRoom(holders)))
        throw refused(503, 'This process cannot open more event streams.');
      const stream = openStream(limits.heartbeats, isStillAdmitted);
      const leave = () => {
        if (!open.delete(stream)) return;
        by_address.add(holders, -1);
        const left = by_user.get(user_id)! - 1;
        if (left > 0) by_user.set(user_id, left);
        else by_user.delete(user_id);
      };
      open.set(stream, { holders, leave });
      by_address.add(holders, 1);
      by_user.set(user_id, (by_user.get(user_id) ?? 0) + 1);
      stream.readable.once('close', leave);
      return stream;
    },
    close() {
      closed = true;
      clearInterval(timer);
      for (const stream of open.keys()) stream.end();
    },
  };
}

const refused = (status: number, message: string) => retryLater(status, 'too_many_streams', message);

interface LiveStream extends EventStream {
  beat(): void;
}

function openStream(heartbeats: number, isStillAdmitted: () => Promise<boolean>): LiveStream {
  let waiting = '';
  /** Whether an event without `instead` has come since the last one that was sent. */
  let is_whole = false;
  let is_wanted = false;
  let is_over = false;
  let beats = 0;
  const readable = new Readable({
    // A client that does not read has one event in this buffer and one in `waiting`.
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
    is_whole = false;
    is_wanted = false;
    readable.push(text);
  }
  return {
    readable,
    send(event, instead = event) {
      if (is_over) return;
      waiting = is_whole ? instead : event;
      is_whole ||= event === instead;
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
      // The client has not read the end of its stream, and would keep its place for ever.
      else if (beats > heartbeats) readable.destroy(new ClientGone('the client does not read'));
      else if (is_wanted && !is_over) push(':\n\n');
      if (is_over) return;
      void isStillAdmitted().then((is_admitted) => is_admitted || this.end());
    },
  };
}
