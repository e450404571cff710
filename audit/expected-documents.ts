// What the log says that the documents of jobs and of the ledger hold. It shares no code with the projections, which make them.
import { type CheckedUrl, endOf, unfold, urlsOf } from '../events/checked-range.ts';
import type { URLChecked } from '../events/checks.ts';
import type { CreditsEvent } from '../events/credits.ts';
import type { RecordedEvent } from '../events/event-store.ts';
import { hasEnded, type JobEvent, type JobStatus, type ResultsExpired } from '../events/job.ts';
import { categoryOf, checksOf, idOf } from '../events/streams.ts';
import type { UrlListing } from '../events/url-listing.ts';
import type { Spill } from './spill.ts';

export interface ExpectedJob {
  status: JobStatus;
  total_urls: number;
  completed_urls: number;
  credits_allocated: number;
  credits_refunded: number;
  /** Of the results, which a listing that is damaged has fewer of. */
  checked_urls: number;
  broken_urls: number;
  soft_404_urls: number;
  verdicts: Record<string, number>;
  batch_size: number;
  is_deleted: boolean;
  /** Its results expired, and go when the purge comes to them. */
  has_expired: boolean;
}

export interface ExpectedAccount {
  balance: number;
  hash: string;
  entries: number;
}

/** Some documents of a collection together: their number, and a sum of what they say that does not depend on their order. */
export interface Tallied {
  documents: number;
  sum: number;
}
export const nothing = (): Tallied => ({ documents: 0, sum: 0 });

export function addTo(tallied: Tallied, facts: readonly unknown[]): void {
  tallied.documents += 1;
  tallied.sum += sumOf(JSON.stringify(facts));
}

/**
 * 40 bits of two runs of FNV-1a over the text's code units: sums of 8,192 documents are exact. It finds damage, in a fifth of the time of MD5. Who
 * forges documents to the same sums is found by the comparison of every document.
 */
function sumOf(text: string): number {
  let [one, other] = [0x811c9dc5, 0x9e3779b9];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    one = Math.imul(one ^ code, 0x01000193);
    other = Math.imul(other ^ code, 0x85ebca6b);
  }
  return (one >>> 0) * 0x100 + ((other >>> 16) & 0xff);
}

type Result = Pick<
  CheckedUrl,
  'index' | 'url' | 'status_code' | 'is_broken' | 'is_soft_404' | 'verdict' | 'error_code' | 'response_time_ms'
>;
export const factsOfResult = (result: Result): unknown[] => {
  const { index, url, status_code, is_broken, is_soft_404, verdict, error_code, response_time_ms } = result;
  return [index, url, status_code, is_broken, is_soft_404, verdict, error_code, response_time_ms];
};

type Transaction = Pick<
  CreditsEvent['data'],
  'transaction_id' | 'transaction_type' | 'amount' | 'reference_id' | 'balance_after'
>;
export const factsOfTransaction = (number: number, transaction: Transaction): unknown[] => {
  const { transaction_id, transaction_type, amount, reference_id, balance_after } = transaction;
  return [number, transaction_id, transaction_type, amount, reference_id, balance_after];
};

/** Transactions that are summed up together. */
export const TRANSACTIONS_AT_ONCE = 500;

const IN_MEMORY = 20_000;

export type Expected = ReturnType<typeof openExpected>;

export function openExpected(spill: Spill, listing: UrlListing) {
  const jobs = spill.map<ExpectedJob>('expected_jobs', IN_MEMORY);
  const accounts = spill.map<ExpectedAccount>('expected_accounts', IN_MEMORY);
  /** By job and batch. */
  const results = spill.map<Tallied>('expected_results', IN_MEMORY);
  /** By user and place. */
  const transactions = spill.map<Tallied>('expected_transactions', IN_MEMORY);

  function stepOfJob({ stream, type, data }: RecordedEvent): void {
    const job_id = idOf(stream);
    const event = { type, data } as JobEvent;
    if (event.type === 'JobCreated') {
      const { total_urls, credits_allocated, batch_size } = event.data;
      const counts = { completed_urls: 0, credits_refunded: 0, checked_urls: 0, broken_urls: 0, soft_404_urls: 0 };
      const job: ExpectedJob = {
        ...{ status: 'processing', total_urls, credits_allocated, batch_size, ...counts, verdicts: {} },
        is_deleted: false,
        has_expired: false,
      };
      jobs.set(job_id, job);
      return;
    }
    const job = jobs.get(job_id);
    if (job === undefined) return;
    if (event.type === 'JobResumed') job.credits_allocated = event.data.credits_allocated;
    if (event.type === 'JobDeleted') job.is_deleted = true;
    if (event.type === 'ResultsExpired') expire(job, event.data);
    job.status = STATUS_AFTER[event.type as keyof typeof STATUS_AFTER] ?? job.status;
  }

  async function check(event: RecordedEvent): Promise<void> {
    const { job_id, batch } = checksOf(event.stream);
    const job = jobs.get(job_id);
    if (job === undefined || job.is_deleted || hasEnded(job.status)) return;
    const data = event.data as URLChecked;
    const urls = await listing.range(job_id, data.from_index, endOf(data));
    const key = `${job_id}/${batch}`;
    const tallied = results.get(key) ?? nothing();
    job.completed_urls += urlsOf(data);
    for (const row of unfold(data, urls)) {
      job.checked_urls += 1;
      if (row.is_broken) job.broken_urls += 1;
      if (row.is_soft_404) job.soft_404_urls += 1;
      job.verdicts[row.verdict] = (job.verdicts[row.verdict] ?? 0) + 1;
      addTo(tallied, factsOfResult(row));
    }
    results.set(key, tallied);
  }

  function enter({ stream, revision, type, data }: RecordedEvent): void {
    if (type === 'UsageSet') return;
    const user_id = idOf(stream);
    const entry = data as CreditsEvent['data'];
    const entries = (accounts.get(user_id)?.entries ?? 0) + 1;
    accounts.set(user_id, { balance: entry.balance_after, hash: entry.hash, entries });
    const key = `${user_id}/${Math.floor(revision / TRANSACTIONS_AT_ONCE)}`;
    const tallied = transactions.get(key) ?? nothing();
    addTo(tallied, factsOfTransaction(revision, entry));
    transactions.set(key, tallied);
    if (entry.transaction_type !== 'refund') return;
    const job = jobs.get(entry.reference_id);
    if (job) job.credits_refunded += entry.amount;
  }

  return {
    jobs,
    accounts,
    results,
    transactions,
    /** Takes the events of jobs, checks and ledgers in the order of the log. */
    async take(event: RecordedEvent): Promise<void> {
      const category = categoryOf(event.stream);
      if (category === 'job') stepOfJob(event);
      else if (category === 'checks') await check(event);
      else if (category === 'credits') enter(event);
    },
  };
}

/** The log may have the results no longer. */
function expire(job: ExpectedJob, { completed_urls, summary }: ResultsExpired): void {
  const { checked_urls, broken_urls, soft_404_urls, verdicts } = summary;
  Object.assign(job, { completed_urls, checked_urls, broken_urls, soft_404_urls, verdicts, has_expired: true });
}

const STATUS_AFTER = {
  JobPaused: 'paused',
  JobResumed: 'processing',
  JobCancelled: 'cancelled',
  JobCompleted: 'completed',
  JobFailed: 'failed',
} as const satisfies Partial<Record<JobEvent['type'], JobStatus>>;
