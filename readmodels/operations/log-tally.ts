// How often the worker log has each domain, status and error. The counts are kept, and take in only what has changed since they were
// asked for last, so that a million entries are counted once. Counts that nobody asks for take no memory.
import { breather, ownTurn } from '../../time/event-loop.ts';
import { namesOf, type Segment } from './log-segments.ts';

/** The entries of a segment that count: from a place on, those of the given ranges; null: of all ranges. */
export interface Counted {
  segment: Segment;
  from: number;
  ranges: Uint8Array | null;
}

export interface LogOptions {
  domains: { domain: string; entries: number }[];
  domains_total: number;
  status_codes: { status_code: number | null; entries: number }[];
  error_codes: { error_code: string; entries: number }[];
}

export type LogTally = ReturnType<typeof openLogTally>;

type Count<Key> = readonly [key: Key, entries: number];

export function openLogTally() {
  const domains = openDomainCounts();
  const statuses = new Map<number | null, number>();
  const errors = new Map<string, number>();
  /** The segments whose entries the counts have, all of them, by number. */
  const whole = new Map<number, Segment>();
  let counting: Promise<unknown> = Promise.resolve();

  function add({ segment, from, ranges }: Counted, sign: 1 | -1): void {
    const names = namesOf(segment);
    const of_domain = new Uint32Array(names.length);
    const of_outcome = new Uint32Array(segment.outcomes.length);
    for (let place = from; place < segment.entries; place++) {
      if (ranges !== null && ranges[segment.range[place]!] === 0) continue;
      of_domain[segment.domain[place]!]!++;
      of_outcome[segment.outcome[place]!]!++;
    }
    for (const [n, domain] of names.entries()) if (domain !== null) domains.change(domain, sign * of_domain[n]!);
    for (const [n, [status_code, error_code]] of segment.outcomes.entries()) {
      change(statuses, status_code, sign * of_outcome[n]!);
      if (error_code !== null) change(errors, error_code, sign * of_outcome[n]!);
    }
  }

  async function count(counted: readonly Counted[], max_domains: number): Promise<LogOptions> {
    await ownTurn();
    const breathe = breather();
    const wanted = new Map(counted.filter(isWhole).map(({ segment }) => [segment.number, segment]));
    for (const [number, segment] of whole) {
      if (wanted.get(number) === segment) continue;
      add({ segment, from: 0, ranges: null }, -1);
      whole.delete(number);
      await breathe();
    }
    for (const [number, segment] of wanted) {
      if (whole.has(number)) continue;
      add({ segment, from: 0, ranges: null }, 1);
      whole.set(number, segment);
      await breathe();
    }
    // Few are cut: those at which the number or the age of the entries that are kept ends.
    const cut = counted.filter((one) => !isWhole(one));
    for (const one of cut) add(one, 1);
    const found = {
      domains: await domains.mostFrequent(max_domains),
      domains_total: domains.size,
      status_codes: [...statuses].sort(byCount),
      error_codes: [...errors].sort(byCount),
    };
    for (const one of cut) add(one, -1);
    return {
      domains: found.domains.map(([domain, entries]) => ({ domain, entries })),
      domains_total: found.domains_total,
      status_codes: found.status_codes.map(([status_code, entries]) => ({ status_code, entries })),
      error_codes: found.error_codes.map(([error_code, entries]) => ({ error_code, entries })),
    };
  }

  return {
    /** Counts exactly these entries. The most frequent domains first, at most `max_domains`, and all codes. */
    options(counted: readonly Counted[], max_domains: number): Promise<LogOptions> {
      const options = counting.then(() => count(counted, max_domains));
      counting = options.catch(() => {});
      return options;
    },
  };
}

const isWhole = ({ from, ranges }: Counted) => from === 0 && ranges === null;

/** A count of 0 is not kept. */
function change<Key>(counts: Map<Key, number>, key: Key, by: number): void {
  if (by === 0) return;
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}

const byCount = <Key>([a, many]: Count<Key>, [b, more]: Count<Key>) => more - many || (String(a) < String(b) ? -1 : 1);

/** So many times the domains that are asked for are remembered, so that some may leave before all are looked through again. */
const SPARE = 4;

/**
 * The counts of domains. Those that may be among the most frequent are remembered: to look through a million takes longer than all
 * the rest of an answer.
 */
function openDomainCounts() {
  const counts = new Map<string, number>();
  /** Has every domain that does not come after `last`; without `last` it has all. Null: it was not made yet. */
  let leading: Set<string> | null = null;
  let last: Count<string> | null = null;

  const inOrder = (domains: Iterable<string>) =>
    Array.from(domains, (domain) => [domain, counts.get(domain) ?? 0] as const)
      .filter((one) => one[1] > 0 && (last === null || byCount(one, last) <= 0))
      .sort(byCount);
  return {
    get size() {
      return counts.size;
    },
    change(domain: string, by: number): void {
      change(counts, domain, by);
      if (by > 0) leading?.add(domain);
    },
    async mostFrequent(most: number): Promise<Count<string>[]> {
      let found = inOrder(leading ?? []);
      if (leading === null || (found.length < most && last !== null)) {
        found = await firstOf(counts, SPARE * most);
        last = found.length < counts.size ? found.at(-1)! : null;
      }
      leading = new Set(found.map(([domain]) => domain));
      return found.slice(0, most);
    },
  };
}

/** The first ones in order, without sorting all of them: a million domains are looked through in slices. */
async function firstOf(counts: ReadonlyMap<string, number>, most: number): Promise<Count<string>[]> {
  const breathe = breather();
  let found: Count<string>[] = [];
  let last: Count<string> | undefined;
  let seen = 0;
  for (const one of counts) {
    if (last === undefined || byCount(one, last) < 0) found.push(one);
    if (found.length >= 2 * most + A_LOOK) {
      found = found.sort(byCount).slice(0, most);
      last = found.at(-1);
    }
    seen++;
    if (seen % A_LOOK === 0) await breathe();
  }
  return found.sort(byCount).slice(0, most);
}
const A_LOOK = 1024;
