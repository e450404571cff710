// What must be true of the world whenever it is quiet, and what more when nothing is left to do.
import assert from 'node:assert/strict';
import { VERDICTS } from '../../events/checks.ts';
import type { CreditsRefunded } from '../../events/credits.ts';
import { assertResultsKept } from '../../http/frame/errors.ts';
import { jobs } from '../../readmodels/jobs/jobs.ts';
import { pending } from '../../readmodels/jobs/pending.ts';
import { results, toResult } from '../../readmodels/results/results.ts';
import { jobStats } from '../../readmodels/results/stats.ts';
import { type Asserting, assertExact, assertLedger } from '../support/ledger.ts';
import type { Witnessed } from './log-gate.ts';
import {
  type Asked,
  assertExplained,
  assertRerunExplained,
  type ModelJob,
  modelOf,
  type Window,
} from './transitions.ts';
import { LOST_AFTER_MS, MINUTE, outcomeOf, type World } from './world.ts';

/** What the test knows. */
export interface Known {
  /** All that were asked for, whether or not they came to be. */
  jobs: { job_id: string; owner_id: string; urls: string[] }[];
  /** Those of them that are not there now. */
  gone: Set<string>;
  /** How often all was held to be right. */
  quiets: number;
  /** Of this step. */
  asked: Asked[];
  /** Of this step: why a job was not run again. */
  refused: (Window & { job_id: string; code: string })[];
  /** Nothing goes wrong: what is left to do is done without waiting for anything that was lost. */
  faultless: boolean;
  /** How often what was done, and answered. */
  tally: Map<string, number>;
}

const STEPS_A_REPLAY = 4;

const ASSERTING: Asserting = {
  true: assert.ok,
  is: assert.strictEqual,
  deepEqual: assert.deepStrictEqual,
  fail: assert.fail,
};

export async function assertHolds(known: Known, world: World): Promise<void> {
  await world.quiesce();
  const { witnessed } = world.gate;
  const model = modelOf(witnessed);
  for (const asked of known.asked.splice(0)) assertExplained(asked, witnessed, model);
  for (const refused of known.refused.splice(0)) assertRerunExplained(refused, model.get(refused.job_id));
  for (const { job_id } of known.jobs) {
    if ((model.get(job_id)?.status ?? 'deleted') === 'deleted') known.gone.add(job_id);
  }
  const refunded = refundsOf(witnessed);
  for (const [job_id, job] of model) assertSettled(job_id, job, refunded.get(job_id) ?? 0);
  for (const { job_id, urls } of known.jobs) await assertResults(job_id, urls, model.get(job_id), world);
  // To replay the log takes longer than all else.
  if (known.quiets++ % STEPS_A_REPLAY === 0) await assertReplayed(world);
  else await assertLedger(ASSERTING, world.log);
}

async function assertReplayed({ emptyDocuments, log, documents }: World): Promise<void> {
  const empty = await emptyDocuments();
  try {
    await assertExact(ASSERTING, log, documents, empty);
  } finally {
    await empty.close();
  }
}

function refundsOf(witnessed: readonly Witnessed[]): Map<string, number> {
  const refunded = new Map<string, number>();
  for (const { type, data } of witnessed) {
    if (type !== 'CreditsRefunded') continue;
    const { transaction_type, reference_id, amount } = data as CreditsRefunded;
    if (transaction_type === 'refund') refunded.set(reference_id, (refunded.get(reference_id) ?? 0) + amount);
  }
  return refunded;
}

/** A failed job is refunded when it is deleted, of which its deletion is the second half; any other when it has ended. */
function assertSettled(job_id: string, { status, allocated, completed }: ModelJob, refunded: number): void {
  const left = allocated - completed;
  const right = { processing: [0], paused: [0], failed: [0, left] }[status as string] ?? [left];
  assert.ok(right.includes(refunded), `of job ${job_id}, ${status}, ${refunded} were refunded, not ${right}`);
}

/** One for each URL that counts and never two, each as it was found. */
async function assertResults(
  job_id: string,
  urls: readonly string[],
  job: ModelJob | undefined,
  { readmodels }: World,
) {
  const document = await readmodels.collection(jobs).get(job_id);
  const found = await readmodels.collection(results).find({ job_id }, { sort: { index: 1 } });
  const stats = await readmodels.collection(jobStats).get(job_id);
  if (!job || job.status === 'deleted') {
    assert.deepEqual([document, stats, found], [null, null, []], `of job ${job_id} nothing is left`);
    return;
  }
  const { status, allocated, completed, counted, expired_at } = job;
  const { status: shown, credits_allocated, completed_urls, total_urls } = document!;
  const expected = { shown: status, credits_allocated: allocated, completed_urls: completed, total_urls: urls.length };
  assert.deepEqual({ shown, credits_allocated, completed_urls, total_urls }, expected, `job ${job_id}`);
  const verdicts = Object.groupBy(counted, (index) => outcomeOf(urls[index]!).verdict);
  for (const verdict of VERDICTS) {
    assert.equal(stats?.verdicts[verdict] ?? 0, verdicts[verdict]?.length ?? 0, `${verdict} of job ${job_id}`);
  }
  if (expired_at !== null) {
    assert.throws(() => assertResultsKept(document!), { status: 410, code: 'results_expired' });
    assert.deepEqual(found, [], `job ${job_id} has no results any more`);
    return;
  }
  assertResultsKept(document!);
  assert.equal(found.length, completed, `job ${job_id} has a result for each URL that it is charged for`);
  assert.equal(new Set(found.map(({ index }) => index)).size, found.length, `job ${job_id} has one result a URL`);
  for (const { _id, job_id: _, index, url, ...outcome } of found.map(toResult)) {
    assert.deepEqual({ url, ...outcome }, { url: urls[index], ...outcomeOf(url) }, `URL ${index} of job ${job_id}`);
  }
}

/** When every checker has done what it can, and time has taken back what stopped half-way. */
export async function assertNothingLeft(known: Known, world: World): Promise<void> {
  await world.gate.deliverLate();
  await checkAll(world);
  const processing = () => world.readmodels.collection(jobs).find({ status: 'processing' });
  if (known.faultless) assert.deepEqual(await processing(), [], 'all that could be checked is checked');
  world.later(LOST_AFTER_MS + 1);
  await checkAll(world);
  assert.deepEqual(await processing(), [], 'what the queue lost is checked');
  // Reservations are released after ten minutes, listings deleted after an hour.
  for (const minutes of [11, 61]) {
    world.later(minutes * MINUTE);
    await assertHolds(known, world);
  }
  assert.deepEqual(await world.readmodels.collection(pending).find({}), [], 'nothing is half done');
  await assertReplayed(world);
}

async function checkAll(world: World): Promise<void> {
  const checker = world.checker();
  do {
    while (checker.hand.length > 0) await checker.record(0);
    await world.quiesce();
    await checker.take(100);
  } while (checker.hand.length > 0);
}
