// The counts of the worker log's domains and codes, while segments come, go and are cut.
import test from 'ava';
import {
  LOG_STATE,
  type LogEntry,
  ofSegment,
  type Segment,
  toSegment,
} from '../../../readmodels/operations/log-segments.ts';
import { type Counted, openLogTally } from '../../../readmodels/operations/log-tally.ts';

const MOST = 3;

function segment(number: number, domains: readonly (string | null)[]): Segment {
  const entries = domains.map(
    (domain, index): LogEntry => ({
      ...{ job_id: LOG_STATE, index, attempt: 1, at_ms: 0, worker: null, proxy_id: null, duration_ms: null },
      ...{ domain, status_code: index % 2 === 0 ? 200 : null, error_code: index % 2 === 0 ? null : 'dns_not_found' },
    }),
  );
  return ofSegment(toSegment(number, 1, entries));
}
const whole = (one: Segment): Counted => ({ segment: one, from: 0, ranges: null });

/** The domains in order, counted one by one. */
function counted(shown: readonly Counted[], domains: readonly (readonly (string | null)[])[]) {
  const counts = new Map<string, number>();
  for (const { segment: of, from } of shown)
    for (const domain of domains[of.number]!.slice(from))
      if (domain !== null) counts.set(domain, (counts.get(domain) ?? 0) + 1);
  const all = [...counts].map(([domain, entries]) => ({ domain, entries }));
  all.sort((a, b) => b.entries - a.entries || (a.domain < b.domain ? -1 : 1));
  return { domains: all.slice(0, MOST), domains_total: all.length };
}

/** The same numbers at each run. */
function numbers(seed: number) {
  let state = seed;
  return (below: number) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
}

test('the most frequent domains are right while segments come, go, change and are cut', async (t) => {
  for (let seed = 1; seed <= 20; seed += 1) {
    const below = numbers(seed);
    const tally = openLogTally();
    const domains: (string | null)[][] = [];
    let shown: Counted[] = [];
    for (let step = 0; step < 60; step += 1) {
      const number = domains.length;
      // Few domains are frequent at first, and later each comes once: those that lead leave one by one.
      domains.push(Array.from({ length: 5 }, () => (below(9) === 0 ? null : `d${below(step < 20 ? 6 : 900)}.example`)));
      shown = [...shown.map(({ segment: of }) => whole(of)), whole(segment(number, domains[number]!))];
      if (below(3) > 0) shown.splice(below(shown.length), 1);
      if (below(4) === 0) shown.splice(0, below(shown.length));
      if (shown.length > 0) shown[0] = { ...shown[0]!, from: below(5) };
      t.like(await tally.options(shown, MOST), counted(shown, domains), `seed ${seed}, step ${step}`);
    }
  }
});

test('codes are counted with the entries that are shown', async (t) => {
  const tally = openLogTally();
  const one = segment(0, ['a.example', 'a.example', 'b.example']);
  t.like(await tally.options([whole(one)], MOST), {
    status_codes: [
      { status_code: 200, entries: 2 },
      { status_code: null, entries: 1 },
    ],
    error_codes: [{ error_code: 'dns_not_found', entries: 1 }],
  });
  t.deepEqual(await tally.options([], MOST), { domains: [], domains_total: 0, status_codes: [], error_codes: [] });
});
