// Signs the head of the ledger's Merkle tree and of the one over payments and subscriptions: the first entry's at once, then at an interval while
// there are new leaves, and after each million entries. It reads the log alone: at the start whole, and signs nothing when the leaves are not those
// of the last head.
import { leafOfBilled } from '../audit/billing-leaf.ts';
import { GrowingTree, leafOf } from '../audit/merkle.ts';
import type { TreeHead } from '../audit/signed-note.ts';
import type { CommandContext } from '../commands/aggregate.ts';
import type { LedgerHeads } from '../commands/ledger/ledger-heads.ts';
import type { CreditsEvent } from '../events/credits.ts';
import { BEGINNING, type EventStore, type Position } from '../events/event-store.ts';
import type { LedgerHeadSigned } from '../events/ledger-head.ts';
import { BILLED, categoryOf, isBilled } from '../events/streams.ts';
import { backOffMs } from '../time/back-off.ts';
import { pause } from '../time/pause.ts';
import { OutsideFault } from './ledger-witness.ts';

/** The time between two looks at the log. */
const LOOK_MS = 5_000;
/** While the outside key is away. */
const BACK_OFF = { first_ms: LOOK_MS, longest_ms: 300_000 };
const EVERY_ENTRIES = 1_000_000;
const LEDGER = { categories: ['credits', ...BILLED] };

export interface LedgerHeadsOptions {
  /** Behind no codec: a leaf of the second tree is what the log holds. */
  stored_log: EventStore;
  heads: LedgerHeads;
  interval_ms: number;
  context: (of: string) => CommandContext;
  /** Wall time in milliseconds. A head that is signed in the future counts as old. */
  now: () => number;
  /** Entries between two heads at the most. Default a million. */
  every_entries?: number;
  /** Told what keeps the outside key from signing; null once it has signed. */
  tell?: (fault: string | null) => void;
}

/** Runs until `signal` aborts; calls `onPass` after each pass. */
export async function runLedgerHeads(
  options: LedgerHeadsOptions,
  signal: AbortSignal,
  onPass: () => void,
): Promise<void> {
  const signing = openHeadSigning(options);
  for (let failures = 0; !signal.aborted; ) {
    const is_signed = await signing.pass();
    onPass();
    failures = is_signed ? 0 : failures + 1;
    await pause(is_signed ? LOOK_MS : backOffMs(failures, BACK_OFF), signal);
  }
}

/** The ledger does not begin with the entries of its last head: nothing more is signed. */
class LedgerChanged extends Error {
  readonly code = 'ledger_changed';
}

export type HeadSigning = ReturnType<typeof openHeadSigning>;

export function openHeadSigning(options: LedgerHeadsOptions) {
  const { stored_log: log, heads, interval_ms, context, now, every_entries = EVERY_ENTRIES, tell } = options;
  /** What this process has read of the log, and the last head that it knows. */
  let tree = new GrowingTree();
  let billing = new GrowingTree();
  let read: Position | null = null;
  let last_position: Position = BEGINNING;
  let known: LedgerHeadSigned | null = null;
  let is_changed = false;

  async function sign(): Promise<void> {
    const of_ledger = { tree_size: tree.size, ...stateOf(tree) };
    await heads.sign(
      { ...of_ledger, billing: { size: billing.size, ...stateOf(billing) }, last_position },
      context('heads'),
    );
    tell?.(null);
    known = await heads.last();
  }
  function refuse(message: string): never {
    is_changed = true;
    throw new LedgerChanged(`${message}: nothing more is signed`);
  }
  function assertKnown(grown: GrowingTree, head: TreeHead | undefined, of: string): void {
    if (grown.size === head?.size && grown.root().toString('hex') !== head.root_hash)
      refuse(`the first ${grown.size} ${of} are not those of the last signed head`);
  }

  /** Reads what is new, and signs where `every_entries` are full. */
  async function grow(head: Position): Promise<void> {
    for await (const event of log.readAll({ from: read ?? BEGINNING, filter: LEDGER })) {
      read = last_position = event.position;
      if (isBilled(categoryOf(event.stream))) {
        billing.add(leafOfBilled(event));
        assertKnown(billing, known?.billing, BILLING);
        continue;
      }
      tree.add(leafOf((event as unknown as CreditsEvent).data.hash));
      assertKnown(tree, known ? { size: known.tree_size, root_hash: known.root_hash } : undefined, 'entries');
      if (tree.size % every_entries === 0 && tree.size > (known?.tree_size ?? 0)) await sign();
    }
    if (read === null || head > read) read = head;
  }
  const isOfLast = () => tree.size === (known?.tree_size ?? 0) && billing.size === (known?.billing?.size ?? 0);

  async function pass(): Promise<void> {
    if (is_changed) return;
    const head = await log.head();
    if (head === read && isOfLast()) return;
    const last = await heads.last();
    // At the start, after another process has signed, and when the log was replaced. Positions of a head may be those of another store.
    if (read === null || head < read || last?.note !== known?.note) {
      [tree, billing, read, last_position, known] = [new GrowingTree(), new GrowingTree(), null, BEGINNING, last];
    }
    if (head !== read) await grow(head);
    const [entries, billed] = [known?.tree_size ?? 0, known?.billing?.size ?? 0];
    if (tree.size < entries) refuse(`there are ${tree.size} entries, fewer than the last signed head has`);
    if (billing.size < billed) refuse(`there are ${billing.size} ${BILLING}, fewer than the last signed head has`);
    // Before the first entry there is nothing to prove.
    if (isOfLast() || tree.size === 0) return;
    const is_due = known === null || Math.abs(now() - Date.parse(known.signed_at)) >= interval_ms;
    if (is_due) await sign();
  }
  return {
    /** Returns false when the head waits for the outside key, which is away. */
    async pass(): Promise<boolean> {
      try {
        await pass();
        return true;
      } catch (error) {
        if (!(error instanceof OutsideFault)) throw error;
        tell?.(error.message);
        return false;
      }
    },
  };
}

const BILLING = 'events of payments and subscriptions';
const stateOf = (tree: GrowingTree) => ({ root_hash: tree.root().toString('hex'), frontier: tree.frontier() });
