// Reads pages one item at a time, with a look at the next item.

/** `peek` is the next item, undefined before the first `fill` and at the end. Most calls of `fill` are done at once. */
export class Ahead<Item> {
  readonly #pages: AsyncIterator<readonly Item[]>;
  #page: readonly Item[] = [];
  #at = 0;
  #is_end = false;

  constructor(pages: AsyncIterable<readonly Item[]>) {
    this.#pages = pages[Symbol.asyncIterator]();
  }

  get peek(): Item | undefined {
    return this.#page[this.#at];
  }

  take(): Item {
    return this.#page[this.#at++]!;
  }

  /** Makes sure that `peek` has the next item; undefined when it has. */
  fill(): Promise<void> | undefined {
    return this.#at < this.#page.length || this.#is_end ? undefined : this.#next();
  }

  async #next(): Promise<void> {
    while (this.#at === this.#page.length && !this.#is_end) {
      const { done, value } = await this.#pages.next();
      this.#is_end = done === true;
      [this.#page, this.#at] = [done ? [] : value, 0];
    }
  }

  async close(): Promise<void> {
    await this.#pages.return?.();
  }
}
