import test from 'ava';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { RecordSplitter } from '../../intake/record-splitter.ts';

interface SplitInPieces {
  delimiter?: string | null;
  column?: number | null;
  piece_chars?: number;
  max_row_chars?: number;
}

function split(text: string, options: SplitInPieces = {}): string[][] {
  const { delimiter = ',', column = null, piece_chars = text.length + 1, max_row_chars = 10_000 } = options;
  const records: string[][] = [];
  const splitter = new RecordSplitter({ delimiter, column, max_row_chars }, (row, cells) => {
    records[row - 1] = cells;
  });
  for (let at = 0; at < text.length; at += piece_chars) splitter.push(text.slice(at, at + piece_chars));
  splitter.end();
  return records;
}

test('quotes hold delimiters, line ends and doubled quotes', (t) => {
  t.deepEqual(split('a,"b,c"\n"d\ne","f""g"\n'), [
    ['a', 'b,c'],
    ['d\ne', 'f"g'],
  ]);
});

test('every kind of line end ends a record, mixed in one file', (t) => {
  t.deepEqual(split('a\nb\r\nc\rd'), [['a'], ['b'], ['c'], ['d']]);
});

test('an empty line is a row, and the end of the last line begins none', (t) => {
  t.deepEqual(split('a\n\nb\n'), [['a'], [''], ['b']]);
});

test('without a delimiter each line is one cell, unquoted where it is quoted', (t) => {
  t.deepEqual(split('https://a.com/x,y\n"https://a.com/1;2"\n', { delimiter: null }), [
    ['https://a.com/x,y'],
    ['https://a.com/1;2'],
  ]);
});

test('only the column asked for is cut out, and a row that does not reach to it has none', (t) => {
  t.deepEqual(split('a,b,c\n"d","e,f",g\nh\n', { column: 1 }), [['b'], ['e,f'], []]);
});

test('a quote inside of a cell is a character, spaces before a quoted cell are not', (t) => {
  t.deepEqual(split('5" disk,x\n1, "a,b" ,2\n'), [
    ['5" disk', 'x'],
    ['1', 'a,b', '2'],
  ]);
});

test('a quote that is never closed spoils its own cell alone', (t) => {
  t.deepEqual(split('a,1\n"b,2\nc,3\n'), [
    ['a', '1'],
    ['"b', '2'],
    ['c', '3'],
  ]);
});

test('a quote that is not closed within the longest row is taken as never closed', (t) => {
  const rows = Array.from({ length: 200 }, (_, i) => `url ${i}`);
  const text = `"${rows.join('\n')}\n`;
  t.deepEqual(split(text, { piece_chars: 50, max_row_chars: 300 }), [['"url 0'], ...rows.slice(1).map((row) => [row])]);
});

test('a line longer than the longest row is an error that names the row', (t) => {
  const error = t.throws(() => split(`a\n${'b'.repeat(2_000)}`, { piece_chars: 100, max_row_chars: 1_000 }));
  t.like(error, { code: 'row_too_long' });
  t.regex(error.message, /^Row 2 /);
});

test('it reads what csv-parse reads, wherever the text is cut into pieces', (t) => {
  const cell = fc.string({ unit: fc.constantFrom('a', 'é', '.', ' ', ',', ';', '"', '\n', '\r', '\t'), maxLength: 6 });
  const quoted = (text: string) => (/["\n\r,]|^\s/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const table = fc.array(fc.array(cell, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(
      table,
      fc.constantFrom('\n', '\r\n', '\r'),
      fc.integer({ min: 1, max: 9 }),
      (rows, eol, piece_chars) => {
        const text = rows.map((cells) => cells.map(quoted).join(',') + eol).join('');
        const expected = parse(text, { relax_column_count: true, record_delimiter: ['\r\n', '\n', '\r'] });
        t.deepEqual(split(text, { piece_chars }), expected);
        t.deepEqual(
          split(text, { piece_chars, column: 1 }),
          expected.map((cells) => cells.slice(1, 2)),
        );
      },
    ),
    { numRuns: 1_000 },
  );
});

test('nothing that is put in makes it throw or lose a line, wherever it is cut', (t) => {
  const text = fc.string({ unit: fc.constantFrom('a', ' ', ',', '"', '\n', '\r'), maxLength: 40 });
  fc.assert(
    fc.property(text, fc.integer({ min: 1, max: 7 }), (content, piece_chars) => {
      t.deepEqual(split(content, { piece_chars }), split(content));
    }),
    { numRuns: 2_000 },
  );
});
