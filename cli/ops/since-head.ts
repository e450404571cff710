// What `ledger verify --since-head` shows: every entry after a head that an outsider has kept, by which somebody got or lost credits outside
// of jobs, with who did it. The head proves what is before; of these entries it says nothing, and a person compares them.
import type { LedgerSource } from '../../audit/source.ts';
import type { CreditsEvent } from '../../events/credits.ts';
import { idOf } from '../../events/streams.ts';
import { count } from './text.ts';

/** They follow from a job, from a lot's end or from another entry. */
const OF_ITSELF: readonly CreditsEvent['data']['transaction_type'][] = [
  ...(['reservation', 'refund', 'release', 'expiry', 'recovery'] as const),
];
/** Entries that are shown; all are counted. */
const SHOWN = 1_000;

interface SinceEntry {
  position: string;
  at: string;
  actor: string;
  user_id: string;
  transaction_type: string;
  amount: number;
  reference_id: string;
}

export interface Since {
  tree_size: number;
  /** All entries after the head. */
  entries: number;
  /** Credits that came from outside of the ledger: granted, or added by administrators. */
  added: number;
  shown: SinceEntry[];
  more: number;
}

export async function sinceHead(source: LedgerSource, tree_size: number): Promise<Since> {
  const since: Since = { tree_size, entries: 0, added: 0, shown: [], more: 0 };
  let leaf = 0;
  for await (const { position, stream, metadata, type, data } of source.events(['credits'], null)) {
    if (leaf++ < tree_size) continue;
    since.entries += 1;
    const { transaction_type, amount, reference_id } = data as CreditsEvent['data'];
    if (OF_ITSELF.includes(transaction_type)) continue;
    if ((type === 'CreditsGranted' || type === 'CreditsAdjusted') && amount > 0) since.added += amount;
    const { at, actor } = metadata;
    const entry = { position, at, actor, user_id: idOf(stream), transaction_type, amount, reference_id };
    if (since.shown.length < SHOWN) since.shown.push(entry);
    else since.more += 1;
  }
  return since;
}

export function textOfSince({ tree_size, entries, added, shown, more }: Since): string {
  const lines = [
    `since the head of ${count(tree_size, 'entry', 'entries')}: ${count(entries, 'entry', 'entries')}, which it does not prove; ${count(added, 'credit')} added`,
    ...shown.map(
      ({ at, actor, user_id, transaction_type, amount, reference_id }) =>
        `  ${at}  ${transaction_type} ${amount} to ${user_id}, by ${actor} (${reference_id})`,
    ),
    ...(more > 0 ? [`  … and ${count(more, 'more', 'more')}`] : []),
  ];
  return `${lines.join('\n')}\n`;
}
