// Proofs of the ledger's Merkle tree, made from the entries alone: each hash of a proof is the root over a range of leaves, so that one pass
// makes all of them, in memory that does not grow.
import { consistencyPath, GrowingTree, inclusionPath, type Leaves } from './merkle.ts';
import { type LedgerSource, leafOfEntry } from './source.ts';

/** The ledger is smaller than the tree that is asked for. */
class TreeTooSmall extends Error {
  readonly code = 'tree_too_small';
}

async function* leavesOf(source: LedgerSource): AsyncGenerator<Buffer> {
  for await (const event of source.events(['credits'], null)) yield leafOfEntry(event);
}

/** The root over each range, in hex. */
async function rootsOf(source: LedgerSource, ranges: readonly Leaves[]): Promise<string[]> {
  const trees = ranges.map((range) => ({ range, tree: new GrowingTree() }));
  const end = Math.max(0, ...ranges.map(({ to }) => to));
  let index = 0;
  if (end > 0) {
    for await (const leaf of leavesOf(source)) {
      for (const { range, tree } of trees) if (index >= range.from && index < range.to) tree.add(leaf);
      index += 1;
      if (index === end) break;
    }
  }
  if (index < end) throw new TreeTooSmall(`the ledger has ${index} entries, not ${end}`);
  return trees.map(({ tree }) => tree.root().toString('hex'));
}

export async function sizeOf(source: LedgerSource): Promise<number> {
  let size = 0;
  for await (const _ of source.events(['credits'], null)) size += 1;
  return size;
}

/** The roots of the trees of `first` and `second` entries, and the proof that one begins with the other. */
export async function proveConsistency(source: LedgerSource, first: number, second: number) {
  const whole = [first, second].map((to) => ({ from: 0, to }));
  const [first_root_hash, second_root_hash, ...proof] = await rootsOf(source, [
    ...whole,
    ...consistencyPath(first, second),
  ]);
  return { first, second, first_root_hash: first_root_hash!, second_root_hash: second_root_hash!, proof };
}

/** The proof that the entry with this index is in the tree of `tree_size` entries, and the root of the tree. */
export async function proveInclusion(source: LedgerSource, leaf_index: number, tree_size: number) {
  const path = inclusionPath(leaf_index, tree_size);
  const [root_hash, ...proof] = await rootsOf(source, [{ from: 0, to: tree_size }, ...path]);
  return { tree_size, root_hash: root_hash!, leaf_index, proof };
}
