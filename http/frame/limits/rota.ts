// Items that take turns by the names of their owners: one name after the other, and of those below a name one after the other.

export class Rota<Item> {
  #items: Item[] = [];
  readonly #others = new Map<string, Rota<Item>>();

  /** `names` are those of the owner, from the widest. */
  add(names: readonly string[], item: Item, depth = 0): void {
    const name = names[depth];
    if (name === undefined) {
      this.#items.push(item);
      return;
    }
    let others = this.#others.get(name);
    if (!others) this.#others.set(name, (others = new Rota()));
    others.add(names, item, depth + 1);
  }

  /** Removes and returns the next item that may go. The turn of its owners passes. Items that are `over` are removed on the way. */
  next(mayGo: (item: Item) => boolean, isOver: (item: Item) => boolean): Item | null {
    while (this.#items.length > 0 && isOver(this.#items[0]!)) this.#items.shift();
    const [first] = this.#items;
    if (first !== undefined && mayGo(first)) return this.#items.shift()!;
    for (const [name, others] of this.#others) {
      const item = others.next(mayGo, isOver);
      if (others.isEmpty || item !== null) this.#others.delete(name);
      if (item === null) continue;
      if (!others.isEmpty) this.#others.set(name, others);
      return item;
    }
    return null;
  }

  get isEmpty(): boolean {
    return this.#items.length === 0 && this.#others.size === 0;
  }
}
