// The worker round the engine: takes batches from the queue while the engine has room, checks them, records what was
// found, and only then says that they are done.
import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { CommandContext } from '../commands/aggregate.ts';
import type { Jobs } from '../commands/job.ts';
import { recordChecks } from '../commands/record-checks.ts';
import type { EventStore } from '../events/event-store.ts';
import { jobStream } from '../events/streams.ts';
import type { Engine } from './engine/engine.ts';
import { joinPeers } from './peers.ts';
import type { Delivery, Queue } from './queue.ts';
import { MAX_DELIVERIES, STOP_SUBJECT, type Stop, WORK_SUBJECT, type Work } from './work.ts';

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
}

/**
 * Batches in hand at a time: those that slow URLs hold up do not keep the engine idle. More than a job can have published
 * at a time, so that none keeps another out.
 */
const MAX_IN_HAND = 1024;
const PULL = 8;
const PULL_WAIT_MS = 1000;
const BUSY_MS = 2;
/** Who has more URLs than this waiting leaves the next batches to checkers that have none, for so long. */
const WELL_SUPPLIED = 1000;
const YIELD_MS = 25;
/** How often the log is asked whether the jobs in hand still go on: a stop that was not heard is found by this. */
const LOOK_MS = 1000;

interface InHand {
  delivery: Delivery<Work>;
  abort: AbortController;
  /** Resolves, never rejects, when the batch is out of hand. */
  done: Promise<void>;
}

/** Runs until `signal` aborts; what is in hand then is given back for another checker, or for the next start. */
export async function runWorker(options: WorkerOptions): Promise<void> {
  const { queue, engine, logger, signal, ack_wait_ms } = options;
  const now = options.now ?? Date.now;
  const in_hand = new Map<string, InHand>();
  /** Job to the revision up to which its work is void. */
  const stops = new LRUCache<string, number>({ max: 10_000 });

  const hear = ({ job_id, revision, drops_in_hand }: Stop) => {
    stops.set(job_id, Math.max(revision, stops.get(job_id) ?? 0));
    if (!drops_in_hand) return;
    for (const { delivery, abort } of in_hand.values()) if (isVoid(delivery.body)) abort.abort();
  };
  const context = (work: Work): CommandContext => ({
    command_id: randomUUID(),
    causation_id: work.job_id,
    actor: 'checker',
    now: now(),
  });
  const isVoid = (work: Work) => work.revision < (stops.get(work.job_id) ?? 0);

  await queue.listen(STOP_SUBJECT, (body) => hear(body as Stop), signal);
  const peers = await joinPeers(options);
  const consumer = await queue.consume<Work>(WORK_SUBJECT, { ack_wait_ms, max_deliveries: MAX_DELIVERIES, signal });
  const heartbeat = setInterval(() => {
    for (const { delivery } of in_hand.values()) {
      delivery.working().catch((error: unknown) => logger.warn({ err: error }, 'a sign of life was not taken'));
    }
  }, ack_wait_ms / 3);
  const looks = setInterval(() => {
    look().catch((error: unknown) => logger.warn({ err: error }, 'the log did not say whether jobs go on'));
  }, LOOK_MS);

  try {
    while (!signal.aborted) {
      if (engine.free === 0 || in_hand.size >= MAX_IN_HAND) {
        await new Promise((resolve) => setTimeout(resolve, BUSY_MS));
        continue;
      }
      if (!peers.alone && engine.backlog > WELL_SUPPLIED) {
        await new Promise((resolve) => setTimeout(resolve, YIELD_MS));
      }
      const deliveries = await pull();
      for (const delivery of deliveries) {
        const key = `${delivery.body.job_id}:${delivery.body.from_index}`;
        // A stopped job's work is void; a batch that is in hand here already will be recorded by that run.
        if (isVoid(delivery.body) || in_hand.has(key)) await delivery.ack();
        else take(key, delivery);
      }
    }
  } finally {
    clearInterval(heartbeat);
    clearInterval(looks);
    for (const { abort } of in_hand.values()) abort.abort();
    await Promise.all([...in_hand.values()].map(({ done }) => done));
    await peers.leave();
  }

  async function pull(): Promise<Delivery<Work>[]> {
    try {
      return await consumer.pull(PULL, PULL_WAIT_MS);
    } catch (error) {
      if (signal.aborted) return [];
      logger.warn({ err: error }, 'the queue did not answer; asking again');
      await new Promise((resolve) => setTimeout(resolve, 500));
      return [];
    }
  }

  async function look(): Promise<void> {
    const latest = new Map([...in_hand.values()].map(({ delivery: { body } }) => [body.job_id, body.revision]));
    for (const [job_id, revision] of latest) {
      const { status } = (await options.jobs.aggregate.read(jobStream(job_id))).state;
      if (status !== 'processing') hear({ job_id, revision: revision + 1, drops_in_hand: status !== 'paused' });
    }
  }

  function take(key: string, delivery: Delivery<Work>): void {
    const abort = new AbortController();
    const done = check(delivery.body, abort.signal)
      .then(
        () => delivery.ack(),
        (error: unknown) => {
          if (!abort.signal.aborted) return failed(delivery, error);
          return signal.aborted ? delivery.nak() : delivery.ack();
        },
      )
      .catch((error: unknown) => {
        // Not acknowledged, it is delivered again, or found by the dispatcher: recording it twice changes nothing.
        logger.warn({ err: error, key }, 'the queue did not hear what became of a batch');
      })
      .finally(() => in_hand.delete(key));
    in_hand.set(key, { delivery, abort, done });
  }

  async function check(work: Work, batch_signal: AbortSignal): Promise<void> {
    const asked = { group: work.job_id, signal: batch_signal };
    const outcomes = await Promise.all(work.urls.map((url) => engine.check(url, asked)));
    await recordChecks(options.log, work, outcomes, context(work));
  }

  async function failed(delivery: Delivery<Work>, error: unknown): Promise<void> {
    const { job_id, batch } = delivery.body;
    const last = delivery.delivery >= MAX_DELIVERIES;
    logger.error({ err: error, job_id, batch, delivery: delivery.delivery, last }, 'a batch failed');
    if (last) await options.jobs.run(job_id, { type: 'fail', reason: 'batch_undeliverable' }, context(delivery.body));
    await delivery.nak(1000 * delivery.delivery);
  }
}
