// A service in one process whose every part the test moves by hand: clients, projector, processes and a checker, each
// as a process of its own over the same embedded stores, with a clock that the test holds.

import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteDocuments } from '../../adapters/documents/sqlite/sqlite-documents.ts';
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { openSqliteQueue } from '../../adapters/queue/sqlite/sqlite-queue.ts';
import type { Delivery } from '../../checkers/queue.ts';
import { MAX_DELIVERIES, WORK_SUBJECT, type Work } from '../../checkers/work.ts';
import type { CommandContext } from '../../commands/aggregate.ts';
import type { Blobs } from '../../commands/blobs.ts';
import { openDomainChecks } from '../../commands/domain-checks.ts';
import { openDeleteJob } from '../../commands/jobs/delete-job.ts';
import { openJobs } from '../../commands/jobs/job.ts';
import { recordChecks } from '../../commands/jobs/record-checks.ts';
import { openResumeJob } from '../../commands/jobs/resume-job.ts';
import { openSubmitJob } from '../../commands/jobs/submit-job.ts';
import { openCredits } from '../../commands/ledger/credits.ts';
import type { Outcome } from '../../events/checks.ts';
import type { EventStore } from '../../events/event-store.ts';
import { uuidV5 } from '../../events/ids.ts';
import { categoryOf, idOf } from '../../events/streams.ts';
import { openUrlListing } from '../../events/url-listing.ts';
import { ceilings, completion } from '../../processes/completion.ts';
import { Dispatcher } from '../../processes/dispatch.ts';
import { domainChecks } from '../../processes/domain-checks.ts';
import type { AnyManager } from '../../processes/process-manager.ts';
import { purging } from '../../processes/purge.ts';
import { PutOff } from '../../processes/put-off.ts';
import { openRemovals } from '../../processes/removals.ts';
import { retention } from '../../processes/retention.ts';
import { settlement } from '../../processes/settlement.ts';
import { sweeper } from '../../processes/sweeper.ts';
import { endedJob, jobs } from '../../readmodels/jobs/jobs.ts';
import { openReadModels } from '../../readmodels/read-models.ts';
import { FOUND } from '../support/behind.ts';
import { passesOf } from '../support/manager-pass.ts';
import { project, silent } from '../support/stores.ts';
import { Killed, type LogOfProcess, openLogGate, type Plan } from './log-gate.ts';

const NAMESPACE = '5d6f0a52-51f5-4c55-8f0f-6f6f5b0f7c1e';
const BEGINNING = Date.parse('2026-01-01T00:00:00Z');
export const MINUTE = 60_000;
const ACK_WAIT_MS = 30_000;
/** As the processes have it. */
export const LOST_AFTER_MS = 5 * MINUTE;
/** Deliveries of a message after which a checker fails its job. */
/** The bits of a pick that say which URLs of a batch are found first. */
const EARLY_BITS = 8;
const MAX_FAILURES = 5;
const CLIENTS = 4;
const MAX_ROUNDS = 100;
/** So that most jobs are purged in several steps. */
const PURGE_SLICE = 25;
/** The jobs here have no file. */
const NO_BLOBS: Pick<Blobs, 'delete'> = { delete: async () => {} };

export type World = Awaited<ReturnType<typeof openWorld>>;
type Client = ReturnType<typeof openClient>;

function openClient({ log, killed }: LogOfProcess, ended: Parameters<typeof openDeleteJob>[2]) {
  const [jobs, credits] = [openJobs(log), openCredits(log)];
  const submitJob = openSubmitJob(log, jobs, credits);
  const resumeJob = openResumeJob(jobs, credits);
  const deleteJob = openDeleteJob(jobs, credits, ended);
  return { log, killed, jobs, credits, submitJob, resumeJob, deleteJob };
}

export async function openWorld() {
  // In memory where the system has such a folder: what is tested is not the disk.
  const folder = await mkdtemp(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'url-checker-property-'));
  let now_ms = BEGINNING;
  const now = () => now_ms;
  const log = await openSqliteEventStore({ path: join(folder, 'events.db') });
  const documents = await openSqliteDocuments({ path: join(folder, 'documents.db') });
  const queue = await openSqliteQueue({ path: join(folder, 'queue.db'), clock: { now, boot: 'one' } });
  const readmodels = openReadModels(documents);
  const gate = openLogGate(log, overtake);
  const closing = new AbortController();
  const consuming = { ack_wait_ms: ACK_WAIT_MS, max_deliveries: MAX_DELIVERIES, signal: closing.signal };
  const consumer = await queue.consume<Work>(WORK_SUBJECT, consuming);
  let job_commands = 0;
  let replays = 0;

  /** Ids do not depend on chance, so that a run can be had again. */
  const newId = (kind: string) => uuidV5(NAMESPACE, `${kind}/${job_commands++}`);
  const contextOf = (actor: string): CommandContext => ({
    command_id: newId('command'),
    causation_id: 'test',
    actor,
    now: ++now_ms,
  });

  async function overtake(stream: string, of: EventStore): Promise<void> {
    const context = contextOf('process:other');
    const reference_id = newId('other');
    const lot = { transaction_type: 'purchase', reference_id, amount: 1, expires_at: null } as const;
    if (categoryOf(stream) === 'credits') await openCredits(of).run(idOf(stream), { type: 'grant', ...lot }, context);
    if (categoryOf(stream) === 'job') {
      await openJobs(of).run(idOf(stream), { type: 'voidReservation', reservation_id: reference_id }, context);
    }
  }

  /** The projector from its start on, over a log that comes in batches of this size. */
  const projectAll = (batch = 1000) => gate.alone(() => project({ log: inBatches(log, batch), documents }));

  async function ended(job_id: string) {
    await projectAll();
    const job = await readmodels.collection(jobs).get(job_id);
    return job && endedJob(job);
  }

  function openProcesses() {
    const of = gate.open();
    const [job_commands, credits] = [openJobs(of.log), openCredits(of.log)];
    const domain_checks = openDomainChecks(of.log);
    const dispatcher = new Dispatcher({
      jobs: readmodels.collection(jobs),
      queue,
      listing: openUrlListing(of.log),
      logger: silent,
      monotonic: now,
      lost_after_ms: LOST_AFTER_MS,
      fail: (job_id) => job_commands.run(job_id, { type: 'fail', reason: 'no_progress' }, contextOf('process:test')),
    });
    // The one consumer of this world takes work for anyone.
    dispatcher.observeAlive({ id: 'older', leaves: false });
    const context = () => contextOf('process:test');
    const common = { log: of.log, readmodels, job_commands: job_commands, credits, context };
    const removing = { ...common, blobs: NO_BLOBS, removals: openRemovals(), put_off: new PutOff(now) };
    const passes = (manager: AnyManager) => passesOf(manager, readmodels, { now, monotonic: now });
    const [undoing, removal] = [passes(sweeper(removing)), passes(purging({ ...removing, slice: PURGE_SLICE }))];
    const ending = [completion(common), ceilings(common), settlement(common)].map(passes);
    const counting = passes(domainChecks({ ...common, domain_checks: domain_checks }));
    const expiry = passes(retention({ ...common, days: 0, failed_purges: removing.put_off }));
    return {
      killed: of.killed,
      /** The results of all jobs that have ended expire now. */
      expireResults: () => expiry.pass(closing.signal),
      async pass() {
        for (const one of ending) await one.pass(closing.signal);
        await dispatcher.pass();
        for (const one of [counting, undoing, removal]) await one.pass(closing.signal);
      },
    };
  }

  function openChecker() {
    const { log, killed } = gate.open();
    const job_commands = openJobs(log);
    const hand: Delivery<Work>[] = [];
    return {
      killed,
      hand,
      async take(count: number) {
        hand.push(...(await consumer.pull(count, 0)));
      },
      /** Records one of the batches in hand. */
      async record(pick: number) {
        const [delivery] = hand.splice(pick % Math.max(1, hand.length), 1);
        if (!delivery) return;
        const { job_id, ranges } = delivery.body;
        try {
          for (const { batch, from_index, urls } of ranges) {
            const range = { job_id, batch, from_index, urls };
            const outcomes = urls.map(outcomeOf);
            // Some are known before the others.
            const early = outcomes.map((outcome, n) => ((pick >> (n % EARLY_BITS)) & 1 ? outcome : undefined));
            const { batch: known } = await recordChecks(log, range, early, contextOf('checker'));
            await recordChecks(log, range, outcomes, contextOf('checker'), known);
          }
        } catch (error) {
          if (error instanceof Killed) throw error;
          if (delivery.delivery >= MAX_FAILURES) {
            await job_commands.run(job_id, { type: 'fail', reason: 'batch_undeliverable' }, contextOf('checker'));
            return delivery.ack();
          }
          return delivery.nak();
        }
        await delivery.ack();
      },
    };
  }

  const clients: Client[] = Array.from({ length: CLIENTS }, () => openClient(gate.open(), ended));
  let processes = openProcesses();
  let checker = openChecker();

  /** Until nothing moves any more but for checkers and the clock. */
  async function quiesce(): Promise<void> {
    for (let n = 0; n < CLIENTS; n++) {
      if (clients[n]!.killed()) clients[n] = openClient(gate.open(), ended);
    }
    if (processes.killed()) processes = openProcesses();
    if (checker.killed()) checker = openChecker();
    let rounds = 0;
    for (let before = ''; before !== (await log.head()); ) {
      if (++rounds > MAX_ROUNDS) throw new Error('the processes find no end');
      before = await log.head();
      await projectAll();
      await processes.pass();
    }
  }

  return {
    gate,
    now,
    log,
    documents,
    queue,
    readmodels,
    newId,
    contextOf,
    projectAll,
    quiesce,
    client: (n: number) => clients[n % CLIENTS]!,
    processes: () => processes,
    checker: () => checker,
    restart(part: 'processes' | 'checker' | 'clients'): void {
      if (part === 'processes') processes = openProcesses();
      else if (part === 'checker') checker = openChecker();
      else clients.splice(0, CLIENTS, ...Array.from({ length: CLIENTS }, () => openClient(gate.open(), ended)));
    },
    later(ms: number): void {
      now_ms += ms;
    },
    run: <R>(tasks: readonly (() => Promise<R>)[], plan: Plan) => gate.run(tasks, plan),
    /** Documents that hold nothing, for a replay. */
    emptyDocuments: () => openSqliteDocuments({ path: join(folder, `replay-${replays++}.db`) }),
    async close() {
      closing.abort();
      await Promise.all([log.close(), documents.close(), queue.close()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** What is found of a URL is written in it. */
export function outcomeOf(url: string): Outcome {
  const kind = Number(url.slice(url.lastIndexOf('/') + 1)) % 4;
  if (kind === 0) return { ...FOUND, final_url: url };
  if (kind === 1) return { ...FOUND, status_code: 404, is_broken: true, verdict: 'broken', response_time_ms: 300 };
  if (kind === 2)
    return { ...FOUND, status_code: null, is_broken: true, verdict: 'unreachable', response_time_ms: null };
  return {
    ...FOUND,
    redirect_chain: [`${url}#to`],
    final_url: `${url}#to`,
    verdict: 'redirected',
    response_time_ms: 7,
  };
}

/** The log as a projector may come by it: in batches of any size. */
function inBatches(log: EventStore, size: number): EventStore {
  return {
    append: (...args) => log.append(...args),
    readStream: (...args) => log.readStream(...args),
    readAll: (...args) => log.readAll(...args),
    head: () => log.head(),
    deleteStream: (stream) => log.deleteStream(stream),
    close: () => log.close(),
    async *subscribe(options) {
      for await (const { events, position } of log.subscribe(options)) {
        for (let from = 0; from + size < events.length; from += size) {
          const some = events.slice(from, from + size);
          yield { events: some, position: some.at(-1)!.position };
        }
        const rest = events.length % size || Math.min(size, events.length);
        yield { events: events.slice(events.length - rest), position };
      }
    },
  };
}
