// Turns cells into the URLs of a job: classifies and counts each, and accepts each URL once. It yields pages while cells come
// in, so that a million rows are never in memory together. The pages count only if the iteration ends without an error.
// Decision 8 says why.
import { strict as assert } from 'node:assert';
import type { IntakeOptions, LeftOut, ListItem, RowIssue } from '../commands/jobs/intake.ts';
import { withoutPassword } from '../events/without-password.ts';
import { breather } from '../time/event-loop.ts';
import {
  type BlockedDomainOf,
  type Category,
  type ClassifiedUrl,
  type ClassifyOptions,
  classifyUrl,
  INVALID_REASONS,
  type InvalidReason,
} from './classify-url.ts';
import { DigestSet } from './digest-set.ts';
import { IntakeError } from './errors.ts';
import { DEFAULT_LIMITS } from './limits.ts';
import type { Cell } from './sheet.ts';

export interface CollectOptions extends IntakeOptions, Pick<ClassifyOptions, 'allows_address' | 'only_host'> {
  blocked_domain_of?: BlockedDomainOf;
  max_urls?: number;
  max_url_chars?: number;
  /** URLs in a page. Default 1,000. */
  page_size?: number;
  /** Samples of each category. Default 20. */
  max_samples?: number;
  /** How errors name the place of a cell: `row` of a file (from 1), `index` of a list (from 0). */
  place?: Place;
}

type Place = 'row' | 'index';

export interface Sample {
  row: number;
  /** The text as submitted, shortened to the limit of a URL. */
  value: string;
  /** The URL to check; null for an invalid text. */
  url: string | null;
  reason: InvalidReason | 'blocked_domain' | null;
  /** The entry of the blocklist that blocks the URL. */
  blocked_domain: string | null;
}

/** total_rows = accepted + duplicates_removed + invalid_urls_rejected + blocked_urls_skipped */
export interface IntakeSummary {
  /** Number of texts: one for each cell that is not empty, more for a cell with several URLs. */
  total_rows: number;
  accepted: number;
  duplicates_removed: number;
  invalid_urls_rejected: number;
  blocked_urls_skipped: number;
  /** URLs of blocklisted domains accepted because `skip_blocked` is off. */
  blocked_urls_accepted: number;
  /** URLs accepted with an added https://. */
  missing_prefix_fixed: number;
  /** Number of rows by category, accepted or not. */
  categories: Record<Category, number>;
  /** The first rows of each category. */
  samples: Record<Category, Sample[]>;
}

/** Accepted URLs and their rows. `refs`: the clients' own names for them, where some have any. */
export interface CollectedPage {
  urls: string[];
  rows: number[];
  refs?: (string | null)[];
}

/** The accepted URLs in pages. `summary` throws until the pages have been read to the end. */
export interface Collected<Page> extends AsyncIterable<Page> {
  readonly summary: IntakeSummary;
}
export type CollectedUrls = Collected<string[]>;

const DEFAULT_PAGE_SIZE = 1_000;
const DEFAULT_MAX_SAMPLES = 20;
/** Rows between two looks at the clock; they take well under a millisecond. */
const ROWS_A_BREATH = 256;
const MAX_ISSUES = 10;
const MAX_ISSUE_CHARS = 200;

/**
 * Collects the URLs of cells; the pages can be read once. Reading throws IntakeError: `too_many_urls` at the first URL above
 * the limit, `invalid_rows` when `skip_invalid` is off, `no_urls` at the end when no URL was accepted.
 */
export function collectPages(
  cells: AsyncIterable<readonly Cell[]>,
  options: CollectOptions = {},
): Collected<CollectedPage> {
  const collector = new Collector(options);
  return {
    [Symbol.asyncIterator]: () => pagesOf(cells, collector, options),
    get summary() {
      assert(collector.ended, 'the summary is complete when the pages have been read');
      return collector.summary;
    },
  };
}

/** Collects the URLs alone. */
export function collectUrls(cells: AsyncIterable<readonly Cell[]>, options: CollectOptions = {}): CollectedUrls {
  const collected = collectPages(cells, options);
  return {
    async *[Symbol.asyncIterator]() {
      for await (const { urls } of collected) yield urls;
    },
    get summary() {
      return collected.summary;
    },
  };
}

/** Collects the URLs of a list, such as a JSON body. Errors name the index of a text in the list, from 0; the rows are from 1. */
export function submitList(
  pages: AsyncIterable<readonly ListItem[]>,
  options: CollectOptions = {},
): Collected<CollectedPage> {
  return collectPages(cellsOfList(pages), { ...options, place: 'index' });
}

/** Counts and samples cells for a preview before a job is created. It does not throw `no_urls`. */
export async function analyzeUrls(
  cells: AsyncIterable<readonly Cell[]>,
  options: Omit<CollectOptions, 'auto_add_prefix' | 'skip_blocked' | 'skip_invalid'> = {},
): Promise<IntakeSummary> {
  const collector = new Collector(options);
  using seen = new DigestSet();
  const breathe = breather();
  for await (const some of cells) {
    options.signal?.throwIfAborted();
    for (const cell of some) {
      collector.take(cell, seen);
      if (collector.summary.total_rows % ROWS_A_BREATH === 0) await breathe();
    }
  }
  return collector.summary;
}

async function* pagesOf(
  cells: AsyncIterable<readonly Cell[]>,
  collector: Collector,
  { page_size = DEFAULT_PAGE_SIZE, signal, left_out }: CollectOptions,
): AsyncGenerator<CollectedPage> {
  using seen = new DigestSet();
  const breathe = breather();
  let page: CollectedPage = { urls: [], rows: [] };
  for await (const some of cells) {
    signal?.throwIfAborted();
    for (const cell of some) {
      const url = collector.take(cell, seen);
      if (collector.summary.total_rows % ROWS_A_BREATH === 0) await breathe();
      if (url === null) continue;
      page.urls.push(url);
      page.rows.push(cell.row);
      if (cell.ref !== undefined) page.refs ??= page.urls.slice(1).map(() => null);
      page.refs?.push(cell.ref ?? null);
      if (page.urls.length < page_size) continue;
      yield page;
      page = { urls: [], rows: [] };
    }
    const draining = left_out?.drained();
    if (draining) await draining;
  }
  collector.end();
  if (page.urls.length > 0) yield page;
}

async function* cellsOfList(pages: AsyncIterable<readonly ListItem[]>): AsyncGenerator<Cell[]> {
  let row = 1;
  const cellOf = (item: ListItem): Cell =>
    typeof item === 'string' ? { row: row++, value: item } : { row: row++, value: item.url, ref: item.ref };
  for await (const page of pages) yield page.map(cellOf);
}

class Collector {
  readonly summary: IntakeSummary = {
    total_rows: 0,
    accepted: 0,
    duplicates_removed: 0,
    invalid_urls_rejected: 0,
    blocked_urls_skipped: 0,
    blocked_urls_accepted: 0,
    missing_prefix_fixed: 0,
    categories: { valid: 0, missing_prefix: 0, blocked: 0, invalid: 0 },
    samples: { valid: [], missing_prefix: [], blocked: [], invalid: [] },
  };
  ended = false;
  /** The row of each accepted URL. */
  readonly #rows: number[] = [];
  readonly #issues: RowIssue[] = [];
  readonly #options;

  constructor(options: CollectOptions) {
    this.#options = {
      auto_add_prefix: options.auto_add_prefix ?? true,
      skip_blocked: options.skip_blocked ?? true,
      skip_invalid: options.skip_invalid ?? true,
      blocked_domain_of: options.blocked_domain_of,
      allows_address: options.allows_address,
      only_host: options.only_host,
      max_urls: options.max_urls ?? DEFAULT_LIMITS.max_urls,
      max_url_chars: options.max_url_chars ?? DEFAULT_LIMITS.max_url_chars,
      max_samples: options.max_samples ?? DEFAULT_MAX_SAMPLES,
      place: options.place ?? 'row',
      left_out: options.left_out,
    };
  }

  /** Counts a cell and returns its URL, or null when the cell is refused or a duplicate. `seen`: the keys of the cells before it. */
  take(cell: Cell, seen: DigestSet): string | null {
    const { summary } = this;
    const { auto_add_prefix, skip_blocked, max_urls } = this.#options;
    const classified = classifyCell(cell, this.#options);
    const { category } = classified;
    summary.total_rows++;
    summary.categories[category]++;
    this.#sample(cell, classified);
    if (category === 'invalid') return this.#reject(cell, classified.reason);
    if (classified.prefix_added && !auto_add_prefix) return this.#reject(cell, 'prefix_missing');
    if (category === 'blocked' && skip_blocked) {
      summary.blocked_urls_skipped++;
      return this.#leaveOut(cell, 'blocked_domain');
    }
    const first = seen.add(classified.key);
    if (first !== null) {
      summary.duplicates_removed++;
      return this.#leaveOut(cell, 'duplicate', first);
    }
    if (summary.accepted === max_urls) throw tooManyUrls(max_urls);
    summary.accepted++;
    this.#rows.push(cell.row);
    if (classified.prefix_added) summary.missing_prefix_fixed++;
    if (category === 'blocked') summary.blocked_urls_accepted++;
    return classified.url;
  }

  end(): void {
    const { total_rows, accepted, duplicates_removed, invalid_urls_rejected, blocked_urls_skipped } = this.summary;
    assert.equal(total_rows, accepted + duplicates_removed + invalid_urls_rejected + blocked_urls_skipped);
    if (this.#issues.length > 0) throw invalidRows(this.#issues, this.#options.place);
    if (accepted === 0) {
      throw new IntakeError(
        'no_urls',
        `There is no URL to check: ${invalid_urls_rejected} invalid, ${blocked_urls_skipped} of blocklisted domains.`,
        {
          rows: this.summary.samples.invalid
            .slice(0, MAX_ISSUES)
            .map((sample) => issueOf(sample, sample.reason, this.#options.place)),
        },
      );
    }
    this.ended = true;
  }

  #reject(cell: Cell, reason: InvalidReason): null {
    this.summary.invalid_urls_rejected++;
    if (!this.#options.skip_invalid) {
      this.#issues.push(issueOf(cell, reason, this.#options.place));
      if (this.#issues.length === MAX_ISSUES) throw invalidRows(this.#issues, this.#options.place);
    }
    return this.#leaveOut(cell, reason);
  }

  /** `first`: of a duplicate, the index of the URL that it repeats. */
  #leaveOut({ row, value, ref }: Cell, reason: string, first?: number): null {
    const entry: LeftOut = { row, reason, value: shown(value, MAX_ISSUE_CHARS) };
    if (ref !== undefined) entry.ref = ref;
    if (first !== undefined) entry.first = { index: first, row: this.#rows[first]! };
    this.#options.left_out?.add(entry);
    return null;
  }

  #sample({ row, value }: Cell, classified: ClassifiedUrl): void {
    const samples = this.summary.samples[classified.category];
    if (samples.length >= this.#options.max_samples) return;
    const text = shown(value, this.#options.max_url_chars);
    if (classified.category === 'invalid') {
      samples.push({ row, value: text, url: null, reason: classified.reason, blocked_domain: null });
    } else {
      const { url, blocked_domain } = classified;
      samples.push({
        row,
        value: text,
        url,
        reason: blocked_domain === null ? null : 'blocked_domain',
        blocked_domain,
      });
    }
  }
}

function classifyCell({ value, refused }: Cell, options: ClassifyOptions): ClassifiedUrl {
  return refused === undefined ? classifyUrl(value, options) : { category: 'invalid', reason: refused };
}

/** An index of a list counts from 0. */
function issueOf(
  { row: from_1, value }: Pick<Cell, 'row' | 'value'>,
  reason: Sample['reason'],
  place: Place,
): RowIssue {
  const message = INVALID_REASONS[(reason ?? 'malformed') as InvalidReason];
  const row = place === 'index' ? from_1 - 1 : from_1;
  return { row, value: shown(value, MAX_ISSUE_CHARS), reason: reason ?? 'malformed', message };
}

function invalidRows(issues: readonly RowIssue[], place: Place): IntakeError {
  const list = issues.map(({ row, value, message }) => `${place} ${row}: "${shortened(value, 60)}" ${message}`);
  return new IntakeError('invalid_rows', `These cannot be checked. ${list.join('; ')}.`, { rows: issues });
}

function tooManyUrls(max_urls: number): IntakeError {
  const limit = max_urls.toLocaleString('en');
  return new IntakeError('too_many_urls', `There are more than ${limit} unique URLs. Split them into several jobs.`);
}

/** A submitted text as answers and files of what was left out show it. */
const shown = (value: string, max_chars: number) => shortened(withoutPassword(value.trim()), max_chars);

function shortened(text: string, max_chars: number): string {
  return text.length > max_chars ? `${text.slice(0, max_chars)}…` : text;
}
