// Compares two checks of a list, URL by URL: which broke, which healed, which moved.
import { hash } from 'node:crypto';
import type { ResultDocument } from '../../readmodels/results/results.ts';
import { breather } from '../../time/event-loop.ts';
import { Ahead } from '../frame/ahead.ts';

export const CHANGES = ['broke', 'healed', 'moved', 'changed', 'added', 'removed'] as const;
export type Change = (typeof CHANGES)[number];

/** A URL that changed, by the indexes of its results in the two checks; null where a check lacks it. */
export interface ChangedUrl {
  change: Change;
  before: number | null;
  after: number | null;
}

export interface Comparison {
  counts: Readonly<Record<Change, number>>;
  unchanged: number;
  /** Returns the changes in the order of the later list, then the removed ones in the order of the earlier list. */
  page(of: { change?: Change | undefined; offset: number; limit: number }): ChangedUrl[];
}

/** The results of a check, in pages, in the order of its list. */
export interface Check {
  /** The index of the last URL is below this. */
  total_urls: number;
  pages: AsyncIterable<readonly ResultDocument[]>;
}

type Checked = Pick<
  ResultDocument,
  'index' | 'url' | 'status_code' | 'final_url' | 'is_broken' | 'verdict' | 'error_code'
>;

const UNCHANGED = 0;
/** So many rounds of a loop take about a millisecond. */
const LOOPS = 10_000;

/**
 * Reads both checks once, side by side. Meanwhile it holds 17 bytes for each URL of a list, and each URL that has not come yet in the
 * other list: few where rows were added or left out, all of them where the order is another one. What it returns holds 5 bytes a URL.
 */
export async function compareChecks(before: Check, after: Check): Promise<Comparison> {
  const outcomes = openOutcomes();
  const [was, is] = [outcomes.ofCheck(before.total_urls), outcomes.ofCheck(after.total_urls)];
  const [changes, earlier] = [new Uint8Array(after.total_urls), new Uint32Array(after.total_urls)];
  const counts = Object.fromEntries(CHANGES.map((change) => [change, 0])) as Record<Change, number>;
  const unmatched = { before: new Map<string, number>(), after: new Map<string, number>() };
  let unchanged = 0;

  function match(index_before: number, index_after: number): void {
    const change = outcomes.change(was, index_before, is, index_after);
    earlier[index_after] = index_before + 1;
    if (change === null) unchanged++;
    else note(change, index_after);
  }
  function note(change: Change, index_after: number): void {
    counts[change]++;
    changes[index_after] = CHANGES.indexOf(change) + 1;
  }
  function seek(url: string, index: number, own: 'before' | 'after'): void {
    const [mine, other] = own === 'before' ? [unmatched.before, unmatched.after] : [unmatched.after, unmatched.before];
    const key = keyOf(url);
    const found = other.get(key);
    if (found === undefined) mine.set(key, index);
    else {
      other.delete(key);
      if (own === 'before') match(index, found);
      else match(found, index);
    }
  }

  const breathe = breather();
  const [left, right] = [new Ahead(before.pages), new Ahead(after.pages)];
  try {
    for (;;) {
      const filling = [left.fill(), right.fill()];
      if (filling.some((page) => page !== undefined)) await Promise.all([...filling, breathe()]);
      const [a, b] = [left.peek, right.peek];
      if (a === undefined && b === undefined) break;
      if (a !== undefined) outcomes.note(was, left.take());
      if (b !== undefined) outcomes.note(is, right.take());
      if (a !== undefined && a.url === b?.url) match(a.index, b.index);
      else {
        if (a !== undefined) seek(a.url, a.index, 'before');
        if (b !== undefined) seek(b.url, b.index, 'after');
      }
    }
  } finally {
    await Promise.all([left.close(), right.close()]);
  }
  for (const index of unmatched.after.values()) {
    note('added', index);
    if (counts.added % LOOPS === 0) await breathe();
  }
  // In the order of the earlier list, as they came.
  const removed = new Uint32Array(unmatched.before.size);
  for (const index of unmatched.before.values()) {
    removed[counts.removed++] = index;
    if (counts.removed % LOOPS === 0) await breathe();
  }

  return comparisonOf({ counts, unchanged, changes, earlier, removed });
}

interface Found extends Pick<Comparison, 'counts' | 'unchanged'> {
  /** By the later index: the change and one more than the earlier index. 0 in both where there is nothing. */
  changes: Uint8Array;
  earlier: Uint32Array;
  removed: Uint32Array;
}

/** A function of its own, so that a comparison that is kept holds nothing else of what made it. */
const comparisonOf = ({ counts, unchanged, changes, earlier, removed }: Found): Comparison => ({
  counts,
  unchanged,
  page({ change, offset, limit }) {
    const found: ChangedUrl[] = [];
    let skip = offset;
    const wanted = change === undefined ? null : CHANGES.indexOf(change) + 1;
    for (let at = 0; at < changes.length && found.length < limit; at++) {
      const code = changes[at]!;
      if (code === UNCHANGED || (wanted !== null && code !== wanted) || skip-- > 0) continue;
      found.push({ change: CHANGES[code - 1]!, before: earlier[at] === 0 ? null : earlier[at]! - 1, after: at });
    }
    if (change === undefined || change === 'removed') {
      const from = Math.max(0, skip);
      for (const index of removed.subarray(from, from + limit - found.length)) {
        found.push({ change: 'removed', before: index, after: null });
      }
    }
    return found;
  },
});

/** What two checks found, small enough to hold for a million URLs: numbers that stand for outcomes and final addresses. */
function openOutcomes() {
  const ids = new Map<string, number>();
  const is_broken: boolean[] = [];
  const ofCheck = (total_urls: number) => ({
    outcome: new Uint16Array(total_urls),
    final: new Uint32Array(total_urls),
  });
  type Of = ReturnType<typeof ofCheck>;
  return {
    ofCheck,
    note(of: Of, { index, url, status_code, verdict, error_code, final_url, is_broken: broken }: Checked): void {
      const outcome = `${status_code} ${verdict} ${error_code} ${broken}`;
      let id = ids.get(outcome);
      if (id === undefined) {
        id = is_broken.push(broken) - 1;
        ids.set(outcome, id);
      }
      of.outcome[index] = id;
      of.final[index] = final_url === url ? 0 : hash('sha256', String(final_url), 'buffer').readUInt32LE();
    },
    change(was: Of, before: number, is: Of, after: number): Change | null {
      const [old, now] = [was.outcome[before]!, is.outcome[after]!];
      if (is_broken[old] !== is_broken[now]) return is_broken[now] ? 'broke' : 'healed';
      if (was.final[before] !== is.final[after]) return is_broken[now] ? 'changed' : 'moved';
      return old === now ? null : 'changed';
    },
  };
}

/** 128 bits, because a hash takes less memory than most URLs. */
const keyOf = (url: string): string => hash('sha256', url, 'buffer').toString('latin1', 0, 16);
