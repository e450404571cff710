// How a table's rows are joined with results and with what was left out, whatever the order and the gaps.
import test from 'ava';
import fc from 'fast-check';
import type { LeftOut } from '../../../../commands/jobs/intake.ts';
import type { JobTable } from '../../../../events/job.ts';
import type { Line } from '../../../../http/results/export/columns.ts';
import { type ListedUrl, originalLines, type Sources } from '../../../../http/results/export/original-lines.ts';
import type { TableRow } from '../../../../intake/read-table.ts';
import { toResult } from '../../../../readmodels/results/results.ts';

const TABLE: JobTable = { format: 'csv', delimiter: ',', sheet: null, column: 0, header_row: 1, width: 1 };

interface Given {
  rows: TableRow[];
  listed: ListedUrl[];
  /** Indexes of the URLs that have a result which passes the filters. */
  checked?: number[];
  left_out?: LeftOut[];
}

async function* pagesOf<Item>(items: readonly Item[], size: number): AsyncGenerator<Item[]> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size);
}

const resultOf = (index: number, url: string) =>
  toResult({ _id: '', job_id: 'j', index, url, status_code: 200 + index, is_broken: false });

function sourcesOf(
  { rows, listed, checked = listed.map(({ index }) => index), left_out = [] }: Given,
  size = 3,
): Sources {
  const results = listed.filter(({ index }) => checked.includes(index)).map(({ index, url }) => resultOf(index, url));
  return {
    rows: pagesOf(rows, size),
    listed: pagesOf(listed, size),
    results: pagesOf(results, size),
    left_out: pagesOf(left_out, size),
    resultsAt: async (indexes) =>
      new Map(results.flatMap((one) => (indexes.includes(one.index) ? [[one.index, one]] : []))),
  };
}

async function linesOf(
  given: Given,
  { table = TABLE, only_results = false, size = 3, pages: sizes = [] as number[] } = {},
): Promise<Line[]> {
  const all = await Array.fromAsync(originalLines(sourcesOf(given, size), { table, only_results }));
  sizes.push(...all.map(({ length }) => length));
  return all.flat();
}

const row = (n: number, ...cells: string[]): TableRow => ({ row: n, cells });
const url = (index: number, at: number): ListedUrl => ({ index, url: `https://${index}.example/`, row: at });
/** The cells of a line up to the status code. */
const told = (line: Line) => line.slice(0, 7);

test('a name that the header has gets a number', async (t) => {
  const header = ['Verdict', 'row', 'verdict_2', 'x'];
  const [line] = await linesOf({ rows: [row(1, ...header)], listed: [] }, { table: { ...TABLE, width: 4 } });
  t.deepEqual(line!.slice(0, 9), [...header, 'row_2', 'checked_url', 'verdict_3', 'reason', 'duplicate_of_row']);
});

test('a table without a header gets the letters of its columns as a header', async (t) => {
  const table = { ...TABLE, header_row: null, width: 2 };
  const lines = await linesOf({ rows: [row(1, 'a', 'b')], listed: [url(0, 1)] }, { table });
  t.deepEqual(
    lines.map((line) => line.slice(0, 4)),
    [
      ['A', 'B', 'row', 'checked_url'],
      ['a', 'b', 1, 'https://0.example/'],
    ],
  );
});

test('URLs without a result are not checked, and duplicates have the result of the first', async (t) => {
  const given = {
    rows: [row(1, 'h'), row(2, 'a'), row(3, 'b'), row(4, 'a again'), row(5, 'b again'), row(6, '')],
    listed: [url(0, 2), url(1, 3)],
    checked: [0],
    left_out: [
      { row: 4, reason: 'duplicate', value: 'a', first: { index: 0, row: 2 } },
      { row: 5, reason: 'duplicate', value: 'b', first: { index: 1, row: 3 } },
    ],
  };
  t.deepEqual((await linesOf(given)).slice(1).map(told), [
    ['a', 2, 'https://0.example/', 'ok', null, null, 200],
    ['b', 3, 'https://1.example/', 'not_checked', null, null, null],
    ['a again', 4, 'https://0.example/', 'ok', 'duplicate', 2, 200],
    ['b again', 5, null, 'not_checked', 'duplicate', 3, null],
    ['', 6, null, null, null, null, null],
  ]);
  t.deepEqual(
    (await linesOf(given, { only_results: true })).map(([cell]) => cell),
    ['h', 'a', 'a again'],
  );
});

test('a workbook gets its empty rows back, but no million of them', async (t) => {
  const table = { ...TABLE, format: 'xlsx' as const, header_row: 2 };
  const rows = [row(2, 'h'), row(4, 'a'), row(1_000_000, 'b')];
  const lines = await linesOf({ rows, listed: [url(0, 4), url(1, 1_000_000)] }, { table });
  t.deepEqual(
    lines.slice(0, 4).map(([cell, n]) => [cell, n]),
    [
      ['', null],
      ['h', 'row'],
      ['', 3],
      ['a', 4],
    ],
  );
  t.deepEqual([lines.length, lines[4]![1], lines.at(-1)![1]], [4 + 10_000 + 1, 990_000, 1_000_000]);
});

test('a URL whose row shows nothing, such as a mere link, has a line of its own', async (t) => {
  const listed = [url(0, 2), url(1, 3), url(2, 4), url(3, 7), url(4, 8)];
  const lines = await linesOf({ rows: [row(1, 'h'), row(3, 'b'), row(7, 'd')], listed });
  t.deepEqual(
    lines.slice(1).map(([cell, n]) => [cell, n]),
    [
      ['', 2],
      ['b', 3],
      ['', 4],
      ['d', 7],
      ['', 8],
    ],
  );
});

test('a row with thousands of URLs and duplicates has each once, and looks duplicates up some at a time', async (t) => {
  const listed = Array.from({ length: 2500 }, (_, n) => url(n, 2));
  const left_out = listed.map(({ index }) => ({ row: 2, reason: 'duplicate', value: '', first: { index, row: 2 } }));
  const sources = sourcesOf({ rows: [row(1, 'h'), row(2, 'a'), row(3, 'b')], listed, left_out });
  let most = 0;
  const resultsAt = (indexes: readonly number[]) => {
    most = Math.max(most, indexes.length);
    return sources.resultsAt(indexes);
  };
  const pages = originalLines({ ...sources, resultsAt }, { table: TABLE, only_results: false });
  const lines = (await Array.fromAsync(pages)).flat().slice(1);
  const urls = listed.map((one) => one.url).toSorted();
  const of = (reason: string | null) => lines.filter((line) => line[1] === 2 && line[4] === reason);
  t.deepEqual(
    of(null)
      .map((line) => line[2])
      .toSorted(),
    urls,
  );
  t.deepEqual(
    of('duplicate')
      .map((line) => line[2])
      .toSorted(),
    urls,
  );
  t.deepEqual([lines.length, lines.at(-1)![0], most], [5001, 'b', 1000]);
});

test('rows have each URL once where thousands of URLs are in few rows', async (t) => {
  const counts = [600, 400, 1, 0, 999, 1, 1, 0];
  const listed: ListedUrl[] = [];
  for (const [n, count] of counts.entries()) for (let i = 0; i < count; i++) listed.push(url(listed.length, n + 2));
  const rows = [row(1, 'h'), ...counts.map((_, n) => row(n + 2, `row ${n + 2}`))];
  const lines = (await linesOf({ rows, listed })).slice(1);
  t.deepEqual(
    lines.map((line) => line.slice(0, 3)),
    counts.flatMap((count, n) => {
      const urls = count === 0 ? [null] : listed.filter((one) => one.row === n + 2).map((one) => one.url);
      return urls.map((one) => [`row ${n + 2}`, n + 2, one]);
    }),
  );
});

test('a formula in thousands of cells of a row gets its apostrophe in each', async (t) => {
  const [long, other] = ['=x'.repeat(600), `+${'y'.repeat(1200)}`];
  const table = { ...TABLE, width: 4 };
  const lines = await linesOf(
    { rows: [row(1, 'h'), row(2, long, other, long, 'z'.repeat(1200))], listed: [] },
    { table },
  );
  t.deepEqual(lines[1]!.slice(0, 4), [`'${long}`, `'${other}`, `'${long}`, 'z'.repeat(1200)]);
});

test('the texts of a workbook get no apostrophe, since they are no formulas', async (t) => {
  const given = { rows: [row(1, 'h'), row(2, '- a note'), row(3, '=1+1')], listed: [] };
  const lines = (
    await Array.fromAsync(originalLines(sourcesOf(given), { table: TABLE, only_results: false, is_workbook: true }))
  ).flat();
  t.deepEqual(
    lines.map(([cell]) => cell),
    ['h', '- a note', '=1+1'],
  );
});

for (const [title, in_order] of [
  ['every result and every rejected text stands beside its row', true],
  ['of a file whose rows are not in order no result is lost or told twice', false],
] as const) {
  test(title, async (t) => {
    const order = fc
      .uniqueArray(fc.integer({ min: 2, max: 40 }), { maxLength: 25 })
      .map((numbers) => (in_order ? numbers.toSorted((a, b) => a - b) : numbers));
    const texts = fc.array(fc.nat(5), { minLength: 25, maxLength: 25 });
    await fc.assert(
      fc.asyncProperty(order, texts, fc.integer({ min: 1, max: 7 }), async (numbers, kinds, size) => {
        const listed: ListedUrl[] = [];
        const left_out: LeftOut[] = [];
        const expected: unknown[] = [];
        for (const [at, n] of numbers.entries()) {
          const urls = kinds[at]! % 3;
          const is_rejected = kinds[at]! > 2;
          for (let of_row = 0; of_row < urls; of_row++) {
            listed.push(url(listed.length, n));
            expected.push([`row ${n}`, n, listed.at(-1)!.url]);
          }
          if (is_rejected) left_out.push({ row: n, reason: 'malformed', value: '' });
          if (is_rejected || urls === 0) expected.push([`row ${n}`, n, null]);
        }
        const rows = numbers.map((n) => row(n, `row ${n}`));
        const lines = await linesOf({ rows: [row(1, 'h'), ...rows], listed, left_out }, { size });
        const found = lines.slice(1).map((line) => line.slice(0, 3));
        if (in_order) return t.deepEqual(found, expected);
        const urlsOf = (some: readonly unknown[]) => some.flatMap((line) => (line as Line)[2] ?? []).toSorted();
        t.deepEqual(urlsOf(found), urlsOf(expected));
      }),
      { numRuns: 200 },
    );
  });
}

test('titles far above the header, and a wide table, are passed on line by line', async (t) => {
  const titles = Array.from({ length: 30 }, (_, n) => row(n + 1, `title ${n}`));
  const table = { ...TABLE, header_row: 31, width: 16_000 };
  const pages: number[] = [];
  const source = { rows: [...titles, row(31, 'h'), row(32, 'a')], listed: [url(0, 32)] };
  const lines = await linesOf(source, { table, pages });
  t.deepEqual(
    [29, 30, 31].map((n) => [lines[n]![0], lines[n]![16_000]]),
    [
      ['title 29', null],
      ['h', 'row'],
      ['a', 32],
    ],
  );
  t.is(lines.length, 32);
  t.is(pages[0], 0, 'no head is repeated');
  t.true(Math.max(...pages) <= 3, `${Math.max(...pages)} lines at once`);
});
