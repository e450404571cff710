// The queue in NATS: messages in a JetStream work queue, broadcasts in core NATS.
import { ErrorCode, type JetStreamClient, type Msg, NatsError, type PubAck } from 'nats';
import type { ConsumeOptions, Consumer, Message, Queue } from '../../../checkers/queue.ts';
import {
  checkConsumeOptions,
  checkSubject,
  encodeBody,
  encodeMessages,
  MAX_BODY_BYTES,
  QueueError,
} from '../limits.ts';
import { type Connection, type Log, openConnection, REQUEST_LIMIT_MS, reason } from './connection.ts';
import { Puller } from './puller.ts';
import { WorkStream } from './stream.ts';

/** Messages of one `publish` that wait for the server's answer at one time. */
const PUBLISH_WINDOW = 256;
/** Of a message: its id is in its headers. */
const HEADER_BYTES = 1024;

export interface NatsQueueOptions {
  /** `nats://` or `tls://`, with the user and password or the token where the server wants one. */
  url: string;
  /** Of `[a-z0-9_-]`: the name of the stream and the first word of all subjects. Queues of different ones do not meet. */
  prefix?: string;
  log: Log;
  /** How long connecting, publishing and all else that needs an answer is tried before it is `unavailable`. */
  give_up_after_ms?: number;
}

/** Rejects with the code `unavailable` when no server is found; later it connects again for ever. */
export async function openNatsQueue({
  url,
  prefix = 'urlchecker',
  log,
  give_up_after_ms = 10_000,
}: NatsQueueOptions): Promise<Queue> {
  if (!/^[a-z0-9_-]{1,100}$/.test(prefix)) throw new QueueError('invalid_option', `'${prefix}' is not of [a-z0-9_-]`);
  const connection = await openConnection(url, log, give_up_after_ms);
  const manager = await connection.nats.jetstreamManager({ checkAPI: false, timeout: REQUEST_LIMIT_MS });
  const queue = new NatsQueue(connection, new WorkStream(prefix, manager), give_up_after_ms);
  try {
    await queue.prepare();
    return queue;
  } catch (error) {
    await queue.close();
    throw error;
  }
}

class NatsQueue implements Queue {
  readonly #connection: Connection;
  readonly #stream: WorkStream;
  readonly #jetStream: JetStreamClient;
  readonly #limit_ms: number;

  constructor(connection: Connection, stream: WorkStream, limit_ms: number) {
    this.#connection = connection;
    this.#stream = stream;
    this.#jetStream = connection.nats.jetstream({ timeout: REQUEST_LIMIT_MS });
    this.#limit_ms = limit_ms;
  }

  /** Less where the server takes less; it says so whenever a connection is made. */
  get max_body_bytes(): number {
    const max_payload = this.#connection.nats.info?.max_payload ?? MAX_BODY_BYTES + HEADER_BYTES;
    return Math.min(MAX_BODY_BYTES, max_payload - HEADER_BYTES);
  }

  prepare(): Promise<void> {
    return this.#connection.attempt('making the stream', this.#limit_ms, () => this.#stream.ensure());
  }

  async publish(subject: string, messages: readonly Message[]): Promise<void> {
    checkSubject(subject);
    const waiting = encodeMessages(messages).values();
    this.#connection.assertOpen();
    const publishRest = async () => {
      for (const { id, body } of waiting) await this.#publish(subject, id, body);
    };
    await Promise.all(Array.from({ length: Math.min(PUBLISH_WINDOW, messages.length) }, publishRest));
  }

  /** JetStream tells duplicates by the id alone, over all subjects of a stream: hence the subject in it. */
  #publish(subject: string, id: string, body: string): Promise<PubAck> {
    const options = { msgID: `${subject} ${id}`, timeout: REQUEST_LIMIT_MS };
    const publish = () => this.#jetStream.publish(this.#stream.work(subject), body, options);
    return this.#connection.attempt('publishing', this.#limit_ms, async () => {
      try {
        return await publish();
      } catch (error) {
        if (!isUnanswered(error)) throw error;
        await this.#stream.ensure();
        return publish();
      }
    });
  }

  async consume<Body>(subject: string, options: ConsumeOptions): Promise<Consumer<Body>> {
    checkSubject(subject);
    checkConsumeOptions(options);
    const ensure = () => this.#stream.ensureConsumer(subject, options);
    await this.#connection.attempt('making a consumer', this.#limit_ms, ensure);
    return new Puller(this.#connection, this.#stream, subject, options);
  }

  async depth(subject: string): Promise<number> {
    checkSubject(subject);
    return this.#connection.attempt('asking for the depth', this.#limit_ms, () => this.#stream.depth(subject));
  }

  async broadcast(subject: string, body: unknown): Promise<void> {
    checkSubject(subject);
    const json = encodeBody(body);
    // Not retried once it is sent: nobody hears it twice.
    await this.#connection.attempt('broadcasting', this.#limit_ms, async () =>
      this.#connection.nats.publish(this.#stream.broadcast(subject), json),
    );
  }

  async listen(subject: string, heard: (body: unknown) => void, signal: AbortSignal): Promise<void> {
    checkSubject(subject);
    this.#connection.assertOpen();
    if (signal.aborted) return;
    const subscription = this.#connection.nats.subscribe(this.#stream.broadcast(subject), {
      callback: (error, message) => {
        const body = error ? undefined : this.#readBroadcast(message);
        if (error) this.#connection.log.error({ err: error, subject }, 'NATS: listening failed');
        // Thrown here, an error would end the client's reading; thrown later, it is the program's, as it should be.
        else if (body !== undefined) queueMicrotask(() => !signal.aborted && heard(body));
      },
    });
    signal.addEventListener('abort', () => subscription.unsubscribe(), {
      once: true,
      signal: this.#connection.closing,
    });
    // From here on the server knows; after a lost connection the client subscribes again by itself.
    await this.#connection.attempt('listening', this.#limit_ms, () => this.#connection.nats.flush());
  }

  #readBroadcast(message: Msg): unknown {
    try {
      return message.json();
    } catch (error) {
      this.#connection.log.error({ subject: message.subject, reason: reason(error) }, 'NATS: a broadcast is not JSON');
      return undefined;
    }
  }

  close(): Promise<void> {
    return this.#connection.close();
  }
}

/** Nobody listens on the subject: there is no stream. */
function isUnanswered(error: unknown): boolean {
  return error instanceof NatsError && error.code === ErrorCode.NoResponders;
}
