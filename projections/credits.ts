// The read models of balances and transactions.
import type { CreditsEvent } from '../events/credits.ts';
import { idOf } from '../events/streams.ts';
import { balances, transactions } from '../readmodels/credits.ts';
import type { Projection } from './projection.ts';

export const creditsProjection: Projection = {
  name: 'credits',
  version: 1,
  types: ['CreditsGranted', 'CreditsReserved', 'CreditsRefunded', 'CreditsAdjusted', 'CreditsExpired'],
  collections: [balances, transactions],
  async apply(events, open) {
    const balance_documents = await open(balances);
    const transaction_documents = await open(transactions);
    for (const event of events) {
      const user_id = idOf(event.stream);
      const { data } = event as unknown as CreditsEvent;
      const { transaction_id, transaction_type, amount, reference_id, balance_after, hash } = data;
      await balance_documents.write([{ replace: { _id: user_id, balance: balance_after, hash } }]);
      await transaction_documents.write([
        {
          replace: {
            _id: `${user_id}:${event.revision}`,
            user_id,
            number: event.revision,
            transaction_id,
            transaction_type,
            amount,
            reference_id,
            balance_after,
            created_at: event.metadata.at,
          },
        },
      ]);
    }
  },
};
