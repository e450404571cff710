// Assembles the text of a cell or shared string from its runs, without the phonetic runs of East Asian scripts.

/** Excel's escape, such as `_x000D_`, for characters that XML cannot hold and for texts that look like an escape. */
const ESCAPE = /_x([0-9a-fA-F]{4})_/g;

/** Excel's limit on the text of a cell, which may hold several URLs. */
export const MAX_CELL_CHARS = 32_767;

export class RichText {
  readonly #max_chars: number;
  #value = '';
  #in_text = false;
  #in_phonetic = false;

  constructor(max_chars: number) {
    this.#max_chars = max_chars;
  }

  start(): void {
    this.#value = '';
    this.#in_text = this.#in_phonetic = false;
  }

  open(name: string): void {
    if (name === 't') this.#in_text = !this.#in_phonetic;
    else if (name === 'rPh') this.#in_phonetic = true;
  }

  close(name: string): void {
    if (name === 't') this.#in_text = false;
    else if (name === 'rPh') this.#in_phonetic = false;
  }

  text(text: string): void {
    if (this.#in_text && this.#value.length <= this.#max_chars) this.#value += text;
  }

  /** The text, cut one character after the limit. */
  value(): string {
    const text = this.#value.includes('_x')
      ? this.#value.replace(ESCAPE, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
      : this.#value;
    return text.slice(0, this.#max_chars + 1);
  }
}
