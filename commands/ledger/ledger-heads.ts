// The aggregate of signed heads: each is of more than the one before.
import type { NoteSigner } from '../../audit/signed-note.ts';
import { checkpointText } from '../../audit/signed-note.ts';
import type { EventStore } from '../../events/event-store.ts';
import type { LedgerHeadSigned, LedgerHeadsEvent } from '../../events/ledger-head.ts';
import { LEDGER_HEADS_STREAM } from '../../events/streams.ts';
import { type CommandContext, type Decision, evolveBy, openAggregate } from '../aggregate.ts';
import { fromLastEvent } from '../stream-states.ts';

export interface Heads {
  last: LedgerHeadSigned | null;
}

export const initial = (): Heads => ({ last: null });
export const evolve = evolveBy<Heads, LedgerHeadsEvent>({ LedgerHeadSigned: (_, last) => ({ last }) });

const billed = ({ billing }: LedgerHeadSigned): number => billing?.size ?? 0;

/** A head of no more than the last one adds nothing. */
export function decide({ last }: Readonly<Heads>, head: LedgerHeadSigned): Decision<LedgerHeadsEvent> {
  const is_news =
    last === null ||
    (head.tree_size >= last.tree_size &&
      billed(head) >= billed(last) &&
      head.tree_size + billed(head) > last.tree_size + billed(last));
  if (!is_news) return { events: [] };
  return { events: [{ type: 'LedgerHeadSigned', data: head }] };
}

export type LedgerHeads = ReturnType<typeof openLedgerHeads>;

/** `origin` tells the log from others. `outside`: adds the signature lines of a key elsewhere; without them nothing is signed. */
export function openLedgerHeads(
  log: EventStore,
  origin: string,
  signer: NoteSigner,
  outside: ((text: string) => Promise<string>) | null = null,
) {
  const fold = { initial, evolve };
  const begin = fromLastEvent(log, fold);
  const aggregate = openAggregate<Heads, LedgerHeadsEvent>(log, fold, { begin });
  return {
    /** Reads the last head from the log. */
    last: async (): Promise<LedgerHeadSigned | null> => (await begin(LEDGER_HEADS_STREAM))?.state.last ?? null,
    /** Signs the head of these trees and appends it, unless the log has one of as much. */
    async sign(
      tree: Pick<LedgerHeadSigned, 'tree_size' | 'root_hash' | 'frontier' | 'last_position' | 'billing'>,
      context: CommandContext,
    ): Promise<void> {
      const signed_at = new Date(context.now).toISOString();
      const text = checkpointText({ origin, signed_at, ...tree });
      const note = signer.sign(text) + (outside === null ? '' : await outside(text));
      const head: LedgerHeadSigned = { ...tree, note, verifier: signer.verifier, signed_at };
      await aggregate.handle(LEDGER_HEADS_STREAM, context, (heads) => decide(heads, head));
    },
  };
}
