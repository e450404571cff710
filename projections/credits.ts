// The read models of balances and transactions.
import { idOf } from '../events/streams.ts';
import type { EventTypeOf, LogEvent } from '../events/vocabulary.ts';
import { type BalanceDocument, balances, type TransactionDocument, transactions } from '../readmodels/credits.ts';
import { type Projection, projection } from './projection.ts';

interface Page {
  balance_of: Map<string, BalanceDocument>;
  entries: TransactionDocument[];
}

export const creditsProjection: Projection = projection({
  name: 'credits',
  version: 2,
  collections: [balances, transactions],
  covers: ['credits'],
  async begin(open, events): Promise<Page> {
    const users = [...new Set(events.map(({ stream }) => idOf(stream)))];
    const found = await (await open(balances)).getMany(users);
    return { balance_of: new Map(found.map((balance) => [balance._id, balance])), entries: [] };
  },
  on: {
    CreditsGranted: enter,
    CreditsReserved: enterUse,
    CreditsRefunded: enterUse,
    CreditsAdjusted: enter,
    CreditsExpired: enter,
  },
  async end({ balance_of, entries }, open) {
    await (await open(balances)).write([...balance_of.values()].map((balance) => ({ replace: balance })));
    await (await open(transactions)).write(entries.map((entry) => ({ replace: entry })));
  },
});

type Entry = LogEvent<EventTypeOf<'credits'>>;

function enter({ stream, revision, data, metadata: { at } }: Entry, { balance_of, entries }: Page): void {
  const user_id = idOf(stream);
  const { transaction_id, transaction_type, amount, reference_id, balance_after, hash } = data;
  const { used_in, used } = balance_of.get(user_id) ?? { used_in: '', used: 0 };
  balance_of.set(user_id, { _id: user_id, balance: balance_after, hash, used_in, used });
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

/** Counts the credits that were reserved in a month, less the month's refunds; a refund lowers no earlier month's count. */
function enterUse(event: Entry, page: Page): void {
  enter(event, page);
  const balance = page.balance_of.get(idOf(event.stream))!;
  const used_in = event.metadata.at.slice(0, 7);
  const used_before = balance.used_in === used_in ? balance.used : 0;
  Object.assign(balance, { used_in, used: Math.max(0, used_before - event.data.amount) });
}
