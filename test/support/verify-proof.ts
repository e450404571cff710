// Verifies proofs of the ledger's Merkle tree, as a client does.
import { consistencyPath, EMPTY_ROOT, nodeOf } from '../../audit/merkle.ts';

export { isIncluded } from '../../audit/merkle.ts';

/** Whether the proof shows that the tree of `size` leaves begins with the one of `first` leaves: RFC 9162, 2.1.4.2. */
export function isConsistent(
  { size: first, root: first_root }: { size: number; root: Buffer },
  { size, root }: { size: number; root: Buffer },
  proof: readonly Buffer[],
): boolean {
  if (first > size) return false;
  if (first === size) return proof.length === 0 && first_root.equals(root);
  if (first === 0) return proof.length === 0 && first_root.equals(EMPTY_ROOT);
  const path = consistencyPath(first, size);
  if (path.length !== proof.length) return false;
  // Without it, the first tree is a complete subtree of the other one, and its root is the first hash.
  const is_given = path[0]!.to === first && path[0]!.from > 0;
  const rest = is_given ? proof.slice(1) : proof;
  const leaves = is_given ? path.slice(1) : path;
  let old = is_given ? proof[0]! : first_root;
  let made = old;
  for (const [n, sibling] of rest.entries()) {
    if (leaves[n]!.from >= first) made = nodeOf(made, sibling);
    else {
      old = nodeOf(sibling, old);
      made = nodeOf(sibling, made);
    }
  }
  return old.equals(first_root) && made.equals(root);
}
