// Compares the documents of jobs and ledgers with what the log says of them, and says of what differs how.
import {
  addTo,
  type Expected,
  type ExpectedJob,
  factsOfResult,
  factsOfTransaction,
  nothing,
  type Tallied,
  TRANSACTIONS_AT_ONCE,
} from '../../audit/expected-documents.ts';
import type { Position } from '../../events/event-store.ts';
import {
  type BalanceDocument,
  balances,
  type TransactionDocument,
  transactions,
} from '../../readmodels/billing/credits.ts';
import type { CollectionSpec, Document, Reading } from '../../readmodels/documents.ts';
import { type JobDocument, jobs } from '../../readmodels/jobs/jobs.ts';
import { inGeneration } from '../../readmodels/projection-state.ts';
import { resultId, results, type StoredResult, toResult } from '../../readmodels/results/results.ts';
import { jobStats, type StatsDocument } from '../../readmodels/results/stats.ts';
import type { ReadDocuments } from './open-documents.ts';
import type { SteadyReads } from './steady-reads.ts';

/** What was compared. */
export interface Counts {
  jobs: number;
  results: number;
  accounts: number;
  transactions: number;
}

export interface Parts {
  documents: ReadDocuments;
  steady: SteadyReads;
  expected: Expected;
  advance: (until: Position) => Promise<void>;
  /** `of` names whose documents differ. */
  say: (message: string, of: readonly string[]) => void;
  report: Counts;
}

const ANYTHING = undefined;
const MAX_STRANGERS = 10_000;

/** What a document, or a few together, hold, and what the log says of them. */
interface Subject {
  /** The collections and the id of the job or user whose documents these are. */
  of: readonly string[];
  /** For a person. */
  name: string;
  /** Reads what the documents hold. */
  read: () => Promise<unknown>;
  /** What the log says, as far as it was read. */
  expect: () => unknown;
}

/** Compares documents with the log, as far as it was read. */
export class LogComparison {
  readonly #job_documents: Reading<JobDocument>;
  readonly #stats: Reading<StatsDocument>;
  readonly #result_documents: Reading<StoredResult>;
  readonly #balance_documents: Reading<BalanceDocument>;
  readonly #transaction_documents: Reading<TransactionDocument>;
  readonly #expected: Expected;
  readonly #steady: SteadyReads;
  readonly #advance: Parts['advance'];
  readonly #say: Parts['say'];
  readonly #report: Counts;

  constructor({ documents, steady, expected, advance, say, report }: Parts) {
    const { generations } = steady.first;
    const live = <T extends Document>(projection: string, spec: CollectionSpec<T>): Reading<T> =>
      documents.reading(inGeneration(spec, generations[projection]!));
    this.#job_documents = live('jobs', jobs);
    this.#stats = live('jobs', jobStats);
    this.#result_documents = live('jobs', results);
    this.#balance_documents = live('credits', balances);
    this.#transaction_documents = live('credits', transactions);
    this.#expected = expected;
    this.#steady = steady;
    this.#advance = advance;
    this.#say = say;
    this.#report = report;
  }

  async run(): Promise<void> {
    await this.#compareJobs();
    await this.#compareResults();
    await this.#compareAccounts();
    await this.#compareTransactions();
  }

  async #compareJobs(): Promise<void> {
    for await (const { _id } of this.#job_documents.stream({}))
      if (this.#jobOf(_id) === null) await this.#judge(this.#job(_id));
    for (const job_id of keysOf(this.#expected.jobs)) {
      this.#report.jobs += 1;
      const subject = this.#job(job_id);
      await this.#look(await subject.read(), subject);
    }
  }

  async #compareResults(): Promise<void> {
    const strange = new Set<string>();
    /** Results of jobs that the log does not have. */
    const strangers: string[] = [];
    const batches = tallyChunks(
      this.#result_documents.stream({}),
      ({ _id, job_id, index }) => {
        const job = this.#expected.jobs.get(job_id);
        if (job === undefined && strangers.length < MAX_STRANGERS) strangers.push(`results ${_id}`);
        return `${job_id}/${Math.floor(index / (job?.batch_size ?? Infinity))}`;
      },
      (result) => factsOfResult(toResult(result)),
    );
    const seen_batches = new Set<string>();
    for await (const [key, tallied] of batches) {
      this.#report.results += tallied.documents;
      seen_batches.add(key);
      const [job_id, batch] = partsOf(key);
      if (this.#expected.jobs.get(job_id) === undefined) {
        // It may have been made since the log was read.
        const known = {
          expect: () => (this.#expected.jobs.get(job_id) === undefined ? null : ANYTHING),
          read: async () => 'results',
        };
        if (!strange.has(job_id)) await this.#judge({ of: strangers, name: `results of job ${job_id}`, ...known });
        strange.add(job_id);
      } else if (this.#hasResults(job_id)) await this.#look(tallied, this.#batch(job_id, batch));
    }
    for (const key of keysOf(this.#expected.results)) {
      const [job_id, batch] = partsOf(key);
      if (!seen_batches.has(key) && this.#hasResults(job_id)) await this.#judge(this.#batch(job_id, batch));
    }
  }

  async #compareAccounts(): Promise<void> {
    for await (const { _id } of this.#balance_documents.stream({})) {
      if (this.#expected.accounts.get(_id) === undefined) await this.#judge(this.#account(_id));
    }
    for (const user_id of keysOf(this.#expected.accounts)) {
      this.#report.accounts += 1;
      const subject = this.#account(user_id);
      await this.#look(await subject.read(), subject);
    }
  }

  async #compareTransactions(): Promise<void> {
    const seen_transactions = new Set<string>();
    const chunks = tallyChunks(
      this.#transaction_documents.stream({}, { sort: { user_id: 1, number: -1 } }),
      ({ user_id, number }) => `${user_id}/${Math.floor(number / TRANSACTIONS_AT_ONCE)}`,
      (document) => factsOfTransaction(document.number, document),
    );
    for await (const [key, tallied] of chunks) {
      this.#report.transactions += tallied.documents;
      seen_transactions.add(key);
      await this.#look(tallied, this.#transactions(...partsOf(key)));
    }
    for (const key of keysOf(this.#expected.transactions)) {
      if (!seen_transactions.has(key)) await this.#judge(this.#transactions(...partsOf(key)));
    }
  }

  /** Judges what is not as the log says at the first look. */
  async #look(found: unknown, subject: Subject): Promise<void> {
    if (differenceOf(found, subject.expect()) !== null) await this.#judge(subject);
  }

  /** What looks different may only have moved, so it is read again where both are at one position. */
  async #judge({ of, name, read, expect }: Subject): Promise<void> {
    for (;;) {
      const found = await this.#steady.read(read);
      // A projector writes so often that no read comes between: the next may.
      if (found === null) continue;
      await this.#advance(found.at.checkpoint);
      const message = differenceOf(found.found, expect());
      if (message !== null) this.#say(`${name}: ${message}`, of);
      return;
    }
  }

  #jobOf(job_id: string): ExpectedJob | null {
    const job = this.#expected.jobs.get(job_id);
    return job === undefined || job.is_deleted ? null : job;
  }

  /** Whether the log says what results the job has. */
  #hasResults(job_id: string): boolean {
    return this.#jobOf(job_id)?.has_expired === false;
  }

  #job(job_id: string): Subject {
    return {
      of: [`jobs ${job_id}`, `job_stats ${job_id}`],
      name: `job ${job_id}`,
      read: async () => {
        const [document, counted] = [await this.#job_documents.get(job_id), await this.#stats.get(job_id)];
        if (document === null) return null;
        const { status, total_urls, completed_urls, credits_allocated, credits_refunded } = document;
        const { checked_urls = 0, broken_urls = 0, soft_404_urls = 0, verdicts = {} } = counted ?? {};
        const counters = { checked_urls, broken_urls, soft_404_urls, verdicts: sorted(verdicts) };
        return { status, total_urls, completed_urls, credits_allocated, credits_refunded, ...counters };
      },
      expect: () => {
        const job = this.#jobOf(job_id);
        if (job === null) return null;
        const { batch_size: _, is_deleted: _is_deleted, has_expired: _has_expired, verdicts, ...counters } = job;
        return { ...counters, verdicts: sorted(verdicts) };
      },
    };
  }

  #batch(job_id: string, batch: number): Subject {
    const size = this.#expected.jobs.get(job_id)?.batch_size ?? 0;
    const [from, to] = [batch * size, (batch + 1) * size];
    return {
      of: [`results ${jobOfId(resultId(job_id, 0))}`],
      name: `results ${from} to ${to - 1} of job ${job_id}`,
      read: async () => {
        const tallied = nothing();
        const found = await this.#result_documents.find({ job_id, index: { $gte: from, $lt: to } });
        for (const stored of found) addTo(tallied, factsOfResult(toResult(stored)));
        return tallied;
      },
      // The results of a deleted or expired job go when its purge comes to them.
      expect: () =>
        !this.#hasResults(job_id) ? ANYTHING : (this.#expected.results.get(`${job_id}/${batch}`) ?? nothing()),
    };
  }

  #account(user_id: string): Subject {
    return {
      of: [`balances ${user_id}`],
      name: `ledger of ${user_id}`,
      read: async () => {
        const document = await this.#balance_documents.get(user_id);
        return { balance: document?.balance ?? 0, hash: document?.hash ?? '' };
      },
      expect: () => {
        const { balance = 0, hash = '' } = this.#expected.accounts.get(user_id) ?? {};
        return { balance, hash };
      },
    };
  }

  #transactions(user_id: string, place: number): Subject {
    const [from, to] = [place * TRANSACTIONS_AT_ONCE, (place + 1) * TRANSACTIONS_AT_ONCE];
    return {
      of: [`transactions ${user_id}`],
      name: `transactions ${from} to ${to - 1} of ${user_id}`,
      read: async () => {
        const tallied = nothing();
        const number = { $gte: from, $lt: to };
        const found = await this.#transaction_documents.find({ user_id, number }, { sort: { number: -1 } });
        for (const document of found) addTo(tallied, factsOfTransaction(document.number, document));
        return tallied;
      },
      expect: () => this.#expected.transactions.get(`${user_id}/${place}`) ?? nothing(),
    };
  }
}

/** The id of a result without its place in the job. */
const jobOfId = (id: string) => id.slice(0, id.lastIndexOf(':'));

/** @example partsOf('a/b/3') // ['a/b', 3] */
function partsOf(key: string): [id: string, number: number] {
  const at = key.lastIndexOf('/');
  return [key.slice(0, at), Number(key.slice(at + 1))];
}

/** All at once, because the map may not be used while it is gone through. */
const keysOf = (map: { entries(): Iterable<[string, unknown]> }): string[] => Array.from(map.entries(), ([key]) => key);

/** Sums up documents that come one after the other and have one key. */
async function* tallyChunks<T>(
  documents: AsyncIterable<T>,
  keyOf: (document: T) => string,
  factsOf: (document: T) => readonly unknown[],
): AsyncGenerator<[key: string, tallied: Tallied]> {
  let key: string | null = null;
  let tallied = nothing();
  for await (const document of documents) {
    const next = keyOf(document);
    if (key !== null && next !== key) {
      yield [key, tallied];
      tallied = nothing();
    }
    key = next;
    addTo(tallied, factsOf(document));
  }
  if (key !== null) yield [key, tallied];
}

const sorted = (counts: Readonly<Record<string, number>>) =>
  Object.fromEntries(Object.entries(counts).sort(([one], [other]) => (one < other ? -1 : 1)));

/** Null when they are equal. */
function differenceOf(found: unknown, expected: unknown): string | null {
  if (expected === ANYTHING || JSON.stringify(found) === JSON.stringify(expected)) return null;
  if (expected === null) return 'the log has no such job';
  if (found === null) return 'there is no document';
  const [one, other] = [found, expected] as Record<string, unknown>[] as [
    Record<string, unknown>,
    Record<string, unknown>,
  ];
  const differing = Object.keys(other).filter((name) => JSON.stringify(one[name]) !== JSON.stringify(other[name]));
  if (differing.length === 0) return null;
  if (differing.includes('documents')) return `there are ${one.documents}, the log has ${other.documents}`;
  if (differing.includes('sum')) return 'they are not as the log has them';
  return differing
    .map((name) => `${name} is ${JSON.stringify(one[name])}, the log has ${JSON.stringify(other[name])}`)
    .join('; ');
}
