// The read models of balances, of the lots that they consist of, and of transactions.
import { lotMovesOf, lotOpenedBy, owedBy } from '../../events/credits.ts';
import { idOf } from '../../events/streams.ts';
import { usageAfter, usageAt } from '../../events/usage.ts';
import type { EventTypeOf, LogEvent } from '../../events/vocabulary.ts';
import {
  type BalanceDocument,
  balances,
  creditLots,
  type LotDocument,
  lotDocumentId,
  type TransactionDocument,
  transactions,
} from '../../readmodels/billing/credits.ts';
import { handlersOf, type Projection, projection } from '../projection.ts';
import { readAll, replaceAll } from '../slices.ts';

interface Page {
  balance_of: Map<string, BalanceDocument>;
  lots: Map<string, LotDocument>;
  entries: TransactionDocument[];
}

export const creditsProjection: Projection = projection({
  name: 'credits',
  version: 4,
  collections: [balances, creditLots, transactions],
  covers: ['credits'],
  async begin(open, events): Promise<Page> {
    const users = events.map(({ stream }) => idOf(stream));
    const moved = events
      .filter(isEntry)
      .flatMap((event) => lotMovesOf(event).map(({ lot_id }) => lotIdOf(event, lot_id)));
    return {
      balance_of: await readAll(await open(balances), users),
      lots: await readAll(await open(creditLots), moved),
      entries: [],
    };
  },
  on: {
    ...handlersOf('credits', enter),
    UsageSet({ stream, data, metadata: { at } }, { balance_of }) {
      const user_id = idOf(stream);
      const { period_start, usage, counted } = data;
      const balance = balance_of.get(user_id) ?? newBalance(user_id, at);
      balance_of.set(user_id, { ...balance, usage_correction: { period_start, added: usage - counted } });
    },
  },
  async end({ balance_of, lots, entries }, open) {
    await replaceAll(await open(creditLots), lots.values());
    await replaceAll(await open(balances), balance_of.values());
    await replaceAll(await open(transactions), entries);
  },
});

type Entry = LogEvent<EventTypeOf<'credits'>>;
const isEntry = (event: LogEvent): event is Entry => event.type !== 'UsageSet';

const newBalance = (user_id: string, at: string): BalanceDocument => ({
  _id: user_id,
  balance: 0,
  owed: 0,
  hash: '',
  usage: usageAt(null, at),
  usage_correction: null,
});

function enter(event: Entry, page: Page): void {
  const { stream, revision, data } = event;
  const { at } = event.metadata;
  const { balance_of, entries } = page;
  const user_id = idOf(stream);
  const { transaction_id, transaction_type, amount, reference_id, balance_after, hash } = data;
  const before = balance_of.get(user_id) ?? newBalance(user_id, at);
  // The read model of an earlier version lacks `owed` and `usage`.
  const owed = (before.owed ?? 0) + owedBy(event);
  const usage = usageAfter(before.usage ?? null, data, at);
  balance_of.set(user_id, { ...before, balance: balance_after, owed, hash, usage });
  moveLots(event, page);
  entries.push({
    _id: `${user_id}:${revision}`,
    user_id,
    number: revision,
    transaction_id,
    transaction_type,
    amount,
    reference_id,
    balance_after,
    created_at: at,
  });
}

const lotIdOf = ({ stream }: Entry, lot_id: string) => lotDocumentId(idOf(stream), lot_id);

function moveLots(event: Entry, { lots }: Page): void {
  const { transaction_id, transaction_type } = event.data;
  for (const { lot_id, amount } of lotMovesOf(event)) {
    // The read model of an earlier version has no lots, until the new one takes its place.
    const lot = lots.get(lotIdOf(event, lot_id));
    if (!lot) continue;
    lot.remaining += amount;
    lot.due_at = lot.remaining > 0 ? lot.expires_at : null;
  }
  const opened = lotOpenedBy(event);
  if (!opened) return;
  const { credits, expires_at } = opened;
  const _id = lotIdOf(event, transaction_id);
  const [user_id, created_at] = [idOf(event.stream), event.metadata.at];
  const facts = { user_id, lot_id: transaction_id, transaction_type, credits, remaining: credits };
  lots.set(_id, { _id, ...facts, expires_at, due_at: expires_at, created_at });
}
