// The Merkle tree of RFC 9162 (2.1; the same as in RFC 6962) with SHA-256. A leaf's data is the hash of a ledger entry, and the leaves
// stand in the order of the log.
import { hash } from 'node:crypto';

const LEAF = 0;
const NODE = 1;
const HASH_BYTES = 32;

/** The root of a tree without leaves. */
export const EMPTY_ROOT: Buffer = hash('sha256', '', 'buffer');

const leaf_bytes = Buffer.alloc(1 + HASH_BYTES);
leaf_bytes[0] = LEAF;
const node_bytes = Buffer.alloc(1 + 2 * HASH_BYTES);
node_bytes[0] = NODE;

/**
 * The leaf of a ledger entry whose hash is `entry_hash`, in hex.
 * @example leafOf('00') // throws
 */
export function leafOf(entry_hash: string): Buffer {
  if (leaf_bytes.write(entry_hash, 1, 'hex') !== HASH_BYTES) throw new RangeError(`'${entry_hash}' is no SHA-256`);
  return hash('sha256', leaf_bytes, 'buffer');
}

export function nodeOf(left: Uint8Array, right: Uint8Array): Buffer {
  node_bytes.set(left, 1);
  node_bytes.set(right, 1 + HASH_BYTES);
  return hash('sha256', node_bytes, 'buffer');
}

/** A tree that only grows. It holds the roots of its complete subtrees, at most one for each bit of its size. */
export class GrowingTree {
  #size = 0;
  /** By height: the subtree of 2 ** height leaves, where the size has that bit. */
  readonly #roots: (Buffer | undefined)[] = [];

  get size(): number {
    return this.#size;
  }

  /** Adds a leaf. Returns the roots of the complete subtrees that end with it, from the leaf itself up. */
  add(leaf: Buffer): Buffer[] {
    const completed = [leaf];
    let node = leaf;
    let height = 0;
    for (; this.#roots[height] !== undefined; height += 1) {
      node = nodeOf(this.#roots[height]!, node);
      completed.push(node);
      this.#roots[height] = undefined;
    }
    this.#roots[height] = node;
    this.#size += 1;
    return completed;
  }

  root(): Buffer {
    let root: Buffer | null = null;
    for (const subtree of this.#roots) if (subtree) root = root ? nodeOf(subtree, root) : subtree;
    return root ?? EMPTY_ROOT;
  }

  /** The roots of the complete subtrees, in hex, the largest first: all that is needed to go on. */
  frontier(): string[] {
    return this.#roots.flatMap((subtree) => (subtree ? [subtree.toString('hex')] : [])).reverse();
  }

  /** The tree of `size` leaves with this frontier. Throws when their numbers do not fit. */
  static from(size: number, frontier: readonly string[]): GrowingTree {
    const subtrees = subtreesOf({ from: 0, to: size });
    if (subtrees.length !== frontier.length) throw new RangeError(`${frontier.length} roots make no tree of ${size}`);
    const tree = new GrowingTree();
    for (const [n, { height }] of subtrees.entries()) tree.#roots[height] = Buffer.from(frontier[n]!, 'hex');
    tree.#size = size;
    return tree;
  }
}

/** Leaves from `from` (inclusive) to `to` (exclusive). */
export interface Leaves {
  from: number;
  to: number;
}

/** A complete subtree: the `nth` of those with 2 ** height leaves. */
export interface Subtree {
  height: number;
  nth: number;
}

const fullSize = (size: number): number => 2 ** Math.floor(Math.log2(size - 0.5));

/**
 * The leaves under each hash of the proof that leaf `index` is in the tree of `size` leaves, in the order of the proof: RFC 9162, 2.1.3.1.
 * @example inclusionPath(2, 7) // [{ from: 3, to: 4 }, { from: 0, to: 2 }, { from: 4, to: 7 }]
 */
export function inclusionPath(index: number, size: number): Leaves[] {
  assertWithin(index, size - 1);
  const path: Leaves[] = [];
  for (let from = 0, to = size; to - from > 1; ) {
    const middle = from + fullSize(to - from);
    if (index < middle) {
      path.unshift({ from: middle, to });
      to = middle;
    } else {
      path.unshift({ from, to: middle });
      from = middle;
    }
  }
  return path;
}

/**
 * Whether the proof shows that the tree of `size` leaves under `root` has `leaf` at `index`: RFC 9162, 2.1.3.2.
 * @example isIncluded(leafOf('ab'.repeat(32)), 0, 1, [], leafOf('ab'.repeat(32))) // true
 */
export function isIncluded(leaf: Buffer, index: number, size: number, proof: readonly Buffer[], root: Buffer): boolean {
  if (!Number.isSafeInteger(index) || index < 0 || index >= size) return false;
  const path = inclusionPath(index, size);
  if (path.length !== proof.length) return false;
  const made = proof.reduce(
    (node, sibling, n) => (path[n]!.from > index ? nodeOf(node, sibling) : nodeOf(sibling, node)),
    leaf,
  );
  return made.equals(root);
}

/**
 * The same for the proof that the tree of `size` leaves begins with the tree of `first` leaves: RFC 9162, 2.1.4.1.
 * @example consistencyPath(6, 8) // [{ from: 4, to: 6 }, { from: 6, to: 8 }, { from: 0, to: 4 }]
 */
export function consistencyPath(first: number, size: number): Leaves[] {
  assertWithin(first, size);
  if (first === 0 || first === size) return [];
  const path: Leaves[] = [];
  let [from, to] = [0, size];
  while (to !== first) {
    const middle = from + fullSize(to - from);
    if (first <= middle) {
      path.unshift({ from: middle, to });
      to = middle;
    } else {
      path.unshift({ from, to: middle });
      from = middle;
    }
  }
  // The verifier has the hash of the first tree already.
  if (from > 0) path.unshift({ from, to });
  return path;
}

function assertWithin(value: number, most: number): void {
  if (!Number.isSafeInteger(value) || value < 0 || value > most) {
    throw new RangeError(`${value} is not between 0 and ${most}`);
  }
}

/**
 * The complete subtrees that a hash of a proof is made of, the largest first. `from` is a multiple of the largest one's size.
 * @example subtreesOf({ from: 0, to: 6 }) // [{ height: 2, nth: 0 }, { height: 1, nth: 2 }]
 */
export function subtreesOf({ from, to }: Leaves): Subtree[] {
  const subtrees: Subtree[] = [];
  for (let at = from; at < to; ) {
    const height = Math.floor(Math.log2(to - at));
    subtrees.push({ height, nth: at / 2 ** height });
    at += 2 ** height;
  }
  return subtrees;
}

/**
 * The hash over the subtrees of `subtreesOf`.
 * @example joined([leafOf('ab'.repeat(32))]) // leafOf('ab'.repeat(32)): one subtree is the whole
 */
export function joined(roots: readonly Buffer[]): Buffer {
  return roots.reduceRight((right, left) => nodeOf(left, right));
}
