// The read models of the ledger's Merkle tree: its leaves with the nodes above them, and its signed heads.
import { type Document, kept, type ReadModelSpec, readById } from './documents.ts';

/** A ledger entry as a leaf. `_id` is of its index: `leafId`. */
export interface LeafDocument extends Document {
  /** Of the user and the transaction: `leafEntry`. */
  entry: string;
  revision: number;
  /** In hex: of the leaf, and of each complete subtree that ends with it, from the smallest up. */
  hashes: string[];
}

export const ledgerLeaves: ReadModelSpec<LeafDocument> = {
  name: 'ledger_leaves',
  ...kept('350 an entry', 'never', 'none'),
  fields: { entry: 'string' },
  indexes: [{ fields: { entry: 1 } }],
};

const DIGITS = 16;
export const leafId = (index: number): string => String(index).padStart(DIGITS, '0');
export const indexOfLeaf = (id: string): number => Number(id);
export const leafEntry = (user_id: string, transaction_id: string): string => JSON.stringify([user_id, transaction_id]);

/** One document: where the tree grows on. */
export interface TreeDocument extends Document {
  size: number;
  /** See `GrowingTree.frontier`. */
  frontier: string[];
}
export const ledgerTree = readById<TreeDocument>('ledger_tree', kept('1 kB', 'never', 'none'));
export const TREE_ID = 'tree';

/** A signed head. `_id`: `headId`. */
export interface HeadDocument extends Document {
  tree_size: number;
  root_hash: string;
  last_position: string;
  /** The tree of payments and subscriptions. Heads of earlier services lack it. */
  billing?: { size: number; root_hash: string };
  note: string;
  verifier: string;
  signed_at: string;
}

/** Of the sizes of both trees: of two heads, the later one has the greater id. */
export const headId = (tree_size: number, billing_size: number | undefined): string =>
  billing_size === undefined ? leafId(tree_size) : `${leafId(tree_size)}.${leafId(billing_size)}`;

export const ledgerHeads: ReadModelSpec<HeadDocument> = {
  name: 'ledger_heads',
  ...kept('1 kB a signed head', 'never', 'none'),
  fields: { tree_size: 'number' },
  indexes: [{ fields: { tree_size: -1 } }],
};
