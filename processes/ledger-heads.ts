// Signs the head of the ledger's Merkle tree: the first entry's at once, then at an interval while there are new entries, and after each million
// of them. It reads the log alone: at the start whole, and signs nothing when the entries are not those of the last head.
import { GrowingTree, leafOf } from '../audit/merkle.ts';
import type { CommandContext } from '../commands/aggregate.ts';
import type { LedgerHeads } from '../commands/ledger-heads.ts';
import type { CreditsEvent } from '../events/credits.ts';
import { BEGINNING, type EventStore, type Position } from '../events/event-store.ts';
import type { LedgerHeadSigned } from '../events/ledger-head.ts';
import { pause } from '../time/pause.ts';

/** The time between two looks at the log. */
const LOOK_MS = 5_000;
const EVERY_ENTRIES = 1_000_000;
const LEDGER = { categories: ['credits'] };

export interface LedgerHeadsOptions {
  log: EventStore;
  heads: LedgerHeads;
  interval_ms: number;
  context: (of: string) => CommandContext;
  /** Wall time in milliseconds. A head that is signed in the future counts as old. */
  now: () => number;
  /** Entries between two heads at the most. Default a million. */
  every_entries?: number;
}

/** Runs until `signal` aborts; calls `onPass` after each pass. */
export async function runLedgerHeads(
  options: LedgerHeadsOptions,
  signal: AbortSignal,
  onPass: () => void,
): Promise<void> {
  const signing = openHeadSigning(options);
  for (; !signal.aborted; await pause(LOOK_MS, signal)) {
    await signing.pass();
    onPass();
  }
}

/** The ledger does not begin with the entries of its last head: nothing more is signed. */
class LedgerChanged extends Error {
  readonly code = 'ledger_changed';
}

export function openHeadSigning(options: LedgerHeadsOptions): { pass(): Promise<void> } {
  const { log, heads, interval_ms, context, now, every_entries = EVERY_ENTRIES } = options;
  /** What this process has read of the log, and the last head that it knows. */
  let tree = new GrowingTree();
  let read: Position | null = null;
  let last_position: Position = BEGINNING;
  let known: LedgerHeadSigned | null = null;
  let is_changed = false;

  async function sign(): Promise<void> {
    const root_hash = tree.root().toString('hex');
    await heads.sign({ tree_size: tree.size, root_hash, frontier: tree.frontier(), last_position }, context('heads'));
    known = await heads.last();
  }

  /** Reads what is new, and signs where `every_entries` are full. */
  async function grow(head: Position): Promise<void> {
    for await (const event of log.readAll({ from: read ?? BEGINNING, filter: LEDGER })) {
      tree.add(leafOf((event as unknown as CreditsEvent).data.hash));
      read = last_position = event.position;
      if (tree.size === known?.tree_size && tree.root().toString('hex') !== known.root_hash) {
        is_changed = true;
        throw new LedgerChanged(
          `the first ${tree.size} entries are not those of the last signed head: nothing more is signed`,
        );
      }
      if (tree.size % every_entries === 0 && tree.size > (known?.tree_size ?? 0)) await sign();
    }
    if (read === null || head > read) read = head;
  }

  return {
    async pass() {
      if (is_changed) return;
      const head = await log.head();
      if (head === read && tree.size === (known?.tree_size ?? 0)) return;
      const last = await heads.last();
      // At the start, after another process has signed, and when the log was replaced. Positions of a head may be those of another store.
      if (read === null || head < read || last?.root_hash !== known?.root_hash) {
        [tree, read, last_position, known] = [new GrowingTree(), null, BEGINNING, last];
      }
      if (head !== read) await grow(head);
      if (tree.size < (known?.tree_size ?? 0)) {
        is_changed = true;
        throw new LedgerChanged(
          `there are ${tree.size} entries, fewer than the last signed head has: nothing more is signed`,
        );
      }
      if (tree.size === (known?.tree_size ?? 0)) return;
      const is_due = known === null || Math.abs(now() - Date.parse(known.signed_at)) >= interval_ms;
      if (is_due) await sign();
    },
  };
}
