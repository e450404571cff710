// The read models of the ledger's Merkle tree. A node is kept with the leaf that completes it, so that no document changes later.
import { GrowingTree, leafOf } from '../../audit/merkle.ts';
import { idOf } from '../../events/streams.ts';
import type { EventTypeOf, LogEvent } from '../../events/vocabulary.ts';
import {
  type HeadDocument,
  headId,
  type LeafDocument,
  leafEntry,
  leafId,
  ledgerHeads,
  ledgerLeaves,
  ledgerTree,
  TREE_ID,
} from '../../readmodels/ledger-tree.ts';
import { handlersOf, type Projection, projection } from '../projection.ts';
import { replaceAll } from '../slices.ts';

interface Page {
  tree: GrowingTree;
  leaves: LeafDocument[];
  heads: HeadDocument[];
}

export const ledgerTreeProjection: Projection = projection({
  name: 'ledger_tree',
  version: 2,
  collections: [ledgerLeaves, ledgerTree, ledgerHeads],
  covers: ['credits', 'ledger_heads'],
  async begin(open): Promise<Page> {
    const stored = await (await open(ledgerTree)).get(TREE_ID);
    const tree = stored ? GrowingTree.from(stored.size, stored.frontier) : new GrowingTree();
    return { tree, leaves: [], heads: [] };
  },
  on: {
    ...handlersOf('credits', grow),
    LedgerHeadSigned({ data: { frontier: _, billing, ...head } }, { heads }) {
      const of_billing = billing && { billing: { size: billing.size, root_hash: billing.root_hash } };
      heads.push({ _id: headId(head.tree_size, billing?.size), ...head, ...of_billing });
    },
  },
  async end({ tree, leaves, heads }, open) {
    await replaceAll(await open(ledgerLeaves), leaves);
    if (leaves.length > 0) {
      const grown = { _id: TREE_ID, size: tree.size, frontier: tree.frontier() };
      await (await open(ledgerTree)).write([{ replace: grown }]);
    }
    await replaceAll(await open(ledgerHeads), heads);
  },
});

function grow({ stream, revision, data }: LogEvent<EventTypeOf<'credits'>>, { tree, leaves }: Page): void {
  const _id = leafId(tree.size);
  const hashes = tree.add(leafOf(data.hash)).map((node) => node.toString('hex'));
  leaves.push({ _id, entry: leafEntry(idOf(stream), data.transaction_id), revision, hashes });
}
