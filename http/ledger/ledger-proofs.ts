// Proofs of the ledger's Merkle tree, from the nodes that the read model keeps.
import { consistencyPath, EMPTY_ROOT, inclusionPath, joined, type Leaves, subtreesOf } from '../../audit/merkle.ts';
import { type LeafDocument, leafId } from '../../readmodels/ledger-tree.ts';
import type { LiveCollection } from '../../readmodels/read-models.ts';

/** The hash over each of these ranges of leaves, which the tree must have. One read of at most some thousand documents. */
async function hashesOf(
  leaves: Pick<LiveCollection<LeafDocument>, 'getMany'>,
  ranges: readonly Leaves[],
): Promise<Buffer[]> {
  const subtrees = ranges.map(subtreesOf);
  const lastOf = ({ height, nth }: { height: number; nth: number }) => leafId((nth + 1) * 2 ** height - 1);
  const found = await leaves.getMany([...new Set(subtrees.flat().map(lastOf))]);
  const by_id = new Map(found.map((leaf) => [leaf._id, leaf]));
  return subtrees.map((each) =>
    joined(each.map((subtree) => Buffer.from(by_id.get(lastOf(subtree))!.hashes[subtree.height]!, 'hex'))),
  );
}

export interface LedgerProofs {
  /** In hex. */
  root(size: number): Promise<string>;
  inclusion(index: number, size: number): Promise<string[]>;
  consistency(first: number, size: number): Promise<string[]>;
}

export function openLedgerProofs(leaves: Pick<LiveCollection<LeafDocument>, 'getMany'>): LedgerProofs {
  const hex = async (ranges: readonly Leaves[]) => (await hashesOf(leaves, ranges)).map((each) => each.toString('hex'));
  return {
    root: async (size) => (size === 0 ? EMPTY_ROOT.toString('hex') : (await hex([{ from: 0, to: size }]))[0]!),
    inclusion: (index, size) => hex(inclusionPath(index, size)),
    consistency: (first, size) => hex(consistencyPath(first, size)),
  };
}
