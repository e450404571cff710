// Reads calendars (iCalendar, RFC 5545) and contacts (vCard, RFC 6350): lines that go on behind a line break and a blank, with escapes of their own.
import { isAttempt } from './cell-urls.ts';
import { IntakeError } from './errors.ts';
import { type Cell, listSheet, type OpenedText, type Sheet } from './sheet.ts';
import { pagesOfTexts } from './sliced-texts.ts';
import { readText } from './text-source.ts';

const ESCAPE = /\\([\\;,:nN])/g;
const MAY_HOLD_URL = /:\/\/|www\./i;
const READING = { has_notes: true, takes_names: false };

export function openFoldedLines(file: OpenedText): Sheet {
  return listSheet(file, { format: 'text', warnings: [], cells: () => cellsOf(file) });
}

async function* cellsOf(file: OpenedText): AsyncGenerator<Cell[]> {
  for await (const lines of unfoldedLines(file)) {
    for await (const page of pagesOfTexts(lines, READING)) yield page.filter(({ value }) => isAttempt(value));
  }
}

/** The whole lines with something like a URL, each with the number of its first line in the file. */
async function* unfoldedLines({ source, encoding, limits }: OpenedText): AsyncGenerator<Cell[]> {
  let [row, line_of_file] = [1, 0];
  let line = '';
  let rest = '';
  let page: Cell[] = [];
  const end = () => {
    if (MAY_HOLD_URL.test(line)) page.push({ row, value: line.replace(ESCAPE, unescaped) });
  };
  const take = (text: string) => {
    line_of_file++;
    if (/^[ \t]/.test(text)) line += text.slice(1);
    else {
      end();
      [line, row] = [text, line_of_file];
    }
    if (line.length <= limits.max_row_chars) return;
    throw new IntakeError('row_too_long', `Line ${row} is longer than ${limits.max_row_chars} characters.`);
  };
  for await (const piece of readText(source, encoding)) {
    const lines = (rest + piece).split(/\r?\n/);
    rest = lines.pop()!;
    for (const text of lines) take(text);
    if (line.length + rest.length > limits.max_row_chars) take(rest);
    yield page;
    page = [];
  }
  take(rest);
  end();
  yield page;
}

const unescaped = (_: string, char: string): string => (/n/i.test(char) ? '\n' : char);
