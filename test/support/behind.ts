// A second connection to the stores of a running service: to look behind its API, and to do what has no route.
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { openSqliteDocuments } from '../../adapters/documents/sqlite/sqlite-documents.ts';
import { openSqliteQueue } from '../../adapters/queue/sqlite/sqlite-queue.ts';
import { openCredits } from '../../commands/credits.ts';
import type { Outcome } from '../../events/checks.ts';
import type { EventStore, RecordedEvent } from '../../events/event-store.ts';
import { fileBlobs } from './file-blobs.ts';
import { commandContext, openFolderLog } from './stores.ts';

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

/** Under AVA's own limit, which would end the test and leave this loop, its services and so its process running. */
const LONGEST_WAIT_MS = 280_000;

/**
 * Resolves when it holds, and throws when it does not within 280 s. What takes long is looked at less and less often, for a look may
 * be a request that takes the processor from what is waited for.
 */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + LONGEST_WAIT_MS;
  for (let pause_ms = 5; !(await holds()); pause_ms = Math.min(pause_ms * 1.5, 40)) {
    if (performance.now() > end) throw new Error(`after ${LONGEST_WAIT_MS / 1000} s it still does not hold`);
    await new Promise((resolve) => setTimeout(resolve, pause_ms));
  }
}

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
