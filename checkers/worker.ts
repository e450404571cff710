// The worker around the engine. It pulls messages while the engine has room, checks their URLs, records the outcomes, and
// only then acknowledges the messages. While the log is away it keeps the outcomes and extends the messages' ack wait.
import { randomUUID } from 'node:crypto';
import { uptime } from 'node:os';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { CommandContext } from '../commands/aggregate.ts';
import type { Jobs } from '../commands/jobs/job.ts';
import { checkerActor, type Outcome } from '../events/checks.ts';
import type { EventStore, Position } from '../events/event-store.ts';
import { pause } from '../time/pause.ts';
import { BatchesInHand } from './batches-in-hand.ts';
import { Bag, type Placed } from './engine/bag.ts';
import type { Engine } from './engine/engine.ts';
import { joinCheckers, type Membership } from './membership.ts';
import type { Consumer, Delivery, Queue } from './queue.ts';
import { createRetry } from './retry.ts';
import { followStops } from './stops.ts';
import { IN_HAND_SUBJECT, MAX_DELIVERIES, WORK_SUBJECT, type Work, workSubjectOf } from './work.ts';

export interface WorkerOptions {
  log: EventStore;
  jobs: Jobs;
  queue: Queue;
  engine: Engine;
  logger: Logger;
  signal: AbortSignal;
  /** The queue delivers a message to another checker after this long without a heartbeat. */
  ack_wait_ms: number;
  /** Time between two announcements to the other checkers. */
  announce_ms?: number;
  /** Called for each outcome. */
  checked?: (outcome: Outcome) => void;
  /** Time between two heartbeats to the queue for the messages in hand. Default: a third of `ack_wait_ms`. */
  heartbeat_ms?: number;
  /** Time between two looks for outcomes to record. */
  record_ms?: number;
  now?: () => number;
  /** Milliseconds that never go back and that go on while the machine sleeps. Default: since this machine booted. */
  monotonic?: () => number;
  /** Waits before a retry; ends early, without an error, when the signal aborts. */
  wait?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** URLs of one pull, about: small messages come together. */
const URLS_A_PULL = 800;
/** Estimate of a message's size before the first message. */
const URLS_A_MESSAGE = 100;
/** Factor by which the estimate shrinks with each smaller message. */
const SIZE_DECAY = 0.8;
const PULL_WAIT_MS = 1000;
const FULL_WAIT_MS = 2;
/** The worker pulls nothing while more URLs than this wait for the log's acknowledgement. */
const MAX_WAITING_FOR_LOG = 1000;
const PULL_AGAIN_MS = 500;
/** Time between two pulls while no name server answers. */
const PULL_WITHOUT_NAMES_MS = 1000;
const WITHOUT_NAMES_MAX_MS = 5 * 60_000;
/** Outcomes are recorded this long after they are found, or up to twice as long; at once when they complete their batch. */
const RECORD_MS = 1000;
/** Time between two broadcasts of the batches in hand. */
const IN_HAND_MS = 10_000;
/** Jobs named in one broadcast. */
const JOBS_A_BROADCAST = 1000;
/** A message that fails this often fails its job. */
const MAX_FAILURES = 5;
/** Back-off after a failure; it grows by this much with each further failure. */
const FAILURE_BACK_OFF_MS = 200;
const FAILURES_KEPT = 10_000;

/** A message in hand. `settled` never rejects. */
interface InHandDelivery extends Placed {
  readonly delivery: Delivery<Work>;
  settled: Promise<void>;
}

/** Runs until `signal` aborts; then the worker gives its messages back to the queue. */
export async function runWorker(options: WorkerOptions): Promise<void> {
  const { log, jobs, queue, engine, logger, signal, checked, announce_ms, now = Date.now } = options;
  const { monotonic = () => uptime() * 1000, wait = pause } = options;
  const checker_id = randomUUID();
  const retry = createRetry({ logger, wait });
  const context = (job_id: string): CommandContext => ({
    command_id: randomUUID(),
    causation_id: job_id,
    actor: checkerActor(checker_id),
    now: now(),
  });
  let began_at: Position;
  try {
    began_at = await retry('asking the log for its end', () => log.head(), signal);
  } catch (error) {
    if (signal.aborted) return;
    throw error;
  }
  const over = new AbortController();
  const ends = AbortSignal.any([signal, over.signal]);
  const joining = { queue, engine, logger, signal: ends, monotonic, ...(announce_ms !== undefined && { announce_ms }) };
  const membership = await joinCheckers(joining).catch((error: unknown) => {
    // What listens already would announce a checker that takes no work.
    over.abort();
    throw error;
  });
  const standing = () => membership.standing;
  const hands = new BatchesInHand({
    ...{ log, jobs, engine, logger, signal, retry, context, began_at, standing },
    ...(checked && { checked }),
  });
  const stops = followStops(log, began_at, (stop) => hands.stop(stop), { logger, signal: ends });
  const worker = new Worker({ ...options, monotonic, wait, retry, context, ends, membership, hands });
  const stopTimers = worker.startTimers();
  try {
    await worker.run();
  } finally {
    over.abort();
    stopTimers();
    hands.drop();
    await worker.settled();
    await stops;
    await membership.leave();
  }
}

type WorkerParts = Omit<WorkerOptions, 'monotonic' | 'wait'> &
  Required<Pick<WorkerOptions, 'monotonic' | 'wait'>> & {
    retry: ReturnType<typeof createRetry>;
    context: (job_id: string) => CommandContext;
    /** Aborts with the work, also where it fails. */
    ends: AbortSignal;
    membership: Membership;
    hands: BatchesInHand;
  };

class Worker {
  readonly #parts: WorkerParts;
  readonly #in_hand = new Bag<InHandDelivery>();
  #urls_a_message = URLS_A_MESSAGE;
  /** Failures by message id. The delivery count is no measure, because crashes raise it too. */
  readonly #failures = new LRUCache<string, number>({ max: FAILURES_KEPT });
  #beat_at: number;

  constructor(parts: WorkerParts) {
    this.#parts = parts;
    this.#beat_at = parts.monotonic();
  }

  async run(): Promise<void> {
    await Promise.all([this.#consume(WORK_SUBJECT, this.#parts.ends), this.#consumeOwn()]);
  }

  /** Resolves when no message is in hand any more. */
  async settled(): Promise<void> {
    await Promise.all(this.#in_hand.all.map(({ settled }) => settled));
  }

  /** Returns a function that stops them. */
  startTimers(): () => void {
    const { hands, ack_wait_ms, heartbeat_ms = ack_wait_ms / 3, record_ms = RECORD_MS } = this.#parts;
    const timers = [
      setInterval(() => this.#heartbeat(), heartbeat_ms),
      setInterval(() => hands.recordAged(), record_ms),
      setInterval(() => {
        this.#broadcastInHand().catch(this.#warn('the queue did not take the list of batches in hand'));
      }, IN_HAND_MS),
    ];
    return () => {
      for (const timer of timers) clearInterval(timer);
    };
  }

  #heartbeat(): void {
    const { logger, monotonic, ack_wait_ms, hands } = this.#parts;
    const silent_ms = monotonic() - this.#beat_at;
    this.#beat_at += silent_ms;
    if (silent_ms > ack_wait_ms) {
      logger.warn({ silent_ms }, 'the checker slept longer than its ack wait; it returns its batches');
      hands.hold();
    }
    for (const { delivery } of this.#in_hand.all)
      delivery.working().catch(this.#warn('the queue did not take a heartbeat'));
  }

  /** Takes the work that is for this checker alone, under each of its names. */
  async #consumeOwn(): Promise<void> {
    const { ends, membership } = this.#parts;
    while (!ends.aborted) {
      const { standing, expelled } = membership;
      await this.#consume(workSubjectOf(standing.id), AbortSignal.any([ends, expelled]));
    }
  }

  async #consume(subject: string, until: AbortSignal): Promise<void> {
    const { queue, engine, hands, ack_wait_ms, wait } = this.#parts;
    const consumer = await queue.consume<Work>(subject, {
      ...{ ack_wait_ms, max_deliveries: MAX_DELIVERIES, signal: until },
    });
    while (!until.aborted) {
      if (engine.free === 0 || hands.waiting_for_log > MAX_WAITING_FOR_LOG) {
        await new Promise((resolve) => setTimeout(resolve, FULL_WAIT_MS));
        continue;
      }
      // URLs without a name go on here.
      if (engine.areNamesAway) await wait(PULL_WITHOUT_NAMES_MS, until);
      for (const delivery of await this.#pull(consumer)) this.#start(delivery);
    }
  }

  async #pull(consumer: Consumer<Work>): Promise<Delivery<Work>[]> {
    const { engine, logger, signal, ack_wait_ms, monotonic, wait } = this.#parts;
    try {
      const wanted = Math.ceil(Math.min(engine.free, URLS_A_PULL) / this.#urls_a_message);
      const asked_at = monotonic();
      const pulled = await consumer.pull(Math.max(1, wanted), PULL_WAIT_MS);
      if (monotonic() - asked_at > PULL_WAIT_MS + ack_wait_ms) {
        // The checker slept meanwhile, and the queue may have delivered these messages to another one.
        await Promise.all(pulled.map((delivery) => delivery.nak()));
        return [];
      }
      // Messages mostly resemble the previous ones: the worker pulls more of them when they are small.
      for (const { body } of pulled) this.#urls_a_message = Math.max(urlsOf(body), this.#urls_a_message * SIZE_DECAY);
      return pulled;
    } catch (error) {
      if (signal.aborted) return [];
      logger.warn({ err: error }, 'the queue did not answer; the worker pulls again');
      await wait(PULL_AGAIN_MS, signal);
      return [];
    }
  }

  #start(delivery: Delivery<Work>): void {
    const { engine, signal, hands } = this.#parts;
    const taken: InHandDelivery = { delivery, settled: Promise.resolve(), place: -1 };
    this.#in_hand.add(taken);
    taken.settled = hands
      .work(delivery.body, delivery.delivery > 1)
      .then(
        (ended) =>
          ended === 'done' ? delivery.ack() : delivery.nak(engine.areNamesAway ? withoutNamesMs(delivery.delivery) : 0),
        (error: unknown) => (signal.aborted ? delivery.nak() : this.#failed(delivery, error)),
      )
      // No fault of the batch: the queue delivers the message again, and the worker then skips the outcomes that the log has.
      .catch(this.#warn('the queue did not take the acknowledgement of a message'))
      .finally(() => this.#in_hand.delete(taken));
  }

  async #failed(delivery: Delivery<Work>, error: unknown): Promise<void> {
    const { jobs, logger, signal, retry, context } = this.#parts;
    const { job_id, ranges } = delivery.body;
    const count = (this.#failures.get(delivery.id) ?? 0) + 1;
    const last = count >= MAX_FAILURES;
    logger.error({ err: error, job_id, batches: ranges.map(({ batch }) => batch), failures: count }, 'a batch failed');
    if (!last) {
      this.#failures.set(delivery.id, count);
      return delivery.nak(FAILURE_BACK_OFF_MS * count);
    }
    this.#failures.delete(delivery.id);
    const fail = { type: 'fail', reason: 'batch_undeliverable' } as const;
    await retry('failing a job', () => jobs.run(job_id, fail, context(job_id)), signal);
    await delivery.ack();
  }

  async #broadcastInHand(): Promise<void> {
    const { queue, hands, membership } = this.#parts;
    const jobs = hands.inHand();
    for (let from = 0; from < jobs.length; from += JOBS_A_BROADCAST) {
      await queue.broadcast(IN_HAND_SUBJECT, {
        checker_id: membership.standing.id,
        jobs: jobs.slice(from, from + JOBS_A_BROADCAST),
      });
    }
  }

  #warn(message: string): (error: unknown) => void {
    const { signal, logger } = this.#parts;
    return (error) => void (signal.aborted || logger.warn({ err: error }, message));
  }
}

/** The wait before a message whose names no server knew is delivered again: an outage of days uses up few deliveries. */
const withoutNamesMs = (delivery: number): number => Math.min(delivery * 1000, WITHOUT_NAMES_MAX_MS);
const urlsOf = ({ ranges }: Work) => ranges.reduce((sum, { urls }) => sum + urls.length, 0);
