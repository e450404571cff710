// What `ledger verify --since-head` shows: every entry after a head that an outsider has kept, by which somebody got or lost credits outside
// of jobs, and every event of a payment or a subscription, with who did it. The head proves what is before; of these it says nothing, and a person
// compares them.
import type { AsOf, LedgerSource } from '../../audit/source.ts';
import type { CreditsEvent } from '../../events/credits.ts';
import type { RecordedEvent } from '../../events/event-store.ts';
import { BILLED, categoryOf, idOf, isBilled } from '../../events/streams.ts';
import { count } from './command.ts';

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

interface SinceBilled {
  position: string;
  at: string;
  actor: string;
  stream: string;
  type: string;
  data: unknown;
}

export interface Since {
  tree_size: number;
  /** All entries after the head. */
  entries: number;
  /** Credits that came from outside of the ledger: granted, or added by administrators. */
  added: number;
  shown: SinceEntry[];
  more: number;
  /** Of payments and subscriptions. `size`: those under the head; null where it is of an earlier service, which signed none. */
  billing: { size: number | null; events: number; shown: SinceBilled[]; more: number };
}

/** The sizes of the trees that the head is of. */
export interface SinceSizes {
  tree_size: number;
  billing_size: number | null;
}

export async function sinceHead(
  source: LedgerSource,
  { tree_size, billing_size }: SinceSizes,
  as_of: AsOf | null,
): Promise<Since> {
  const billing: Since['billing'] = { size: billing_size, events: 0, shown: [], more: 0 };
  const since: Since = { tree_size, entries: 0, added: 0, shown: [], more: 0, billing };
  const sizes = { entries: 0, billing: 0 };
  for await (const event of source.events(['credits', ...BILLED], as_of)) {
    if (isBilled(categoryOf(event.stream))) {
      if (sizes.billing++ >= (billing_size ?? 0)) addBilled(billing, event);
    } else if (sizes.entries++ >= tree_size) addEntry(since, event);
  }
  return since;
}

function addEntry(since: Since, { position, stream, metadata, type, data }: RecordedEvent): void {
  since.entries += 1;
  const { transaction_type, amount, reference_id } = data as CreditsEvent['data'];
  if (OF_ITSELF.includes(transaction_type)) return;
  if ((type === 'CreditsGranted' || type === 'CreditsAdjusted') && amount > 0) since.added += amount;
  const { at, actor } = metadata;
  const entry = { position, at, actor, user_id: idOf(stream), transaction_type, amount, reference_id };
  if (since.shown.length < SHOWN) since.shown.push(entry);
  else since.more += 1;
}

function addBilled(billing: Since['billing'], { position, stream, type, metadata, data }: RecordedEvent): void {
  billing.events += 1;
  const { at, actor } = metadata;
  if (billing.shown.length < SHOWN) billing.shown.push({ position, at, actor, stream, type, data });
  else billing.more += 1;
}

export function textOfSince({ tree_size, entries, added, shown, more, billing }: Since): string {
  const { size } = billing;
  const of_billing = size === null ? ', because it is of an earlier service' : ', which it does not prove';
  const lines = [
    `since the head of ${count(tree_size, 'entry', 'entries')}: ${count(entries, 'entry', 'entries')}, which it does not prove; ${count(added, 'credit')} added`,
    ...shown.map(
      ({ at, actor, user_id, transaction_type, amount, reference_id }) =>
        `  ${at}  ${transaction_type} ${amount} to ${user_id}, by ${actor} (${reference_id})`,
    ),
    ...(more > 0 ? [`  … and ${count(more, 'more', 'more')}`] : []),
    `since the head of ${count(size ?? 0, 'event')} of payments and subscriptions: ${count(billing.events, 'event')}${of_billing}`,
    ...billing.shown.map(
      ({ at, actor, stream, type, data }) => `  ${at}  ${type} ${wordsOf(stream, data)}, by ${actor}`,
    ),
    ...(billing.more > 0 ? [`  … and ${count(billing.more, 'more', 'more')}`] : []),
  ];
  return `${lines.join('\n')}\n`;
}

/** The stream, with the money and the user where the event names them. */
function wordsOf(stream: string, data: unknown): string {
  const { amount_cents, currency, credits, user_id, plan } = (data ?? {}) as Partial<Record<string, unknown>>;
  const facts = [
    ...(amount_cents === undefined ? [] : [`${amount_cents} ${currency} in its smallest unit`]),
    ...(credits === undefined ? [] : [`${credits} credits`]),
    ...(user_id === undefined ? [] : [`of ${user_id}`]),
    ...(plan === undefined ? [] : [`plan ${plan}`]),
  ];
  return facts.length === 0 ? stream : `${stream} (${facts.join(', ')})`;
}
