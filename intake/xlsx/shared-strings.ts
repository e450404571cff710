// The table of a workbook's texts, to which cells refer by number. A million strings would take twice the memory, so the
// table keeps UTF-8 in blocks and decodes a text at each `get`. Entries without a text count towards the limit too.
import { strict as assert } from 'node:assert';
import { IntakeError } from '../errors.ts';
import { tooLarge } from '../inflation.ts';
import { readPartWhole } from '../read-part.ts';
import type { ZipPackage } from '../zip-package.ts';
import { MAX_CELL_CHARS, RichText } from './rich-text.ts';

const BLOCK_BYTES = 1024 * 1024;
const MAX_BYTES = 200_000_000;
/** Ten columns of a million different texts. Their offsets and sizes take 80 MB. */
const MAX_TEXTS = 10_000_000;
const PLACES_A_BLOCK = 128 * 1024;

export class SharedStrings {
  readonly #blocks: Buffer[] = [];
  #used_bytes = BLOCK_BYTES;
  /** Offset and size in bytes of each text: two numbers a text. */
  readonly #places: Uint32Array[] = [];
  #count = 0;

  add(text: string): void {
    const size = Buffer.byteLength(text);
    assert(size <= BLOCK_BYTES);
    if (this.#count === MAX_TEXTS) throw tooManyTexts();
    if (this.#count % PLACES_A_BLOCK === 0) this.#places.push(new Uint32Array(PLACES_A_BLOCK * 2));
    if (size > 0) this.#append(text, size);
    this.#count++;
  }

  #append(text: string, size: number): void {
    if (this.#used_bytes + size > BLOCK_BYTES) {
      if (this.#blocks.length * BLOCK_BYTES >= MAX_BYTES) throw tooLarge(MAX_BYTES);
      this.#blocks.push(Buffer.allocUnsafeSlow(BLOCK_BYTES));
      this.#used_bytes = 0;
    }
    const place = (this.#count % PLACES_A_BLOCK) * 2;
    const places = this.#places.at(-1)!;
    places[place] = (this.#blocks.length - 1) * BLOCK_BYTES + this.#used_bytes;
    places[place + 1] = size;
    this.#blocks.at(-1)!.write(text, this.#used_bytes);
    this.#used_bytes += size;
  }

  /** The text of a number; empty for a number that the table does not have. */
  get(index: number): string {
    if (!Number.isInteger(index) || index < 0 || index >= this.#count) return '';
    const places = this.#places[Math.floor(index / PLACES_A_BLOCK)]!;
    const place = (index % PLACES_A_BLOCK) * 2;
    const size = places[place + 1]!;
    if (size === 0) return '';
    const start = places[place]!;
    const offset = start % BLOCK_BYTES;
    return this.#blocks[Math.floor(start / BLOCK_BYTES)]!.toString('utf8', offset, offset + size);
  }
}

const tooManyTexts = () =>
  new IntakeError(
    'inflated_too_large',
    `The workbook holds more than ${MAX_TEXTS.toLocaleString('en')} different texts. Upload its column of URLs alone, ` +
      'or a CSV file.',
  );

/**
 * Reads the table. It cuts a longer text without a URL one character after `max_chars`, so that the intake still sees it as too
 * long; a text with URLs may hold several.
 */
export async function readSharedStrings(
  xlsx: ZipPackage,
  part: string | null,
  max_chars: number,
): Promise<SharedStrings> {
  const strings = new SharedStrings();
  if (part === null) return strings;
  const rich = new RichText(MAX_CELL_CHARS);
  await readPartWhole(xlsx, part, {
    open(name) {
      if (name === 'si') rich.start();
      else rich.open(name);
    },
    text: (text) => rich.text(text),
    close(name) {
      rich.close(name);
      if (name !== 'si') return;
      const text = rich.value();
      strings.add(text.includes('://') ? text : text.slice(0, max_chars + 1));
    },
  });
  return strings;
}
