// A second connection to the stores of a running service: to look behind its API, and to do what has no route.
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { openSqliteDocuments } from '../../adapters/documents/sqlite/sqlite-documents.ts';
import { openSqliteQueue } from '../../adapters/queue/sqlite/sqlite-queue.ts';
import { openCredits } from '../../commands/ledger/credits.ts';
import type { Outcome } from '../../events/checks.ts';
import type { EventStore, RecordedEvent } from '../../events/event-store.ts';
import { fileBlobs } from './file-blobs.ts';
import { commandContext, openFolderLog } from './stores.ts';

export { until } from './until.ts';

/** Embedded ones, in a data folder. */
export async function openBehind(data_dir: string) {
  const log = await openFolderLog(data_dir);
  const documents = await openSqliteDocuments({ path: join(data_dir, 'documents.db') });
  const queue = await openSqliteQueue({ path: join(data_dir, 'queue.db') });
  const blobs = await fileBlobs(join(data_dir, 'blobs'));
  return {
    log,
    documents,
    queue,
    blobs,
    /** As a purchase does; the position from which on it is there. */
    async grant(user_id: string, amount: number): Promise<string> {
      const lot = { transaction_type: 'purchase', reference_id: randomUUID(), amount, expires_at: null } as const;
      const granted = await openCredits(log).run(user_id, { type: 'grant', ...lot }, commandContext());
      if (!granted.ok) throw new Error(granted.refused.message);
      return granted.position;
    },
    close: () => Promise.all([log.close(), documents.close(), queue.close()]),
  };
}
export type Behind = Awaited<ReturnType<typeof openBehind>>;

export const eventsOf = (log: EventStore, stream: string): Promise<RecordedEvent[]> =>
  Array.fromAsync(log.readStream(stream));

/** What is found of a URL where it does not matter what. */
export const FOUND: Outcome = {
  status_code: 200,
  final_url: null,
  is_broken: false,
  is_soft_404: false,
  redirect_chain: [],
  response_time_ms: 1,
  content_type: null,
  error_code: null,
  verdict: 'ok',
  protection: null,
  attempts: 1,
};
