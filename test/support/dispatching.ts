// A dispatcher over a queue, a log and jobs that a test holds in its hands.
import type { Message } from '../../checkers/queue.ts';
import type { Members, Work } from '../../checkers/work.ts';
import { Dispatcher } from '../../processes/dispatch.ts';
import type { JobDocument } from '../../readmodels/jobs/jobs.ts';
import { silent } from './stores.ts';

export const LOST_AFTER_MS = 1000;

export function job(id: string, owner_id: string, total_urls: number, more: Partial<JobDocument> = {}): JobDocument {
  return {
    _id: id,
    owner_id,
    owner_email: null,
    status: 'processing',
    total_urls,
    completed_urls: 0,
    credits_allocated: total_urls,
    credits_refunded: 0,
    duplicates_removed: 0,
    invalid_urls_rejected: 0,
    blocked_urls_skipped: 0,
    pause_reason: null,
    failure_reason: null,
    created_at: '2026-01-01T00:00:00.000Z',
    started_at: null,
    completed_at: null,
    source: 'api',
    filename: null,
    blob_key: null,
    batch_size: 100,
    batches_done_before: 0,
    batches_done: {},
    revision: 0,
    position: '1',
    domains_recorded: false,
    due: null,
    ...more,
  };
}

/** A dispatcher over documents that the test changes, and a queue that the test drains. */
export function dispatcherOver(
  documents: JobDocument[],
  missing: readonly string[] = [],
  options: {
    max_body_bytes?: number;
    url_chars?: number;
    damaged?: string;
    hosts?: number;
    lost_after_ms?: number;
  } = {},
) {
  const failed: string[] = [];
  /** What goes wrong now: the queue takes messages and its answer is lost, or it takes none, or the log does not answer. */
  const faults = { lost_ack: false, refused: false, log_away: false, queue_away: false };
  const lost = { times: 0 };
  const away = () => Object.assign(new Error('away'), { code: 'unavailable' });
  const published: Message[] = [];
  const sent: { subject: string; work: Work }[] = [];
  let waiting = 0;
  let now = 0;
  let view = 0;
  const members = new Set<string>();
  const queue = {
    publish: async (subject: string, messages: readonly Message[]) => {
      if (faults.refused) throw away();
      for (const { body } of messages) sent.push({ subject, work: body as Work });
      published.push(...messages);
      waiting += messages.length;
      if (faults.lost_ack) throw away();
    },
    depth: async () => waiting,
    losses: async () => {
      if (faults.queue_away) throw away();
      return lost.times;
    },
    drop: async () => {},
    broadcast: async (_subject: string, body: unknown) => {
      view = (body as Members).view;
      dispatcher.observeMembers(body as Members);
    },
    max_body_bytes: options.max_body_bytes ?? 1_000_000,
  };
  // Every look reports all documents as changed.
  const jobs = {
    find: async () => documents,
    get: async (id: string) => documents.find(({ _id }) => _id === id) ?? null,
    async *stream() {
      yield* documents;
    },
  } as never;
  const listing = {
    async range(job_id: string, from: number, to: number) {
      if (faults.log_away) throw away();
      if (job_id === options.damaged) throw new Error('the event is damaged');
      if (missing.includes(job_id)) return [];
      const hostOf = (index: number) => (options.hosts ? `h${index % options.hosts}.${job_id}` : job_id);
      const urlOf = (_: unknown, i: number) =>
        `https://${hostOf(from + i)}/${from + i}`.padEnd(options.url_chars ?? 0, 'x');
      return Array.from({ length: to - from }, urlOf);
    },
  };
  const dispatcher = new Dispatcher({
    jobs,
    queue,
    listing,
    logger: silent,
    monotonic: () => now,
    lost_after_ms: options.lost_after_ms ?? LOST_AFTER_MS,
    fail: async (job_id) => failed.push(job_id),
  });
  // One of an older version: work is for anyone.
  dispatcher.observeAlive({ id: 'older', leaves: false });
  return {
    ...{ failed, faults, lost },
    hear: (job_id: string, batches: number[]) =>
      dispatcher.observeInHand({ checker_id: 'c', jobs: [{ job_id, batches, found: 0, is_checking: true }] }),
    announce: (slots: number) => dispatcher.observeAlive({ id: 'c', leaves: false, slots }),
    /** These checkers are alive, and have let go what is not theirs. */
    alive: (...ids: string[]) => {
      if (members.size === 0) dispatcher.observeAlive({ id: 'older', leaves: true });
      for (const id of ids) {
        const known = members.has(id) ? view : 0;
        members.add(id);
        dispatcher.observeAlive({ id, leaves: false, slots: 10, has_subject: true, view: known, settled: known });
      }
    },
    leave: (id: string) => dispatcher.observeAlive({ id, leaves: true }),
    /** What was sent since the last call: the URLs by subject. */
    sent: () => {
      const by_subject = new Map<string, string[]>();
      for (const { subject, work } of sent.splice(0)) {
        const urls = by_subject.get(subject) ?? [];
        by_subject.set(subject, urls);
        urls.push(...work.ranges.flatMap(({ urls }) => urls));
      }
      return by_subject;
    },
    messages: () => published,
    pass: (options?: Parameters<typeof dispatcher.pass>[0]) => dispatcher.pass(options),
    /** The publications since the last call, as job:from-to. */
    published: () =>
      published.splice(0).flatMap(({ body }) => {
        const { job_id, ranges } = body as Work;
        return ranges.map(({ from_index, urls }) => `${job_id}:${from_index}-${from_index + urls.length}`);
      }),
    /** Checkers take this number of messages. */
    take: (n: number) => (waiting -= n),
    waiting: () => waiting,
    later: (ms: number) => (now += ms),
    inFlight: () => dispatcher.inFlight(),
  };
}
