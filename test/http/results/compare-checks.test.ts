// Two checks of a list compared: every URL has one change or none, whatever the orders and the gaps of the lists.
import test from 'ava';
import fc from 'fast-check';
import { CHANGES, type Change, compareChecks } from '../../../http/results/compare-checks.ts';
import { type ResultDocument, toResult } from '../../../readmodels/results/results.ts';

interface Found {
  status_code: 200 | 404 | 500;
  final_url?: string;
}

const resultOf = (index: number, url: string, { status_code, final_url }: Found): ResultDocument => {
  const is_broken = status_code !== 200;
  const verdict = is_broken ? 'broken' : 'ok';
  const result = toResult({ _id: '', job_id: 'j', index, url, status_code, is_broken, verdict });
  return final_url === undefined ? result : { ...result, final_url };
};

/** A check of the whole list, or of what `checked` leaves of it. */
function checkOf(found: ReadonlyMap<string, Found>, checked: (index: number) => boolean = () => true, page = 3) {
  const results = [...found]
    .map(([url, outcome], index) => resultOf(index, url, outcome))
    .filter(({ index }) => checked(index));
  async function* pages() {
    for (let from = 0; from < results.length; from += page) yield results.slice(from, from + page);
  }
  return { check: { total_urls: found.size, pages: pages() }, results };
}

/** What the comparison should say, by other means. */
function expected(before: readonly ResultDocument[], after: readonly ResultDocument[]) {
  const changeOf = (was: ResultDocument | undefined, is: ResultDocument): Change | null => {
    if (was === undefined) return 'added';
    if (was.is_broken !== is.is_broken) return is.is_broken ? 'broke' : 'healed';
    if (was.final_url !== is.final_url) return is.is_broken ? 'changed' : 'moved';
    return was.status_code === is.status_code ? null : 'changed';
  };
  const rows = after.map((is) => {
    const was = before.find(({ url }) => url === is.url);
    return { change: changeOf(was, is), before: was?.index ?? null, after: is.index };
  });
  const removed = before.filter((was) => !after.some(({ url }) => url === was.url));
  return [
    ...rows.filter(({ change }) => change !== null),
    ...removed.map(({ index }) => ({ change: 'removed' as const, before: index, after: null })),
  ];
}

const urls = fc.array(
  fc.integer({ min: 0, max: 12 }).map((n) => `https://example.com/${n}`),
  { maxLength: 12 },
);
const found: fc.Arbitrary<Found> = fc.record(
  {
    status_code: fc.constantFrom(200 as const, 404 as const, 500 as const),
    final_url: fc.constantFrom('https://example.com/1', 'https://example.com/elsewhere'),
  },
  { requiredKeys: ['status_code'] },
);
const list = fc
  .tuple(urls, fc.array(found, { minLength: 12, maxLength: 12 }))
  .map(([of, outcomes]) => new Map(of.map((url, at) => [url, outcomes[at]!])));

test('every change is found once, in the order of the later list', async (t) => {
  await fc.assert(
    fc.asyncProperty(list, list, fc.integer(), fc.integer({ min: 1, max: 5 }), async (was, is, mask, page) => {
      const before = checkOf(was, undefined, page);
      const after = checkOf(is, (index) => ((mask >> index) & 1) === 0);
      const comparison = await compareChecks(before.check, after.check);
      const all = expected(before.results, after.results);
      t.deepEqual(comparison.page({ offset: 0, limit: 1000 }), all);
      for (const change of CHANGES) {
        const some = all.filter((row) => row.change === change);
        t.is(comparison.counts[change], some.length);
        t.deepEqual(comparison.page({ change, offset: 1, limit: 2 }), some.slice(1, 3));
      }
      for (const offset of all.keys())
        t.deepEqual(comparison.page({ offset, limit: 2 }), all.slice(offset, offset + 2));
      const matched = after.results.filter(({ url }) => before.results.some((result) => result.url === url));
      const changed = all.filter((row) => row.before !== null && row.after !== null);
      t.is(comparison.unchanged, matched.length - changed.length);
    }),
  );
});

test('a failed reading ends both readings', async (t) => {
  let ended = false;
  async function* endless() {
    try {
      for (let index = 0; ; index++) yield [resultOf(index, `https://example.com/${index}`, { status_code: 200 })];
    } finally {
      ended = true;
    }
  }
  // biome-ignore lint/correctness/useYield: it fails before it yields
  async function* failing(): AsyncGenerator<ResultDocument[]> {
    throw new Error('the store is away');
  }
  const before = { total_urls: 1_000_000, pages: endless() };
  await t.throwsAsync(compareChecks(before, { total_urls: 1, pages: failing() }), { message: 'the store is away' });
  t.true(ended);
});
