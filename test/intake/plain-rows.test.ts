// The rows that need no CSV parser. csv-parse decides what they are: both must read the same, whatever the text.
import test from 'ava';
import fc from 'fast-check';
import { type CsvOptions, type CsvRecord, readRecords } from '../../intake/csv-records.ts';
import { plainRows } from '../../intake/plain-rows.ts';

const RUNS = { numRuns: Number(process.env.FUZZ_RUNS ?? 2_000) };

const split = (text: string, options: Partial<Parameters<typeof plainRows>[1]> = {}) =>
  plainRows(text, { delimiter: ',', max_row_chars: 1_000, max_columns: 100, ...options });

const PLAIN: Readonly<Record<string, [text: string, rows: string[][]]>> = {
  'cells without quotes': ['a,b\nc\n', [['a', 'b'], ['c']]],
  'line ends as Windows writes them': ['a,b\r\nc\r\n', [['a', 'b'], ['c']]],
  'empty lines and cells': ['\n,\n', [[''], ['', '']]],
  'spaces before a cell, which go, and behind it': [' a, b ,\u3000c\n', [['a', 'b ', 'c']]],
  'a quote inside a cell': ['5" disk,x\n', [['5" disk', 'x']]],
  'quoted cells with delimiters, line ends and quotes': ['"a,b","c\nd","e""f",""\n', [['a,b', 'c\nd', 'e"f', '']]],
};
for (const [what, [text, rows]] of Object.entries(PLAIN)) {
  test(`plain: ${what}`, (t) => {
    t.deepEqual(split(text), { rows, rest: '', is_stopped: false });
  });
}

const NOT: Readonly<Record<string, string>> = {
  'a CR alone': 'a\rb\n',
  'a space before a quote': 'a, "b"\n',
  'a text behind a closing quote': '"a" b\n',
  'a row that is too long': `${'a'.repeat(1_001)}\n`,
  'a row that is too wide': `${','.repeat(100)}\n`,
  'a quote that keeps quotes, with spaces behind': '"""a"" "\n',
};
for (const [what, text] of Object.entries(NOT)) {
  test(`not plain: ${what}`, (t) => {
    t.deepEqual(split(text), { rows: [], rest: text, is_stopped: true });
  });
}

test('the rows before one that is not plain are plain', (t) => {
  t.deepEqual(split('1,2\n "a"\nb\n'), { rows: [['1', '2']], rest: ' "a"\nb\n', is_stopped: true });
});

test('a row whose end is not in the text is left for the next one', (t) => {
  for (const rest of ['a', 'a,', '"a', '"a"', '"a""', 'a\r', '"a\n', '', ' ']) {
    t.deepEqual(split(`1,2\n${rest}`), { rows: [['1', '2']], rest, is_stopped: false });
  }
});

interface Reading {
  records: CsvRecord[];
  error: string | undefined;
}

async function read(text: string, options: CsvOptions, piece_chars: number): Promise<Reading> {
  const chars = [...text];
  const pieces: string[] = [];
  for (let at = 0; at < chars.length; at += piece_chars) pieces.push(chars.slice(at, at + piece_chars).join(''));
  try {
    return { records: (await Array.fromAsync(readRecords(pieces, options))).flat(), error: undefined };
  } catch (error) {
    return { records: [], error: (error as Error).message };
  }
}

/** What csv-parse reads, but for a last row that the text may not end: a first row that is not plain goes before the text, all in one piece. */
async function readByCsvParse(text: string, options: CsvOptions): Promise<Reading> {
  const { records, error } = await read(`"a"b\n${text}`, options, text.length + 10);
  const above = (row: string) => String(Number(row) - 1);
  return {
    records: records.slice(1).map(({ row, cells }) => ({ row: row - 1, cells })),
    error: error?.replace(/(?<=^Row )\d+/, above),
  };
}

test('plain rows and csv-parse read the same, wherever the text is cut', async (t) => {
  const parts = [
    ...['a', 'b,c', ' ', '\t', ',', ';', '"', '""', '"a,b"', ',"x"', '",', '"\n', '\n', '\r\n', '\r'],
    ...['é', '\ufeff', '\u3000', '😀'],
  ];
  const joined = (texts: fc.Arbitrary<string>, maxLength: number) =>
    fc.array(texts, { maxLength }).map((found) => found.join(''));
  const quoted = joined(fc.constantFrom('a', 'é', ' ', ',', ';', '""', '\n', '\r\n'), 5).map((found) => `"${found}"`);
  const cells = fc.array(fc.oneof(quoted, fc.constantFrom('', 'a', ' a', 'a b ', '5" ')), {
    minLength: 1,
    maxLength: 4,
  });
  const table = joined(
    cells.map((row) => `${row.join(',')}\n`),
    6,
  );
  const options = fc.record({
    delimiter: fc.constantFrom(',', ';', '\t', ' ', null),
    max_row_chars: fc.constantFrom(60, 10_000),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(joined(fc.constantFrom(...parts), 30), table),
      options,
      fc.integer({ min: 1, max: 9 }),
      async (text, how, piece_chars) => {
        t.deepEqual(await read(text, how, piece_chars), await readByCsvParse(text, how));
      },
    ),
    RUNS,
  );
});

test('rows behind those that need csv-parse are read as they were written, wherever the text is cut', async (t) => {
  const rows: string[][] = [];
  let text = '';
  // Runs of plain rows and of others, of every length up to some pages, with characters of one to four bytes.
  for (let run = 1; run < 120; run++) {
    const filler = 'aé中😀'.repeat(run % 7);
    for (let n = 0; n < run; n++) {
      rows.push([`${run}.${n}`, `${filler}, "b"`]);
      text += `${run}.${n},${run % 2 ? '' : ' '}"${filler}, ""b"""\n`;
    }
  }
  for (const piece_chars of [997, 8_191, 50_000, text.length]) {
    const { records } = await read(text, { delimiter: ',', max_row_chars: 10_000 }, piece_chars);
    t.deepEqual(
      records.map(({ cells }) => cells),
      rows,
    );
    t.is(records.at(-1)?.row, rows.length);
  }
});
