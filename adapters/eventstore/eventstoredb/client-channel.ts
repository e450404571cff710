// The gRPC channel of the client: one connection of its own, which can be replaced while the server says nothing. Decision 173 says why.
import type { EventStoreDBClient } from '@eventstore/db-client';

interface Channel {
  close(): void;
  getTarget(): string;
}
type ChannelClass = new (target: string, credentials: unknown, options: object) => Channel;

/** Private methods of the client. */
interface ClientParts {
  createChannel(): Promise<Channel>;
  handleError(client: { getChannel(): Channel }, error: unknown): Promise<void>;
}

/**
 * Channels share connections, and with them the wait before the next try of one, which grows to two minutes. A channel with
 * connections of its own begins with a new one, and asks for the address of the server anew.
 */
const OWN_CONNECTION = {
  'grpc.use_local_subchannel_pool': 1,
  'grpc.initial_reconnect_backoff_ms': 200,
  'grpc.max_reconnect_backoff_ms': 2_000,
};
/** The code of gRPC at which the client gives its channel up. */
const UNAVAILABLE = 14;

/**
 * Closes what the client itself leaves open. Also keeps the client from ending the process: nobody awaits its `handleError`, and a call
 * begun on a channel that it closes in the same turn of the event loop throws where nothing can catch it.
 */
export class ClientChannel {
  readonly #handleError: ClientParts['handleError'];
  #current: Channel | null = null;
  #made_at = 0;
  #is_closed = false;

  constructor(client: EventStoreDBClient) {
    const parts = client as unknown as ClientParts;
    const { createChannel, handleError } = parts;
    this.#handleError = (...failure) => handleError(...failure).catch(() => undefined);
    Object.assign(parts, {
      createChannel: async () => this.#take(withOwnConnection(await createChannel())),
      handleError: this.#handleError,
    } satisfies ClientParts);
  }

  #take(channel: Channel): Channel {
    const close = channel.close.bind(channel);
    channel.close = () => void setImmediate(close);
    this.#current = channel;
    this.#made_at = performance.now();
    if (this.#is_closed) channel.close();
    return channel;
  }

  /** Lets the next call begin a new connection, unless this one is younger than `at_least_ms`. Calls under way end with an error. */
  renew(at_least_ms: number): void {
    const channel = this.#current;
    if (channel === null || performance.now() - this.#made_at < at_least_ms) return;
    this.#current = null;
    const silent = Object.assign(new Error('the server says nothing'), { code: UNAVAILABLE });
    void this.#handleError({ getChannel: () => channel }, silent);
  }

  close(): void {
    this.#is_closed = true;
    this.#current?.close();
  }
}

/** The client sets no options of channels: this makes the same channel with ours. None has connected before its first call. */
function withOwnConnection(channel: Channel): Channel {
  const { internalChannel } = channel as unknown as { internalChannel: { credentials: unknown; options: object } };
  const { credentials, options } = internalChannel;
  const own = new (channel.constructor as ChannelClass)(channel.getTarget(), credentials, {
    ...options,
    ...OWN_CONNECTION,
  });
  channel.close();
  return own;
}
