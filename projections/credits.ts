// The read models of balances and transactions.
import type { CreditsEvent } from '../events/credits.ts';
import type { RecordedEvent } from '../events/event-store.ts';
import { idOf } from '../events/streams.ts';
import { type BalanceDocument, balances, type TransactionDocument, transactions } from '../readmodels/credits.ts';
import type { Projection } from './projection.ts';

export const creditsProjection: Projection = {
  name: 'credits',
  version: 2,
  types: ['CreditsGranted', 'CreditsReserved', 'CreditsRefunded', 'CreditsAdjusted', 'CreditsExpired'],
  collections: [balances, transactions],
  async apply(events, open) {
    const balance_documents = await open(balances);
    const transaction_documents = await open(transactions);
    const users = [...new Set(events.map(({ stream }) => idOf(stream)))];
    const balance_of = new Map((await balance_documents.getMany(users)).map((balance) => [balance._id, balance]));
    const entries: TransactionDocument[] = [];
    for (const event of events) {
      const user_id = idOf(event.stream);
      const { data } = event as unknown as CreditsEvent;
      const { transaction_id, transaction_type, amount, reference_id, balance_after, hash } = data;
      balance_of.set(user_id, {
        _id: user_id,
        balance: balance_after,
        hash,
        ...used(event, balance_of.get(user_id)),
      });
      entries.push({
        _id: `${user_id}:${event.revision}`,
        user_id,
        number: event.revision,
        transaction_id,
        transaction_type,
        amount,
        reference_id,
        balance_after,
        created_at: event.metadata.at,
      });
    }
    await balance_documents.write([...balance_of.values()].map((balance) => ({ replace: balance })));
    await transaction_documents.write(entries.map((entry) => ({ replace: entry })));
  },
};

type Used = Pick<BalanceDocument, 'used_in' | 'used'>;

/** What a month's jobs have used, by when it was reserved; what comes back of an earlier month counts for no month. */
function used(event: RecordedEvent, before: Used = { used_in: '', used: 0 }): Used {
  const { type, data, metadata } = event as unknown as CreditsEvent & Pick<RecordedEvent, 'metadata'>;
  if (type !== 'CreditsReserved' && type !== 'CreditsRefunded') return { used_in: before.used_in, used: before.used };
  const used_in = metadata.at.slice(0, 7);
  return { used_in, used: Math.max(0, (before.used_in === used_in ? before.used : 0) - data.amount) };
}
