import test from 'ava';
import fc from 'fast-check';
import { readRecords } from '../../intake/csv-records.ts';
import type { IntakeError } from '../../intake/errors.ts';

interface ReadInPieces {
  delimiter?: string | null;
  piece_chars?: number;
  max_row_chars?: number;
}

async function read(text: string, options: ReadInPieces = {}): Promise<string[][]> {
  const { delimiter = ',', piece_chars = text.length + 1, max_row_chars = 10_000 } = options;
  const pieces: string[] = [];
  for (let at = 0; at < text.length; at += piece_chars) pieces.push(text.slice(at, at + piece_chars));
  const records: string[][] = [];
  for await (const page of readRecords(pieces, { delimiter, max_row_chars })) {
    for (const { row, cells } of page) records[row - 1] = cells;
  }
  return records;
}

// Serial tests run before the others of the file, whose errors would be counted too.
test.serial('the reader makes no error objects for rows of another width', async (t) => {
  const { captureStackTrace } = Error;
  let captured = 0;
  Error.captureStackTrace = (...args) => {
    captured++;
    captureStackTrace(...args);
  };
  t.teardown(() => {
    Error.captureStackTrace = captureStackTrace;
  });
  // The spaces before the quote leave the text to csv-parse.
  const text = '  "Report of May"\n\na,b\nc,d,e\n';
  t.deepEqual(await read(text), [['Report of May'], [''], ['a', 'b'], ['c', 'd', 'e']]);
  t.is(captured, 0);
  await t.throwsAsync(read('"a'));
  t.true(captured > 0);
});

test('a quoted cell may hold delimiters, line ends and doubled quotes', async (t) => {
  t.deepEqual(await read('a,"b,c"\n"d\ne","f""g"\n'), [
    ['a', 'b,c'],
    ['d\ne', 'f"g'],
  ]);
});

test('every kind of line end ends a record, also mixed in one file', async (t) => {
  for (const text of ['a\nb\r\nc\rd', 'a\nb\rc\r\nd', 'a\rb\nc\r\nd']) {
    for (const piece_chars of [1, 2, 3, 4, 100]) {
      t.deepEqual(await read(text, { piece_chars }), [['a'], ['b'], ['c'], ['d']]);
    }
  }
});

test('an empty line counts as a row, and the last line end begins none', async (t) => {
  t.deepEqual(await read('a\n\nb\n'), [['a'], [''], ['b']]);
});

test('without a delimiter each line becomes one cell, without its quotes', async (t) => {
  t.deepEqual(await read('https://a.com/x,y\n"https://a.com/1;2"\n', { delimiter: null }), [
    ['https://a.com/x,y'],
    ['https://a.com/1;2'],
  ]);
});

test('a quote inside a cell is a character, and spaces around a quoted cell are dropped', async (t) => {
  t.deepEqual(await read('5" disk,x\n1, "a,b" ,2\n'), [
    ['5" disk', 'x'],
    ['1', 'a,b', '2'],
  ]);
});

test('a cell that continues after its closing quote keeps its quotes', async (t) => {
  t.deepEqual(await read('1,"Foo" bar,x\n2,"a,b"c,y\n'), [
    ['1', '"Foo" bar', 'x'],
    ['2', '"a,b"c', 'y'],
  ]);
});

test('the error for an unclosed quote names the row that opened it', async (t) => {
  for (const delimiter of [',', null]) {
    const error = await t.throwsAsync<IntakeError>(read('a,1\n\n"b,2\nc,3\n', { delimiter }));
    t.is(error?.code, 'quote_not_closed');
    t.regex(error?.message ?? '', /^Row 3 /);
  }
});

test('an unclosed quote throws at the length limit of a row, before the end of the file', async (t) => {
  let given = 0;
  function* endless(): Generator<string> {
    yield 'a\n"';
    for (;;) yield `url ${++given}\n`;
  }
  const reading = Array.fromAsync(readRecords(endless(), { delimiter: ',', max_row_chars: 1_000 }));
  const error = await t.throwsAsync<IntakeError>(reading);
  t.is(error?.code, 'row_too_long');
  t.regex(error?.message ?? '', /^Row 2 .*close each quote/);
  t.true(given < 250);
});

test('the error for a line over the length limit names the row', async (t) => {
  const error = await t.throwsAsync<IntakeError>(
    read(`a\n${'b'.repeat(2_000)}`, { piece_chars: 100, max_row_chars: 1_000 }),
  );
  t.is(error?.code, 'row_too_long');
  t.regex(error?.message ?? '', /^Row 2 /);
});

test('the reader refuses endless cells in one row, even empty ones', async (t) => {
  const text = `a\n${','.repeat(100_000)}`;
  const error = await t.throwsAsync<IntakeError>(read(text));
  t.is(error?.code, 'row_too_long');
  t.is((await read(text, { max_row_chars: 200_000 }))[1]?.length, 16_384);
});

test('the reader reads records of RFC 4180 as they were written, wherever the text is cut', async (t) => {
  const cell = fc.string({ unit: fc.constantFrom('a', 'é', '.', ' ', ',', ';', '"', '\n', '\r', '\t'), maxLength: 6 });
  // The reader takes this one for a quoted cell with spaces after it, because no URL looks like it.
  const told_apart = cell.filter((text) => !/^".*" +$/s.test(text));
  const quoted = (text: string) => (/["\n\r,]|^\s/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const table = fc.array(fc.array(told_apart, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(
      table,
      fc.constantFrom('\n', '\r\n', '\r'),
      fc.integer({ min: 1, max: 9 }),
      async (rows, eol, piece_chars) => {
        const text = rows.map((cells) => cells.map(quoted).join(',') + eol).join('');
        t.deepEqual(await read(text, { piece_chars }), rows);
      },
    ),
    { numRuns: 1_000 },
  );
});

test('only an unclosed quote makes the reader fail, wherever the text is cut', async (t) => {
  const outcomeOf = (content: string, options?: ReadInPieces) =>
    read(content, options).catch((error) => (error.name === 'IntakeError' ? error.message : error.stack));
  const text = fc.string({ unit: fc.constantFrom('a', ' ', ',', '"', '\n', '\r'), maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(text, fc.integer({ min: 1, max: 7 }), async (content, piece_chars) => {
      const outcome = await outcomeOf(content);
      t.true(Array.isArray(outcome) || /^Row \d+ has a cell that begins with a quote/.test(outcome), String(outcome));
      t.deepEqual(await outcomeOf(content, { piece_chars }), outcome);
    }),
    { numRuns: 2_000 },
  );
});

test('reading a long piece lets other work of the thread run', async (t) => {
  let turns = 0;
  const counting = setInterval(() => turns++, 1);
  t.is((await read('a\n'.repeat(500_000))).length, 500_000);
  clearInterval(counting);
  t.true(turns > 3, `${turns} turns`);
});
