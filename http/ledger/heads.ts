// The signed heads of the ledger's Merkle tree, and proofs from it.

import { consistencyPath, EMPTY_ROOT, inclusionPath, joined, type Leaves, subtreesOf } from '../../audit/merkle.ts';
import { type CreditsEvent, hashedEntry } from '../../events/credits.ts';
import type { RecordedEvent } from '../../events/event-store.ts';
import { inWords, Type } from '../../events/schema.ts';
import { creditsStream } from '../../events/streams.ts';
import {
  type HeadDocument,
  indexOfLeaf,
  type LeafDocument,
  leafEntry,
  leafId,
  ledgerHeads,
  ledgerLeaves,
  ledgerTree,
  TREE_ID,
} from '../../readmodels/ledger-tree.ts';
import { pageOf } from '../../readmodels/pages.ts';
import type { LiveCollection } from '../../readmodels/read-models.ts';
import { GATEWAY } from '../apis/gateway.ts';
import { HttpError } from '../frame/errors.ts';
import { anError, asThrown, routeOf } from '../frame/route.ts';
import { listOf, listReply, Time } from '../frame/schemas.ts';
import { groupOf, type Parts } from '../group.ts';
import { paging } from '../results/result-view.ts';

const wire = ({ read, log }: Parts) => {
  const collections = read({ leaves: ledgerLeaves, tree: ledgerTree, heads: ledgerHeads });
  return { read: collections, proofs: openLedgerProofs(collections.leaves), log };
};
type Deps = ReturnType<typeof wire>;
const route = routeOf<Deps>(GATEWAY, 'audit');

const MAX_SIZE = Number.MAX_SAFE_INTEGER;
const HASH = '5f3c1d0e9a7b2c4d6e8f0a1b3c5d7e9f5f3c1d0e9a7b2c4d6e8f0a1b3c5d7e9f';
const Size = (description: string) => Type.Integer({ minimum: 0, maximum: MAX_SIZE, description });
const Sha256 = (description: string) =>
  Type.String({
    pattern: inWords('^[0-9a-f]{64}$', 'must be a SHA-256 in hexadecimal: 64 of 0 to 9 and a to f'),
    description,
  });
const Proof = Type.Array(Type.String(), {
  description: 'The hashes of the proof in their order, each SHA-256 in hex.',
});

const Head = Type.Object(
  {
    tree_size: Size('The number of ledger entries, in the order of the log, that the head is of.'),
    root_hash: Sha256('The root of their Merkle tree.'),
    billing: Type.Optional(
      Type.Object(
        {
          size: Size('The number of events of payments and subscriptions, in the order of the log.'),
          root_hash: Sha256('The root of their Merkle tree.'),
        },
        { description: 'The tree of payments and subscriptions. Heads of earlier services lack it.' },
      ),
    ),
    last_position: Type.String({ description: "The last entry's position in the log." }),
    signed_at: Time(),
    note: Type.String({ description: 'The signed note: a checkpoint as in c2sp.org/tlog-checkpoint. Keep it.' }),
    verifier: Type.String({ description: 'The public key that verifies it, as in c2sp.org/signed-note.' }),
  },
  { $id: 'LedgerHead' },
);
const ORIGIN = 'url-checker-ledger/2f1c9f2e-5d0c-4b7b-9a43-0c5c5f4b7d11';
const headExample = {
  tree_size: 1204,
  root_hash: HASH,
  billing: { size: 86, root_hash: HASH },
  last_position: '0000000000009321',
  signed_at: '2026-01-31T09:00:00.000Z',
  note: `${ORIGIN}\n1204\nXzwdDpp7LE1ujwobPF1+n188HQ6aeyxNbo8KGzxdfp8=\nsigned at 2026-01-31T09:00:00.000Z\nbilling 86 XzwdDpp7LE1ujwobPF1+n188HQ6aeyxNbo8KGzxdfp8=\n\n— ${ORIGIN} 5kX1xQ==\n`,
  verifier: `${ORIGIN}+e645f5c5+AWsX`,
};
const headView = ({ _id, ...head }: HeadDocument) => head;

const listHeads = route({
  id: 'listLedgerHeads',
  method: 'GET',
  path: '/audit/heads',
  access: 'none',
  summary: 'List the signed heads of the ledger, the newest first',
  description:
    'A head commits the service to every entry before it. Whoever keeps one can prove later that nothing before it was changed: see ' +
    '`GET /audit/consistency`. It tells how many entries there are, and nothing about anybody.',
  query: Type.Object(paging(20)),
  responses: { 200: listOf('A page of heads.', Head, headExample, 20) },
  handler: async ({ query }, { read }) => listReply(await pageOf(read.heads, {}, { _id: -1 }, query), headView, query),
});

const NO_SUCH_SIZE = anError('The tree is smaller.', 'size_too_large', 'The ledger has 1204 entries.');

async function sizeWithin(given: number | undefined, { read }: Deps): Promise<number> {
  const size = (await read.tree.get(TREE_ID))?.size ?? 0;
  if (given === undefined) return size;
  if (given > size) throw new HttpError(409, 'size_too_large', `The ledger has ${size} entries.`);
  return given;
}

const consistency = route({
  id: 'getLedgerConsistency',
  method: 'GET',
  path: '/audit/consistency',
  access: 'none',
  summary: 'Prove that the ledger of one size begins with that of another',
  description: 'The proof is that of RFC 9162, 2.1.4. Both sizes may be of any heads, kept or listed.',
  query: Type.Object({
    first: Type.Integer({
      minimum: 0,
      maximum: MAX_SIZE,
      description: 'The size of the earlier tree.',
      examples: [1000],
    }),
    second: Type.Optional({ ...Size('The size of the later tree. Default: all entries.'), examples: [1204] }),
  }),
  responses: {
    200: {
      description: 'The proof.',
      schema: Type.Object({
        first: Size('The size of the earlier tree.'),
        second: Size('The size of the later tree.'),
        first_root_hash: Sha256('The root of the earlier tree, as it is computed now.'),
        second_root_hash: Sha256('The root of the later tree.'),
        proof: Proof,
      }),
      example: { first: 1000, second: 1204, first_root_hash: HASH, second_root_hash: HASH, proof: [HASH] },
    },
  },
  errors: { 409: NO_SUCH_SIZE },
  async handler({ query }, deps) {
    const second = await sizeWithin(query.second, deps);
    const { first } = query;
    if (first > second) throw new HttpError(409, 'size_too_large', `The later tree has ${second} entries.`);
    const { proofs } = deps;
    const [first_root_hash, second_root_hash, proof] = await Promise.all([
      proofs.root(first),
      proofs.root(second),
      proofs.consistency(first, second),
    ]);
    return { body: { first, second, first_root_hash, second_root_hash, proof } };
  },
});

const noTransaction = () => new HttpError(404, 'transaction_not_found', 'There is no such transaction.');

const inclusion = route({
  id: 'getLedgerInclusion',
  method: 'GET',
  path: '/audit/inclusion',
  access: 'user',
  summary: 'Prove that one of your credit transactions is in the ledger',
  description:
    'The proof is that of RFC 9162, 2.1.3. `entry_hash` is SHA-256 over the canonical JSON (RFC 8785) of `entry`; the leaf is SHA-256 over ' +
    'a zero byte and the bytes of that hash. An administrator may ask for any user.',
  query: Type.Object({
    transaction_id: Type.String({
      minLength: 1,
      maxLength: 500,
      description: 'The transaction, as `GET /users/me/credit-transactions` lists it.',
      examples: ['signup_bonus:alice'],
    }),
    size: Type.Optional({
      ...Size('The size of the tree, such as of a head. Default: all entries.'),
      examples: [1204],
    }),
    user_id: Type.Optional(
      Type.String({ minLength: 1, maxLength: 200, description: 'The user. Default: you.', examples: ['alice'] }),
    ),
  }),
  responses: {
    200: {
      description: 'The proof.',
      schema: Type.Object({
        tree_size: Size('The size of the tree.'),
        root_hash: Sha256('Its root.'),
        leaf_index: Size('The place of the entry in it, from 0.'),
        entry_hash: Sha256("The entry's hash."),
        entry: Type.Object({}, { description: 'What the hash is of.', additionalProperties: true }),
        proof: Proof,
      }),
      example: {
        tree_size: 1204,
        root_hash: HASH,
        leaf_index: 17,
        entry_hash: HASH,
        entry: { previous: '', stream: 'credits-alice', revision: 0, type: 'CreditsGranted' },
        proof: [HASH],
      },
    },
  },
  errors: {
    403: anError(
      'The transaction belongs to another user.',
      'forbidden',
      'Only administrators may ask for other users.',
    ),
    404: asThrown('There is no such transaction.', noTransaction()),
    409: NO_SUCH_SIZE,
  },
  async handler({ caller, query }, deps) {
    const { user_id = caller.user_id, transaction_id } = query;
    if (user_id !== caller.user_id && !caller.is_admin) {
      throw new HttpError(403, 'forbidden', 'Only administrators may ask for other users.');
    }
    const tree_size = await sizeWithin(query.size, deps);
    const { read, proofs, log } = deps;
    const [leaf] = await read.leaves.find({ entry: leafEntry(user_id, transaction_id) }, { limit: 1 });
    if (!leaf) throw noTransaction();
    const leaf_index = indexOfLeaf(leaf._id);
    if (leaf_index >= tree_size) {
      throw new HttpError(
        409,
        'size_too_large',
        `The transaction is entry ${leaf_index}, after the first ${tree_size}.`,
      );
    }
    const { revision } = leaf;
    const from = Math.max(0, revision - 1);
    const entries = await Array.fromAsync(log.readStream(creditsStream(user_id), { from, limit: 2 }));
    const entry = entries.find((each) => each.revision === revision)!;
    const before = entries.find((each) => each.revision === revision - 1);
    const [root_hash, proof] = await Promise.all([proofs.root(tree_size), proofs.inclusion(leaf_index, tree_size)]);
    const { hash: entry_hash } = (entry as unknown as CreditsEvent).data;
    return { body: { tree_size, root_hash, leaf_index, entry_hash, entry: hashedOf(entry, before), proof } };
  },
});

const hashedOf = (entry: RecordedEvent, before: RecordedEvent | undefined) =>
  hashedEntry((before as unknown as CreditsEvent | undefined)?.data.hash ?? '', entry);

export const group = groupOf(wire, [listHeads, consistency, inclusion]);

// Proofs of the ledger's Merkle tree, from the nodes that the read model keeps.

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

export function openLedgerProofs(leaves: Pick<LiveCollection<LeafDocument>, 'getMany'>) {
  const hex = async (ranges: readonly Leaves[]) => (await hashesOf(leaves, ranges)).map((each) => each.toString('hex'));
  return {
    /** In hex. */
    root: async (size: number): Promise<string> =>
      size === 0 ? EMPTY_ROOT.toString('hex') : (await hex([{ from: 0, to: size }]))[0]!,
    inclusion: (index: number, size: number) => hex(inclusionPath(index, size)),
    consistency: (first: number, size: number) => hex(consistencyPath(first, size)),
  };
}
