// The table of a workbook's texts, which cells name by number. A million of them would take twice their size as
// strings, so they are kept as UTF-8 in blocks and made into a string when asked for.
import { strict as assert } from 'node:assert';
import { readXmlWhole } from './read-xml.ts';
import { RichText } from './rich-text.ts';
import { tooLarge, type XlsxPackage } from './xlsx-package.ts';

const BLOCK_BYTES = 1024 * 1024;
const MAX_BYTES = 200_000_000;
/** What a cell of Excel can hold. */
const MAX_TEXT_CHARS = 32_767;

export class SharedStrings {
  readonly #blocks: Buffer[] = [];
  #used_bytes = BLOCK_BYTES;
  /** Where each text begins and how many bytes it has, two numbers a text. */
  #places = new Uint32Array(1024);
  #count = 0;

  add(text: string): void {
    const size = Buffer.byteLength(text);
    assert(size <= BLOCK_BYTES);
    if (this.#used_bytes + size > BLOCK_BYTES) {
      if (this.#blocks.length * BLOCK_BYTES >= MAX_BYTES) throw tooLarge(MAX_BYTES);
      this.#blocks.push(Buffer.allocUnsafeSlow(BLOCK_BYTES));
      this.#used_bytes = 0;
    }
    if (this.#count * 2 === this.#places.length) {
      const larger = new Uint32Array(this.#places.length * 2);
      larger.set(this.#places);
      this.#places = larger;
    }
    this.#places[this.#count * 2] = (this.#blocks.length - 1) * BLOCK_BYTES + this.#used_bytes;
    this.#places[this.#count * 2 + 1] = size;
    this.#blocks.at(-1)!.write(text, this.#used_bytes);
    this.#used_bytes += size;
    this.#count++;
  }

  /** Empty for a number that the table does not have. */
  get(index: number): string {
    if (!Number.isInteger(index) || index < 0 || index >= this.#count) return '';
    const start = this.#places[index * 2]!;
    const offset = start % BLOCK_BYTES;
    const block = this.#blocks[Math.floor(start / BLOCK_BYTES)]!;
    return block.toString('utf8', offset, offset + this.#places[index * 2 + 1]!);
  }
}

/** Texts longer than `max_chars` are cut one character after it: they are not URLs, and are still seen to be too long. */
export async function readSharedStrings(
  xlsx: XlsxPackage,
  part: string | null,
  max_chars: number,
): Promise<SharedStrings> {
  const strings = new SharedStrings();
  if (part === null) return strings;
  const rich = new RichText(Math.min(max_chars, MAX_TEXT_CHARS));
  await readXmlWhole(xlsx, part, {
    open(name) {
      if (name === 'si') rich.start();
      else rich.open(name);
    },
    text: (text) => rich.text(text),
    close(name) {
      rich.close(name);
      if (name === 'si') strings.add(rich.value());
    },
  });
  return strings;
}
