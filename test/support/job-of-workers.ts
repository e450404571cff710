// A job in a log and a queue, and workers that a test starts, stops and kills.
import { randomUUID } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import type { Engine } from '../../checkers/engine/engine.ts';
import type { Delivery, Queue } from '../../checkers/queue.ts';
import { WORK_SUBJECT, type Work } from '../../checkers/work.ts';
import { runWorker, type WorkerOptions } from '../../checkers/worker.ts';
import { openJobs } from '../../commands/jobs/job.ts';
import { unfold } from '../../events/checked-range.ts';
import type { URLChecked } from '../../events/checks.ts';
import { BEGINNING } from '../../events/event-store.ts';
import type { JobCreated } from '../../events/job.ts';
import { checksStream, jobStream } from '../../events/streams.ts';
import { eventsOf, until } from './behind.ts';
import { oneQueue } from './one-queue.ts';
import { commandContext, openTestStores, silent } from './stores.ts';

export const BATCH = 10;

export class Away extends Error {
  readonly code: string;
  constructor(code = 'unavailable') {
    super('away');
    this.code = code;
  }
}

/** A job of 40 URLs, half of them paid, and the stores that its workers share. */
export async function jobOfWorkers(t: ExecutionContext) {
  const open = await oneQueue(t);
  const { log } = await openTestStores(t);
  const jobs = openJobs(log);
  const job_id = randomUUID();
  const job: JobCreated = {
    job_id,
    owner_id: 'alice',
    owner_email: null,
    source: 'api',
    total_urls: 40,
    batch_size: BATCH,
    credits_allocated: 20,
    reservation_id: 'r',
    duplicates_removed: 0,
    invalid_urls_rejected: 0,
    blocked_urls_skipped: 0,
    filename: null,
    blob_key: null,
  };
  await jobs.run(job_id, { type: 'create', job }, commandContext());
  const queue = await open();
  const urlOf = (index: number) => `https://example.com/${index}`;
  const urls = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => urlOf(from + n));
  /** Starts a worker, which stops with the test or by the function that it returns. */
  function work(engine: Engine, options: Partial<WorkerOptions> = {}) {
    const stop = new AbortController();
    const worker = runWorker({
      log,
      queue,
      engine,
      jobs: openJobs(options.log ?? log),
      logger: silent,
      signal: stop.signal,
      ack_wait_ms: 30_000,
      announce_ms: 20,
      ...options,
    });
    const end = () => {
      stop.abort();
      return worker;
    };
    t.teardown(end);
    return end;
  }
  /** Publishes one message, of one range or several. */
  const publish = (revision: number, ...ranges: [from: number, to: number][]) => {
    const body: Work = {
      owner_id: 'alice',
      job_id,
      revision,
      position: BEGINNING,
      ranges: ranges.map(([from, to]) => ({
        batch: Math.floor(from / BATCH),
        from_index: from,
        urls: urls(from, to),
      })),
    };
    return queue.publish(WORK_SUBJECT, [{ id: randomUUID(), body }]);
  };
  const change = async (command: Parameters<typeof jobs.run>[1]) => {
    const changed = await jobs.run(job_id, command, commandContext());
    if (!changed.ok) throw new Error(changed.refused.message);
  };
  const recorded = async (batch: number) =>
    (await eventsOf(log, checksStream(job_id, batch))).flatMap(({ data }) =>
      unfold(data as URLChecked, []).map(({ index }) => index),
    );
  const count = async () => (await recorded(0)).length + (await recorded(1)).length;
  const nothingLeft = () => until(async () => (await messages(queue)) === 0);
  const status = async () => (await jobs.aggregate.read(jobStream(job_id))).state.status;
  return { job_id, log, open, queue, urls, urlOf, work, publish, change, recorded, count, nothingLeft, status };
}

/** The queue with other deliveries. */
export function delivering(queue: Queue, others: <Body>(pulled: Delivery<Body>[]) => Delivery<Body>[]): Queue {
  return {
    max_body_bytes: queue.max_body_bytes,
    publish: (...args) => queue.publish(...args),
    async consume<Body>(...args: Parameters<Queue['consume']>) {
      const consumer = await queue.consume<Body>(...args);
      return { pull: async (limit, wait_ms) => others(await consumer.pull(limit, wait_ms)) };
    },
    depth: (subject) => queue.depth(subject),
    drop: (subject) => queue.drop(subject),
    broadcast: (...args) => queue.broadcast(...args),
    listen: (...args) => queue.listen(...args),
    close: async () => {},
  };
}

export const messages = (queue: Queue) => queue.depth(WORK_SUBJECT);
export const resume = { type: 'resume', credits_added: 0, reservation_id: null } as const;
