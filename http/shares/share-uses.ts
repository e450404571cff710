// Counts the views of shares in memory and appends the counts to the log each minute, so that a popular link costs one event a
// minute. A killed process loses the views of its last minute, and so does an append that fails.
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Shares } from '../../commands/shares.ts';
import type { ShareUsed } from '../../events/share.ts';

const FLUSH_MS = 60_000;
/** The most shares in memory. With more, the counts go to the log before the minute is over. */
const MAX_SHARES = 10_000;

export type ShareUses = ReturnType<typeof openShareUses>;

export function openShareUses(shares: Shares, log: Logger, now: () => number) {
  let uses = new Map<string, ShareUsed>();
  let flushed: Promise<void> = Promise.resolve();

  async function record(counted: ReadonlyMap<string, ShareUsed>): Promise<void> {
    const causation_id = randomUUID();
    for (const [share_id, used] of counted) {
      const context = { command_id: randomUUID(), causation_id, actor: 'process:share-uses', now: now() };
      await shares
        .recordUses(share_id, used, context)
        // A failed append may have arrived. Repeating it could count views twice, so we lose them instead.
        .catch((error: unknown) => log.warn({ err: error, share_id, lost: used.count }, 'http lost views of a share'));
    }
  }
  function flush(): Promise<void> {
    const counted = uses;
    uses = new Map();
    flushed = flushed.then(() => record(counted));
    return flushed;
  }
  const timer = setInterval(() => void flush(), FLUSH_MS).unref();
  return {
    /** Counts a view of an existing share. */
    count(share_id: string): void {
      const last_used_at = new Date(now()).toISOString();
      uses.set(share_id, { count: (uses.get(share_id)?.count ?? 0) + 1, last_used_at });
      if (uses.size >= MAX_SHARES) void flush();
    },
    /** Returns the views that are not in the log yet. */
    pending: (share_id: string): Readonly<ShareUsed> | null => uses.get(share_id) ?? null,
    /** Appends the pending views. */
    async close(): Promise<void> {
      clearInterval(timer);
      await flush();
    },
  };
}
