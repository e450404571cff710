// The queue on NATS: messages go through a JetStream work queue, broadcasts through core NATS.
import { ErrorCode, type JetStreamClient, type Msg, NatsError, type PubAck } from 'nats';
import type { ConsumeOptions, Consumer, Message, Queue } from '../../../checkers/queue.ts';
import { TIME_LIMITS } from '../../../time/time-limits.ts';
import type { TlsFiles } from '../../tls-files.ts';
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

/** Messages of one `publish` that may wait for the server's acknowledgement at a time. */
const PUBLISH_WINDOW = 256;
/** Room for a message's headers, which hold its id. */
const HEADER_BYTES = 1024;

export interface NatsQueueOptions {
  /** `nats://` or `tls://`, with user and password or a token where the server wants one. */
  url: string;
  tls?: TlsFiles;
  /** Name of the stream and first word of all subjects, of `[a-z0-9_-]`. Each prefix is a separate queue. */
  prefix?: string;
  /** The servers that keep each message. Null or unset: 3 in a cluster of 3 or more, else 1. */
  replicas?: number | null;
  log: Log;
  /** How long each operation, connecting included, is retried before it fails with `unavailable`. */
  give_up_after_ms?: number;
}

/**
 * Connects and makes the stream. Rejects with QueueError `unavailable` when no server answers; later it reconnects for ever.
 * @example const queue = await openNatsQueue({ url: 'nats://127.0.0.1:4222', log: pino() })
 */
export async function openNatsQueue({
  url,
  tls,
  prefix = 'urlchecker',
  replicas = null,
  log,
  give_up_after_ms = TIME_LIMITS.NATS.unavailable_after_ms,
}: NatsQueueOptions): Promise<Queue> {
  if (!/^[a-z0-9_-]{1,100}$/.test(prefix)) throw new QueueError('invalid_option', `'${prefix}' is not of [a-z0-9_-]`);
  const connection = await openConnection(url, log, give_up_after_ms, tls);
  const manager = await connection.nats.jetstreamManager({ checkAPI: false, timeout: REQUEST_LIMIT_MS });
  const queue = new NatsQueue(connection, new WorkStream(prefix, manager, connection, replicas), give_up_after_ms);
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

  /** The server announces its `max_payload` at each connection; a smaller one lowers our limit. */
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

  /** The message id contains the subject, because JetStream deduplicates by id over all subjects of a stream. */
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

  async drop(subject: string): Promise<void> {
    checkSubject(subject);
    await this.#connection.attempt('dropping a subject', this.#limit_ms, () => this.#stream.drop(subject));
  }

  async depth(subject: string): Promise<number> {
    checkSubject(subject);
    return this.#connection.attempt('asking for the depth', this.#limit_ms, () => this.#stream.depth(subject));
  }

  losses(): Promise<number> {
    return this.#connection.attempt('looking for lost messages', this.#limit_ms, () => this.#stream.losses());
  }

  async broadcast(subject: string, body: unknown): Promise<void> {
    checkSubject(subject);
    const json = encodeBody(body);
    // `publish` returns once the client has the message, so a retry never sends it twice.
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
        // An error thrown in this callback would end the client's subscription; in a microtask it is the program's own.
        else if (body !== undefined) queueMicrotask(() => !signal.aborted && heard(body));
      },
    });
    signal.addEventListener('abort', () => subscription.unsubscribe(), {
      once: true,
      signal: this.#connection.closing,
    });
    // After the flush the server knows the subscription; the client renews it after each lost connection.
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

/** NATS has no responder on the subject, which means that the stream is missing. */
function isUnanswered(error: unknown): boolean {
  return error instanceof NatsError && error.code === ErrorCode.NoResponders;
}
