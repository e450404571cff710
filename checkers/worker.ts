// The worker round the engine: takes work from the queue while the engine has room, checks it, records what was found,
// and only then says that it is done. What was found is not thrown away: while the log is away it stays in hand, and is
// said to be worked on.
import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { CommandContext } from '../commands/aggregate.ts';
import type { Jobs } from '../commands/job.ts';
import type { EventStore, Position } from '../events/event-store.ts';
import { pause } from '../time/pause.ts';
import type { Engine } from './engine/engine.ts';
import { Hands } from './hands.ts';
import { openPatience } from './patience.ts';
import { joinPeers } from './peers.ts';
import type { Delivery, Queue } from './queue.ts';
import { followStops } from './stops.ts';
import { IN_HAND_SUBJECT, MAX_DELIVERIES, WORK_SUBJECT, type Work } from './work.ts';

export interface WorkerOptions {
  log: EventStore;
  jobs: Jobs;
  queue: Queue;
  engine: Engine;
  logger: Logger;
  signal: AbortSignal;
  /** After this long without a sign of life a batch is delivered to another checker. */
  ack_wait_ms: number;
  /** What one attempt of the engine may last. */
  attempt_ms: number;
  /** How often the checkers tell each other that they are alive. */
  announce_ms?: number;
  now?: () => number;
  /** How the worker waits before it tries again what failed; ends early, without an error, when the signal aborts. */
  wait?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** Messages of one pull: each holds at most 100 URLs. */
const MAX_PULL = 8;
const URLS_A_MESSAGE = 100;
/** What the largest of the messages before is worth, message by message. */
const FORGETTING = 0.8;
const PULL_WAIT_MS = 1000;
const BUSY_MS = 2;
/** While the log takes nothing, no more than so many URLs of which it does not know are in hand before nothing more is taken. */
const MAX_WAITING_FOR_LOG = 1000;
/** Who has more URLs than this waiting leaves the next batches to checkers that have none, for so long. */
const WELL_SUPPLIED = 1000;
const YIELD_MS = 25;
const PULL_AGAIN_MS = 500;
/** How often a batch that takes long records what it has, so that its job is seen to go on. */
const RECORD_MS = 1000;
/** How often the processes hear what is in hand. */
const TELL_MS = 10_000;
/** Batches of jobs named in one broadcast. */
const JOBS_A_BROADCAST = 1000;
/** A batch that fails so often for its own sake fails its job. */
const MAX_FAILURES = 5;
/** A batch that failed waits so long, and so much longer each time. */
const FAILED_AGAIN_MS = 200;
const FAILURES_KEPT = 10_000;

/** Runs until `signal` aborts; what is in hand then is given back for another checker, or for the next start. */
export async function runWorker(options: WorkerOptions): Promise<void> {
  const { log, queue, engine, logger, signal, ack_wait_ms } = options;
  const { now = Date.now, wait = pause } = options;
  const checker_id = randomUUID();
  const patiently = openPatience({ logger, wait });
  const context = (job_id: string): CommandContext => ({
    command_id: randomUUID(),
    causation_id: job_id,
    actor: 'checker',
    now: now(),
  });
  let began_at: Position;
  try {
    began_at = await patiently('asking the log for its end', () => log.head(), signal);
  } catch (error) {
    if (signal.aborted) return;
    throw error;
  }
  const hands = new Hands({ log, jobs: options.jobs, engine, logger, signal, patiently, context, began_at });
  const deliveries = new Set<Delivery<Work>>();
  const settled = new Set<Promise<void>>();
  let urls_a_message = URLS_A_MESSAGE;
  /** Failures of messages, by their ids: deliveries are spent by crashes too. */
  const failures = new LRUCache<string, number>({ max: FAILURES_KEPT });

  const stops = followStops(log, began_at, (stop) => hands.stop(stop), { logger, signal });
  const peers = await joinPeers(options);
  const consumer = await queue.consume<Work>(WORK_SUBJECT, { ack_wait_ms, max_deliveries: MAX_DELIVERIES, signal });
  const warn = (message: string) => (error: unknown) => void (signal.aborted || logger.warn({ err: error }, message));
  const heartbeat = setInterval(() => {
    for (const delivery of deliveries) delivery.working().catch(warn('a sign of life was not taken'));
  }, ack_wait_ms / 3);
  const recording = setInterval(() => hands.recordSoFar(), RECORD_MS);
  const telling = setInterval(() => {
    tell().catch(warn('what is in hand could not be told'));
  }, TELL_MS);

  try {
    while (!signal.aborted) {
      if (engine.free === 0 || hands.waiting_for_log > MAX_WAITING_FOR_LOG) {
        await new Promise((resolve) => setTimeout(resolve, BUSY_MS));
        continue;
      }
      if (!peers.alone && engine.backlog > WELL_SUPPLIED) {
        await new Promise((resolve) => setTimeout(resolve, YIELD_MS));
      }
      for (const delivery of await pull()) take(delivery);
    }
  } finally {
    clearInterval(heartbeat);
    clearInterval(recording);
    clearInterval(telling);
    hands.drop();
    await Promise.all(settled);
    await stops;
    await peers.leave();
  }

  async function pull(): Promise<Delivery<Work>[]> {
    try {
      const wanted = Math.ceil(engine.free / urls_a_message);
      const pulled = await consumer.pull(Math.min(MAX_PULL, Math.max(1, wanted)), PULL_WAIT_MS);
      // Messages are mostly like those before them: of small jobs more are taken at once.
      for (const { body } of pulled) urls_a_message = Math.max(urlsOf(body), urls_a_message * FORGETTING);
      return pulled;
    } catch (error) {
      if (signal.aborted) return [];
      logger.warn({ err: error }, 'the queue did not answer; asking again');
      await wait(PULL_AGAIN_MS, signal);
      return [];
    }
  }

  function take(delivery: Delivery<Work>): void {
    deliveries.add(delivery);
    const done = hands
      .work(delivery.body, delivery.delivery > 1)
      .then((ended) => (ended === 'done' ? delivery.ack() : delivery.nak()))
      .catch((error: unknown) => (signal.aborted ? delivery.nak() : failed(delivery, error)))
      // Not acknowledged, it is delivered again: what is in the log of it is not asked again.
      .catch(warn('the queue did not hear what became of a message'))
      .finally(() => {
        deliveries.delete(delivery);
        settled.delete(done);
      });
    settled.add(done);
  }

  async function failed(delivery: Delivery<Work>, error: unknown): Promise<void> {
    const { job_id, ranges } = delivery.body;
    const count = (failures.get(delivery.id) ?? 0) + 1;
    const last = count >= MAX_FAILURES;
    logger.error({ err: error, job_id, batches: ranges.map(({ batch }) => batch), failures: count }, 'a batch failed');
    if (!last) {
      failures.set(delivery.id, count);
      return delivery.nak(FAILED_AGAIN_MS * count);
    }
    failures.delete(delivery.id);
    const fail = { type: 'fail', reason: 'batch_undeliverable' } as const;
    await patiently('failing a job', () => options.jobs.run(job_id, fail, context(job_id)), signal);
    await delivery.ack();
  }

  async function tell(): Promise<void> {
    const jobs = hands.inHand();
    for (let from = 0; from < jobs.length; from += JOBS_A_BROADCAST) {
      await queue.broadcast(IN_HAND_SUBJECT, { checker_id, jobs: jobs.slice(from, from + JOBS_A_BROADCAST) });
    }
  }
}

const urlsOf = ({ ranges }: Work) => ranges.reduce((sum, { urls }) => sum + urls.length, 0);
