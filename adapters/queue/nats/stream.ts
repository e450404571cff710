// The JetStream stream that keeps the messages, and a durable consumer a subject; both are made again when missing.
import {
  AckPolicy,
  type ConsumerConfig,
  type JetStreamManager,
  NatsError,
  nanos,
  RetentionPolicy,
  StorageType,
} from 'nats';
import type { ConsumeOptions } from '../../../checkers/queue.ts';
import { DEDUPE_MS, MESSAGE_AGE_MS } from '../limits.ts';

/** Messages in hand at one time, of one subject. */
const MAX_IN_HAND = 100_000;

/** JetStream's numbers of errors. */
const STREAM_NOT_FOUND = 10_059;
const CONSUMER_NOT_FOUND = 10_014;
const STREAM_EXISTS = 10_058;
const CONSUMER_EXISTS = [10_148, 10_013];

export class WorkStream {
  /** Of the stream, and the first word of all subjects. */
  readonly name: string;
  readonly #manager: JetStreamManager;
  #ensuring: Promise<void> | null = null;

  constructor(name: string, manager: JetStreamManager) {
    this.name = name;
    this.#manager = manager;
  }

  work(subject: string): string {
    return `${this.name}.work.${subject}`;
  }

  broadcast(subject: string): string {
    return `${this.name}.broadcast.${subject}`;
  }

  /** JetStream allows no dots here. */
  consumer(subject: string): string {
    return subject.replaceAll('.', '=');
  }

  /** Makes the stream, or gives one that is there our limits; what an operator set else, such as replicas, stays. */
  ensure(): Promise<void> {
    // Many find it missing at the same time.
    this.#ensuring ??= this.#ensure().finally(() => {
      this.#ensuring = null;
    });
    return this.#ensuring;
  }

  async #ensure(): Promise<void> {
    const wanted = {
      subjects: [this.work('>')],
      duplicate_window: nanos(DEDUPE_MS),
      max_age: nanos(MESSAGE_AGE_MS),
    };
    const kept = { retention: RetentionPolicy.Workqueue, storage: StorageType.File };
    try {
      await this.#manager.streams.add({ name: this.name, ...kept, ...wanted });
    } catch (error) {
      if (jetStreamError(error) !== STREAM_EXISTS) throw error;
      const { config } = await this.#manager.streams.info(this.name);
      if (config.retention !== kept.retention) throw new Error(`stream ${this.name} is not a work queue`);
      await this.#manager.streams.update(this.name, { ...config, ...wanted });
    }
  }

  /**
   * The server delivers without a limit: a message that comes once too often is terminated by the puller, which takes
   * it out of the stream. Past a `max_deliver` of its own the server would leave it there.
   */
  async ensureConsumer(subject: string, { ack_wait_ms }: ConsumeOptions): Promise<void> {
    const durable_name = this.consumer(subject);
    const config: Partial<ConsumerConfig> = {
      durable_name,
      filter_subject: this.work(subject),
      ack_policy: AckPolicy.Explicit,
      ack_wait: nanos(ack_wait_ms),
      max_deliver: -1,
      max_ack_pending: MAX_IN_HAND,
    };
    await this.ensure();
    try {
      await this.#manager.consumers.add(this.name, config);
    } catch (error) {
      if (!CONSUMER_EXISTS.includes(jetStreamError(error) ?? 0)) throw error;
      await this.#manager.consumers.update(this.name, durable_name, config);
    }
  }

  /** Messages never delivered yet. Those given back and those in hand are one number to JetStream, and not counted. */
  async depth(subject: string): Promise<number> {
    try {
      return (await this.#manager.consumers.info(this.name, this.consumer(subject))).num_pending;
    } catch (error) {
      const missing = jetStreamError(error);
      if (missing === STREAM_NOT_FOUND) return 0;
      if (missing !== CONSUMER_NOT_FOUND) throw error;
    }
    // Nobody has consumed the subject yet.
    const filter = this.work(subject);
    const { state } = await this.#manager.streams.info(this.name, { subjects_filter: filter });
    return state.subjects?.[filter] ?? 0;
  }
}

function jetStreamError(error: unknown): number | undefined {
  return error instanceof NatsError ? error.api_error?.err_code : undefined;
}
