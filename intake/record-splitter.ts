// Delimited text to records, a piece at a time: RFC 4180 with every line end, any delimiter or none, and no way to
// fail on what people upload. It cuts out one column and skips over the rest, five times as fast as a parser that makes
// all cells of all rows; test/intake/record-splitter.test.ts holds it against csv-parse.
import { IntakeError } from './errors.ts';

export interface SplitOptions {
  /** One character; null where each line is one cell. */
  delimiter: string | null;
  /** The only column to cut out; null for all. */
  column: number | null;
  max_row_chars: number;
}

/** `cells` has every cell, or the one of the column: none when the record does not reach to it. */
export type OnRecord = (row: number, cells: string[]) => void;

/** Cells that a row can have, as in a spreadsheet; what is to the right of them is not looked at. */
const MAX_COLUMNS = 16_384;
const NOT_ENDED = -1;
const NOT_SEARCHED = -1;
const QUOTE = 34;
const SPACE = 32;

export class RecordSplitter {
  readonly #options: SplitOptions;
  readonly #on_record: OnRecord;
  #text = '';
  #row = 0;
  #last = false;
  #cells: string[] = [];
  /** Where each of these characters is next: looking again at every record would read a text without it to its end. */
  #next_lf = NOT_SEARCHED;
  #next_cr = NOT_SEARCHED;
  #next_quote = NOT_SEARCHED;
  #next_delimiter = NOT_SEARCHED;

  constructor(options: SplitOptions, on_record: OnRecord) {
    this.#options = options;
    this.#on_record = on_record;
  }

  /** Calls `on_record` for each record that ends in the text so far. Rows count from 1. */
  push(piece: string): void {
    this.#start(this.#text + piece);
    this.#split();
    if (this.#text.length > this.#options.max_row_chars) {
      throw new IntakeError(
        'row_too_long',
        `Row ${this.#row + 1} is longer than ${this.#options.max_row_chars} characters. ` +
          'Put each URL on a line of its own, or in a row of a CSV file.',
      );
    }
  }

  /** The text has ended: what is left is the last record. */
  end(): void {
    this.#last = true;
    this.#start(this.#text);
    this.#split();
  }

  #start(text: string): void {
    this.#text = text;
    this.#next_lf = this.#next_cr = this.#next_quote = this.#next_delimiter = NOT_SEARCHED;
  }

  #split(): void {
    let at = 0;
    while (at < this.#text.length) {
      this.#cells = [];
      const next = this.#record(at);
      if (next === NOT_ENDED) break;
      this.#row++;
      this.#on_record(this.#row, this.#cells);
      at = next;
    }
    this.#text = this.#text.slice(at);
  }

  /** Takes the record at `start` apart. Where the next one begins, or NOT_ENDED. */
  #record(start: number): number {
    const line_end = this.#lineEnd(start);
    this.#next_quote = this.#seek('"', this.#next_quote, start);
    const end = line_end === NOT_ENDED ? this.#text.length : line_end;
    if (this.#next_quote >= end) {
      if (line_end === NOT_ENDED && !this.#last) return NOT_ENDED;
      this.#plainCells(start, end);
      return this.#afterLineEnd(end);
    }
    return this.#quotedRecord(start);
  }

  #plainCells(start: number, end: number): void {
    const { column } = this.#options;
    let index = 0;
    let from = start;
    for (;;) {
      const to = Math.min(end, this.#delimiterAfter(from));
      if (column === null || column === index) this.#cells.push(this.#text.slice(from, to));
      if (to === end || column === index || index === MAX_COLUMNS) return;
      from = to + 1;
      index++;
    }
  }

  /** A record with a quote somewhere in it: it ends at the first line end outside of a quoted cell. */
  #quotedRecord(start: number): number {
    const { delimiter, column } = this.#options;
    const text = this.#text;
    let index = 0;
    let from = start;
    for (;;) {
      let opening = from;
      while (text.charCodeAt(opening) === SPACE) opening++;
      let value: string | null = null;
      let to = from;
      if (text.charCodeAt(opening) === QUOTE) {
        const closing = this.#closingQuote(opening);
        if (closing === NOT_ENDED && !this.#last && text.length - start <= this.#options.max_row_chars)
          return NOT_ENDED;
        if (closing !== NOT_ENDED) {
          to = closing + 1;
          value = text.slice(opening + 1, closing).replaceAll('""', '"');
        }
        // Else it is never closed: the quote is a character like any other, and spoils this one cell alone.
      }
      const rest = to;
      to = this.#cellEnd(to);
      if (to === text.length && !this.#last) return NOT_ENDED;
      if ((column === null || column === index) && index <= MAX_COLUMNS) {
        this.#cells.push(value === null ? text.slice(from, to) : value + text.slice(rest, to).trimEnd());
      }
      if (to === text.length || text[to] !== delimiter) return this.#afterLineEnd(to);
      from = to + 1;
      index++;
    }
  }

  #closingQuote(opening: number): number {
    for (let at = opening + 1; ; at += 2) {
      at = this.#text.indexOf('"', at);
      if (at === -1) return NOT_ENDED;
      if (this.#text.charCodeAt(at + 1) !== QUOTE) {
        // At the end of the piece it may be the first half of a doubled one.
        return at + 1 === this.#text.length && !this.#last ? NOT_ENDED : at;
      }
    }
  }

  /** The next delimiter, line end or the end of the text. */
  #cellEnd(from: number): number {
    const line_end = this.#lineEnd(from);
    return Math.min(line_end === NOT_ENDED ? this.#text.length : line_end, this.#delimiterAfter(from));
  }

  #delimiterAfter(from: number): number {
    const { delimiter } = this.#options;
    if (delimiter === null) return Number.POSITIVE_INFINITY;
    this.#next_delimiter = this.#seek(delimiter, this.#next_delimiter, from);
    return this.#next_delimiter;
  }

  /** Of the line that `from` is on; NOT_ENDED when the text has no more line end, or may have half of one. */
  #lineEnd(from: number): number {
    this.#next_lf = this.#seek('\n', this.#next_lf, from);
    this.#next_cr = this.#seek('\r', this.#next_cr, from);
    const at = Math.min(this.#next_lf, this.#next_cr);
    if (at === Number.POSITIVE_INFINITY) return NOT_ENDED;
    return at === this.#next_cr && at + 1 === this.#text.length && !this.#last ? NOT_ENDED : at;
  }

  #afterLineEnd(at: number): number {
    return this.#text[at] === '\r' && this.#text[at + 1] === '\n' ? at + 2 : Math.min(at + 1, this.#text.length);
  }

  #seek(character: string, known: number, from: number): number {
    if (known >= from) return known;
    const found = this.#text.indexOf(character, from);
    return found === -1 ? Number.POSITIVE_INFINITY : found;
  }
}
