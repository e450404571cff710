// Counts the views of shares: in memory, and a minute's worth at a time into the log, so that a popular link costs one
// event a minute. A process that is killed loses the views of its last minute, and so does one whose log does not answer.
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Shares } from '../commands/shares.ts';
import type { ShareUsed } from '../events/share.ts';

const FLUSH_MS = 60_000;
/** The most shares in memory: when more are viewed within a minute, their views are appended earlier. */
const MAX_SHARES = 10_000;

export interface ShareUses {
  /** Counts a view of an existing share. */
  count(share_id: string): void;
  /** The views that are not in the log yet. */
  pending(share_id: string): Readonly<ShareUsed> | null;
  /** Appends the rest. */
  close(): Promise<void>;
}

export function openShareUses(shares: Shares, log: Logger, now: () => number): ShareUses {
  let uses = new Map<string, ShareUsed>();
  let flushed: Promise<void> = Promise.resolve();

  async function record(counted: ReadonlyMap<string, ShareUsed>): Promise<void> {
    const causation_id = randomUUID();
    for (const [share_id, used] of counted) {
      const context = { command_id: randomUUID(), causation_id, actor: 'process:share-uses', now: now() };
      await shares
        .recordUses(share_id, used, context)
        // An append that may have arrived is not repeated: a view is never counted twice.
        .catch((error: unknown) => log.warn({ err: error, share_id, lost: used.count }, 'views of a share are lost'));
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
    count(share_id) {
      const last_used_at = new Date(now()).toISOString();
      uses.set(share_id, { count: (uses.get(share_id)?.count ?? 0) + 1, last_used_at });
      if (uses.size >= MAX_SHARES) void flush();
    },
    pending: (share_id) => uses.get(share_id) ?? null,
    async close() {
      clearInterval(timer);
      await flush();
    },
  };
}
