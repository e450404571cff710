// The stream `ledger_heads-log`: the signed heads of the Merkle tree over all entries of all ledgers, and of the one over payments and subscriptions.
import { type DataOf, type EventsOf, event } from './event-spec.ts';
import { Type } from './schema.ts';

const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' });

export const LEDGER_HEADS_EVENTS = {
  LedgerHeadSigned: event({
    /** The number of entries, in the order of the log, that the head is of. */
    tree_size: Type.Integer({ minimum: 1 }),
    root_hash: Sha256,
    /** The position of the last of them, in the log as it was then. */
    last_position: Type.String(),
    /** The roots of the tree's complete subtrees, the largest first: with the later entries they make every later root. */
    frontier: Type.Array(Sha256),
    /** The same of the tree over the events of payments and subscriptions. Heads of earlier services lack it. */
    billing: Type.Optional(
      Type.Object({ size: Type.Integer({ minimum: 0 }), root_hash: Sha256, frontier: Type.Array(Sha256) }),
    ),
    /** The signed note: a checkpoint as in c2sp.org/tlog-checkpoint. */
    note: Type.String(),
    /** The public key as in c2sp.org/signed-note. */
    verifier: Type.String(),
    signed_at: Type.String({ format: 'date-time' }),
  }),
};
export type LedgerHeadSigned = DataOf<typeof LEDGER_HEADS_EVENTS.LedgerHeadSigned>;
export type LedgerHeadsEvent = EventsOf<typeof LEDGER_HEADS_EVENTS>;

/** The name of a log in the heads of its ledger. */
export const originOf = (log_id: string): string => `url-checker-ledger/${log_id}`;
