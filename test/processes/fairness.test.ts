// Simulates how long jobs wait: a checker of a fixed rate, documents that follow it, and a dispatcher, all by one clock
// that the test holds. Prints a table of the waits.
import test from 'ava';
import type { Work } from '../../checkers/work.ts';
import { Dispatcher } from '../../processes/dispatch.ts';
import type { JobDocument } from '../../readmodels/jobs/jobs.ts';
import { silent } from '../support/stores.ts';

const URLS_A_SECOND = 1000;
const PASS_MS = 100;
const HOUR_MS = 3_600_000;

interface Row {
  jobs: string;
  first_url_s: number;
  end_s: number;
}

/** Runs until all jobs complete or the time is up. Notes the seconds of each job's first URL and of its end. */
async function simulate(
  jobs: readonly { id: string; owner: string; urls: number; at_ms?: number }[],
  most_ms = HOUR_MS,
) {
  let now_ms = 0;
  let position = 0;
  const nextPosition = () => String(++position).padStart(12, '0');
  const documents = new Map<string, JobDocument>();
  /** The documents in the order of their changes, as the index has them. */
  const changed = new Map<string, JobDocument>();
  const waiting: Work[] = [];
  const began = new Map<string, number>();
  const ended = new Map<string, number>();
  let reads = 0;
  let messages_published = 0;
  const touch = (job: JobDocument) => {
    job.position = nextPosition();
    changed.delete(job._id);
    changed.set(job._id, job);
  };
  const dispatcher = new Dispatcher({
    jobs: {
      get: async (id) => documents.get(id) ?? null,
      async *stream() {
        yield* documents.values();
      },
      async find(filter, options) {
        const after = (filter as { position?: { $gt: string } }).position?.$gt;
        if (after === undefined) return [...changed.values()].slice(-1);
        const found: JobDocument[] = [];
        for (const job of [...changed.values()].reverse()) {
          if (job.position <= after) break;
          found.push(job);
        }
        reads += found.length;
        return found.reverse().slice(0, options?.limit);
      },
    },
    queue: {
      depth: async () => waiting.length,
      publish: async (_, messages) => {
        messages_published += messages.length;
        waiting.push(...messages.map(({ body }) => body as Work));
      },
      drop: async () => {},
      broadcast: async () => {},
      max_body_bytes: 1_000_000,
    },
    listing: { range: async (_, from, to) => Array(to - from).fill('https://example.com/') },
    logger: silent,
    monotonic: () => now_ms,
    lost_after_ms: 5 * 60_000,
    fail: () => Promise.reject(new Error('no job fails')),
  });
  // One of an older version: work is for anyone.
  dispatcher.observeAlive({ id: 'older', leaves: false });
  const coming = [...jobs].sort((a, b) => (a.at_ms ?? 0) - (b.at_ms ?? 0));
  let budget = 0;
  while ((coming.length > 0 || ended.size < documents.size) && now_ms < most_ms) {
    while (coming.length > 0 && (coming[0]!.at_ms ?? 0) <= now_ms) {
      const { id, owner, urls } = coming.shift()!;
      const job = {
        ...{ _id: id, owner_id: owner, status: 'processing', total_urls: urls, credits_allocated: urls, revision: 0 },
        ...{ batch_size: Math.min(100, Math.max(10, Math.floor(urls / 20))), batches_done_before: 0, batches_done: {} },
      } as unknown as JobDocument;
      documents.set(id, job);
      touch(job);
    }
    await dispatcher.pass();
    for (budget += (URLS_A_SECOND * PASS_MS) / 1000; budget > 0 && waiting.length > 0; ) {
      const { job_id, ranges } = waiting.shift()!;
      const job = documents.get(job_id)!;
      if (!began.has(job_id)) began.set(job_id, now_ms);
      for (const { batch, urls } of ranges) {
        budget -= urls.length;
        job.batches_done[batch] = urls.length;
        while (job.batches_done[job.batches_done_before]) delete job.batches_done[job.batches_done_before++];
      }
      if (job.batches_done_before * job.batch_size >= job.total_urls) {
        job.status = 'completed';
        ended.set(job_id, now_ms);
      }
      touch(job);
    }
    if (waiting.length === 0) budget = Math.min(budget, 0);
    now_ms += PASS_MS;
  }
  const rowOf = (name: string, of: (id: string) => boolean): Row => {
    const ids = [...documents.keys()].filter(of);
    const latest = (times: Map<string, number>) =>
      Math.max(...ids.map((id) => (times.get(id) ?? Number.POSITIVE_INFINITY) - arrived(id))) / 1000;
    return { jobs: name, first_url_s: latest(began), end_s: latest(ended) };
  };
  const arrived = (id: string) => jobs.find((job) => job.id === id)!.at_ms ?? 0;
  return { rowOf, reads, messages: messages_published };
}

const of = (prefix: string) => (id: string) => id.startsWith(prefix);

test('no owner waits for more than one turn of every other owner', async (t) => {
  const many = (count: number, prefix: string, owner: (n: number) => string, urls: number) =>
    Array.from({ length: count }, (_, n) => ({ id: `${prefix}${n}`, owner: owner(n), urls }));

  const large = await simulate([
    ...many(100, 'hers', () => 'alice', 2000),
    { id: 'small', owner: 'bob', urls: 10, at_ms: 5000 },
    { id: 'her small', owner: 'alice', urls: 10, at_ms: 5000 },
  ]);
  const owners = await simulate([
    ...many(1500, 'theirs', (n) => `owner-${n}`, 200),
    { id: 'small', owner: 'bob', urls: 10, at_ms: 5000 },
  ]);
  const both = await simulate([
    ...many(1000, 'hers', () => 'alice', 200),
    ...many(500, 'theirs', (n) => `owner-${n}`, 200),
    { id: 'small', owner: 'bob', urls: 10, at_ms: 5000 },
  ]);
  const rows = [
    large.rowOf('100 jobs of 2,000 URLs of one owner', of('hers')),
    large.rowOf('10 URLs of another owner beside them', of('small')),
    large.rowOf('10 URLs of the same owner beside them', of('her small')),
    owners.rowOf('1,500 jobs of 200 URLs of 1,500 owners', of('theirs')),
    owners.rowOf('10 URLs of another owner beside them', of('small')),
    both.rowOf('1,000 jobs of 200 URLs of one owner, beside 500 others', of('hers')),
    both.rowOf('500 jobs of 200 URLs of 500 owners, beside them', of('theirs')),
    both.rowOf('10 URLs of another owner beside both', of('small')),
  ];
  const line = (cells: readonly [string, string, string]) =>
    `${cells[0].padEnd(58)}${cells[1].padStart(14)}${cells[2].padStart(10)}`;
  t.log(
    [
      line([`longest waits, a checker of ${URLS_A_SECOND} URLs a second`, 'first URL', 'end']),
      ...rows.map(({ jobs, first_url_s, end_s }) =>
        line([jobs, `${first_url_s.toFixed(1)} s`, `${end_s.toFixed(1)} s`]),
      ),
    ].join('\n'),
  );
  const [hers, small, her_small, theirs, beside, many_hers, others, beside_both] = rows as [
    Row,
    Row,
    Row,
    Row,
    Row,
    Row,
    Row,
    Row,
  ];
  // A turn is a message of at most 100 URLs, and the queue holds at most 64 messages.
  const turn_s = 100 / URLS_A_SECOND;
  const queued_s = 65 * turn_s;
  t.true(small.end_s <= queued_s + 2 * turn_s);
  t.true(her_small.end_s <= queued_s + 2 * 101 * turn_s, 'each of her jobs has a turn before');
  t.true(hers.first_url_s <= queued_s + 100 * turn_s);
  t.true(hers.end_s <= 202, 'nothing is idle');
  // With so many jobs a turn has 20 URLs.
  const short_turn_s = 20 / URLS_A_SECOND;
  t.true(theirs.first_url_s <= queued_s + 1500 * short_turn_s);
  t.true(beside.end_s <= queued_s + 1501 * short_turn_s, 'each of the others has a turn before');
  t.true(others.end_s <= queued_s + 20 * 502 * short_turn_s);
  t.true(many_hers.end_s <= 302);
  t.true(beside_both.end_s <= queued_s + 503 * short_turn_s);
  // The dispatcher reads only changed documents, and each message changes one.
  t.true(owners.reads <= owners.messages + 2 * 1501, `${owners.reads} documents for ${owners.messages} messages`);
});

test('turns last over passes, so that none of twelve large jobs of an owner falls behind', async (t) => {
  const jobs = Array.from({ length: 12 }, (_, n) => ({ id: `job${n}`, owner: 'alice', urls: 40_000 }));
  const { rowOf } = await simulate(jobs, 60_000);
  t.true(rowOf('', of('job')).first_url_s < 10);
});
