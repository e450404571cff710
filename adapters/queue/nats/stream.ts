// The JetStream stream that keeps the messages, with one durable consumer for each subject. Makes both again when missing.
import {
  AckPolicy,
  type ConsumerConfig,
  DiscardPolicy,
  type JetStreamManager,
  NatsError,
  nanos,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from 'nats';
import type { ConsumeOptions } from '../../../checkers/queue.ts';
import { DEDUPE_MS, MESSAGE_AGE_MS } from '../limits.ts';
import type { Connection } from './connection.ts';

/** Limit of unacknowledged messages of one subject. */
const MAX_IN_HAND = 100_000;

/** JetStream's error codes. */
const STREAM_NOT_FOUND = 10_059;
const CONSUMER_NOT_FOUND = 10_014;
const STREAM_EXISTS = 10_058;
const CONSUMER_EXISTS = [10_148, 10_013];
/** No server has room, or may keep a replica: some are down, or have no JetStream. */
const TOO_FEW_SERVERS = [10_005, 10_023, 10_074];

const CLUSTER_REPLICAS = 3;

export class WorkStream {
  /** Name of the stream, and first word of all its subjects. */
  readonly name: string;
  readonly #manager: JetStreamManager;
  readonly #connection: Pick<Connection, 'nats' | 'log'>;
  /** The setting; null: by the size of the cluster. */
  readonly #replicas: number | null;
  #ensuring: Promise<void> | null = null;
  /** The stream at the last look: when it was made, and the number of its last message. */
  #seen: { created: string; last: number } | null = null;
  #losses = 0;

  constructor(
    name: string,
    manager: JetStreamManager,
    connection: Pick<Connection, 'nats' | 'log'>,
    replicas: number | null,
  ) {
    this.name = name;
    this.#manager = manager;
    this.#connection = connection;
    this.#replicas = replicas;
  }

  work(subject: string): string {
    return `${this.name}.work.${subject}`;
  }

  broadcast(subject: string): string {
    return `${this.name}.broadcast.${subject}`;
  }

  /** JetStream allows no dots in a consumer's name. */
  consumer(subject: string): string {
    return subject.replaceAll('.', '=');
  }

  /** Makes the stream, or sets our limits on an existing one. An operator's other settings stay, and so do more replicas. */
  ensure(): Promise<void> {
    // Concurrent callers that find the stream missing share one request.
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
      // A full stream refuses what is published, which is tried again. Otherwise it would drop the work that waits for longest.
      discard: DiscardPolicy.New,
    };
    const kept = { retention: RetentionPolicy.Workqueue, storage: StorageType.File };
    await this.#withReplicas(async (replicas) => {
      try {
        await this.#manager.streams.add({ name: this.name, ...kept, ...wanted, num_replicas: replicas });
      } catch (error) {
        if (jetStreamError(error) !== STREAM_EXISTS) throw error;
        const { config } = await this.#manager.streams.info(this.name);
        assertWorkQueue(config);
        const num_replicas = Math.max(config.num_replicas, replicas);
        await this.#manager.streams.update(this.name, { ...config, ...wanted, num_replicas });
      }
    });
  }

  /** Without a setting, a cluster in which too few servers keep messages, or are there, has one replica until the next try. */
  async #withReplicas(make: (replicas: number) => Promise<void>): Promise<void> {
    const replicas = this.#replicas ?? this.#replicasOfCluster();
    try {
      await make(replicas);
    } catch (error) {
      if (this.#replicas !== null || replicas === 1 || !TOO_FEW_SERVERS.includes(jetStreamError(error) ?? 0))
        throw error;
      this.#connection.log.warn(
        { replicas },
        'NATS: too few servers of the cluster keep messages: one keeps the queue',
      );
      await make(1);
    }
  }

  /** A server need not tell clients of the others (`no_advertise`), but always tells that there is a cluster. */
  #replicasOfCluster(): number {
    return this.#connection.nats.info?.cluster ? CLUSTER_REPLICAS : 1;
  }

  /** Counts how often the stream was made anew, or went back, since the first look. Makes a missing one. */
  async losses(): Promise<number> {
    const info = await this.#manager.streams.info(this.name).catch(async (error: unknown) => {
      if (jetStreamError(error) !== STREAM_NOT_FOUND) throw error;
      await this.ensure();
      return this.#manager.streams.info(this.name);
    });
    const [created, last] = [String(info.created), info.state.last_seq];
    if (this.#seen !== null && (created !== this.#seen.created || last < this.#seen.last)) this.#losses += 1;
    this.#seen = { created, last };
    return this.#losses;
  }

  /**
   * Makes or updates the durable consumer. `max_deliver` is unlimited: the puller itself terminates a message that was
   * delivered too often, which removes it. Past its own `max_deliver` the server would leave the message in the stream.
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
      // That of a checker which died goes by itself. One that is asked for later is made again.
      inactive_threshold: nanos(MESSAGE_AGE_MS),
    };
    await this.ensure();
    try {
      await this.#manager.consumers.add(this.name, config);
    } catch (error) {
      if (!CONSUMER_EXISTS.includes(jetStreamError(error) ?? 0)) throw error;
      await this.#manager.consumers.update(this.name, durable_name, config);
    }
  }

  async drop(subject: string): Promise<void> {
    try {
      await this.#manager.streams.purge(this.name, { filter: this.work(subject) });
    } catch (error) {
      if (jetStreamError(error) !== STREAM_NOT_FOUND) throw error;
    }
  }

  /** Counts messages never delivered. JetStream does not tell returned messages from unacknowledged ones, so neither counts. */
  async depth(subject: string): Promise<number> {
    try {
      return (await this.#manager.consumers.info(this.name, this.consumer(subject))).num_pending;
    } catch (error) {
      const missing = jetStreamError(error);
      if (missing === STREAM_NOT_FOUND) return 0;
      if (missing !== CONSUMER_NOT_FOUND) throw error;
    }
    // The subject has no consumer yet, so every message of it waits.
    const filter = this.work(subject);
    const { state, config } = await this.#manager.streams.info(this.name, { subjects_filter: filter });
    assertWorkQueue(config); // nobody can make its consumer
    return state.subjects?.[filter] ?? 0;
  }
}

function assertWorkQueue({ name, retention }: StreamConfig): void {
  if (retention !== RetentionPolicy.Workqueue) throw new Error(`stream ${name} is not a work queue`);
}

function jetStreamError(error: unknown): number | undefined {
  return error instanceof NatsError ? error.api_error?.err_code : undefined;
}
