// A small model of a job, made from the states and transitions that users are promised and from nothing of the code:
// which events may follow which, and whether what a command was answered with can be explained by them.
import assert from 'node:assert/strict';
import { indexesOf, urlsOf } from '../../events/checked-range.ts';
import type { URLChecked } from '../../events/checks.ts';
import type { CreditsReserved } from '../../events/credits.ts';
import type { JobEvent } from '../../events/job.ts';
import { checksOf, creditsStream, idOf, jobStream } from '../../events/streams.ts';
import type { Witnessed } from './log-gate.ts';

export type Status = 'none' | 'processing' | 'paused' | 'completed' | 'cancelled' | 'failed' | 'deleted';

const NEXT: Record<Status, Partial<Record<string, Status>>> = {
  none: { JobCreated: 'processing' },
  processing: { JobPaused: 'paused', JobCancelled: 'cancelled', JobCompleted: 'completed', JobFailed: 'failed' },
  // The batches in hand are finished: they may be the last ones.
  paused: { JobResumed: 'processing', JobCancelled: 'cancelled', JobCompleted: 'completed' },
  completed: { JobDeleted: 'deleted', ...expiring('completed') },
  cancelled: { JobDeleted: 'deleted', ...expiring('cancelled') },
  failed: { JobDeleted: 'deleted', ...expiring('failed') },
  deleted: { ResultsPurged: 'deleted', JobPurged: 'deleted' },
};
/** The results go, and the job stays as it ended. */
function expiring(status: Status) {
  return { ResultsExpired: status, ResultsPurged: status, ResultsRemoved: status };
}
/** Of the log's own keeping: they change no job. */
const ASIDE = ['ReservationVoided', 'ListingDiscarded'];

const EVENT_OF = {
  pause: 'JobPaused',
  resume: 'JobResumed',
  cancel: 'JobCancelled',
  delete: 'JobDeleted',
  fail: 'JobFailed',
} as const;
export type Transition = keyof typeof EVENT_OF;

/** A job as its events made it. */
export interface ModelJob {
  status: Status;
  total_urls: number;
  allocated: number;
  /** URLs checked while it had not ended. */
  completed: number;
  /** The indexes of those. */
  counted: number[];
  /** At which event of the log its results expired; null while they are kept. */
  expired_at: number | null;
  /** The status after each event of the log from the job's first one on. */
  history: { at: number; status: Status }[];
}

/** All jobs, held to what may happen to them. */
export function modelOf(witnessed: readonly Witnessed[]): Map<string, ModelJob> {
  const jobs = new Map<string, ModelJob>();
  for (const [at, event] of witnessed.entries()) {
    if (event.type === 'URLChecked') checked(jobs, event);
    else if (event.stream.startsWith('job-')) happened(jobs, event, at);
  }
  return jobs;
}

const NOTHING = { total_urls: 0, allocated: 0, completed: 0, expired_at: null };

function happened(jobs: Map<string, ModelJob>, event: Witnessed, at: number): void {
  if (ASIDE.includes(event.type)) return;
  const { type, data } = event as unknown as JobEvent;
  const job_id = idOf(event.stream);
  let job = jobs.get(job_id);
  if (!job) jobs.set(job_id, (job = { status: 'none', ...NOTHING, counted: [], history: [] }));
  const status = NEXT[job.status][type];
  assert.ok(status, `${type} of job ${job_id}, which is ${job.status}`);
  if (type === 'JobCreated') {
    job.total_urls = data.total_urls;
    job.allocated = data.credits_allocated;
  }
  if (type === 'JobResumed') {
    assert.equal(data.credits_allocated, job.allocated + data.credits_added, `resuming ${job_id} adds what it says`);
    job.allocated = data.credits_allocated;
  }
  assert.ok(job.allocated <= job.total_urls, `job ${job_id} is allocated more than it has URLs`);
  if (type === 'JobCompleted') {
    assert.deepEqual([data.completed_urls, job.completed], [job.total_urls, job.total_urls], `${job_id} is complete`);
  }
  if (type === 'ResultsExpired') {
    assert.equal(job.expired_at, null, `the results of ${job_id} expire once`);
    const { completed_urls, summary } = data;
    assert.deepEqual([completed_urls, summary.checked_urls], [job.completed, job.completed], `${job_id} is summarized`);
    job.expired_at = at;
  } else if (status !== 'deleted' && type.startsWith('Results')) {
    assert.ok(job.expired_at !== null, `${type} of job ${job_id}, whose results are kept`);
  }
  job.status = status;
  job.history.push({ at, status });
}

function checked(jobs: ReadonlyMap<string, ModelJob>, event: Witnessed): void {
  const { job_id } = checksOf(event.stream);
  const job = jobs.get(job_id);
  assert.ok(job, `a URL of ${job_id} is checked, which was never created`);
  if (job.status !== 'processing' && job.status !== 'paused') return;
  const range = event.data as URLChecked;
  job.completed += urlsOf(range);
  job.counted.push(...indexesOf(range));
  assert.ok(job.completed <= job.allocated, `job ${job_id} has more URLs checked than credits`);
}

/** The part of the log that was written while a command ran. */
export interface Window {
  owner_id: string;
  /** Lengths of the log. */
  began: number;
  ended: number;
}

/** What a client asked for and what it was told. */
export interface Asked extends Window {
  transition: Transition;
  job_id: string;
  command_id: string;
  answer: { ok: true } | { ok: false; code: string; details?: { status: string; legal: string[] } };
  /** Whether anything went wrong meanwhile. */
  faults: boolean;
}

/** No illegal transition is accepted, and no legal one refused. */
export function assertExplained(
  asked: Asked,
  witnessed: readonly Witnessed[],
  jobs: ReadonlyMap<string, ModelJob>,
): void {
  const { transition, job_id, command_id, answer } = asked;
  const event_type = EVENT_OF[transition];
  const made = witnessed.filter(({ stream, type, metadata }) => {
    return stream === jobStream(job_id) && type === event_type && metadata.command_id === command_id;
  }).length;
  const said = `${transition} of ${job_id} was answered with ${JSON.stringify(answer)}`;
  assert.ok(answer.ok ? made === 1 : made === 0 || answer.code === 'no_answer', said);
  if (answer.ok) return;
  if (answer.code === 'no_answer') {
    assert.ok(asked.faults && made <= 1, said);
    return;
  }
  const during = statusesDuring(jobs.get(job_id), asked);
  const illegal = [...during].filter((status) => !NEXT[status][event_type]);
  if (answer.code === 'illegal_transition' && answer.details) {
    const status = answer.details.status as Status;
    assert.ok(illegal.includes(status), `${said}, and was ${[...during]}`);
    const legal = Object.entries(EVENT_OF).filter(([name, type]) => name !== 'fail' && NEXT[status][type]);
    assert.deepEqual(
      answer.details.legal,
      legal.map(([name]) => name),
      said,
    );
  } else if (answer.code === 'job_not_found') {
    assert.ok(during.has('none') || during.has('deleted'), `${said}, and was ${[...during]}`);
  } else if (answer.code === 'no_credits') {
    assert.ok(balancesDuring(witnessed, asked).includes(0), `${said}, and there were credits`);
  } else {
    // Another resumption was first, or has its credits reserved.
    assert.ok(transition === 'resume' && isResumed(witnessed, asked), `${said}, and nothing was in its way`);
  }
}

function statusesDuring(job: ModelJob | undefined, { began, ended }: Window): Set<Status> {
  const history = job?.history ?? [];
  const before = history.findLast(({ at }) => at < began)?.status ?? 'none';
  return new Set([before, ...history.filter(({ at }) => at >= began && at < ended).map(({ status }) => status)]);
}

/** No rerun of a failed job is refused without a reason. */
export function assertRerunExplained(refused: Window & { job_id: string; code: string }, job?: ModelJob): void {
  const { job_id, code, ended } = refused;
  const expired_at = job?.expired_at ?? ended;
  const is_right = code === 'results_expired' ? expired_at < ended : statusesDuring(job, refused).has('deleted');
  assert.ok(is_right, `a rerun of ${job_id} was refused as ${code}, and nothing was in its way`);
}

/** The balances that the owner had meanwhile. */
export function balancesDuring(witnessed: readonly Witnessed[], { owner_id, began, ended }: Window): number[] {
  let balance = 0;
  const balances: number[] = [];
  for (const [at, { stream, data }] of witnessed.slice(0, ended).entries()) {
    if (at === began) balances.push(balance);
    if (stream !== creditsStream(owner_id)) continue;
    balance = (data as { balance_after: number }).balance_after;
    if (at >= began) balances.push(balance);
  }
  return [...balances, balance];
}

/** By somebody else: meanwhile, or with credits that are reserved for it. */
function isResumed(witnessed: readonly Witnessed[], { job_id, command_id, began, ended }: Asked): boolean {
  return witnessed.slice(0, ended).some(({ stream, type, data, metadata }, at) => {
    if (metadata.command_id === command_id) return false;
    if (type === 'JobResumed') return at >= began && stream === jobStream(job_id);
    if (type !== 'CreditsReserved') return false;
    const { reference_id, reservation_id } = data as CreditsReserved;
    return reference_id === job_id && reservation_id !== `${job_id}:0`;
  });
}
