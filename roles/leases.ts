// A lease picks the one process that does a thing. It only saves work, and exactness never depends on it: two holders at once
// do double work and no harm. No wall clock is used: the holder raises the lease's count, and a process that stands by takes
// over when it has seen the same count for the lease's time.
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { type CollectionSpec, type Document, type Documents, WriteConflict } from '../readmodels/documents.ts';
import { atMost, pause } from '../time/pause.ts';
import { hasEnded, type ProcessIdentity, thisProcess } from './this-process.ts';

interface Lease extends Document {
  /** Random: two containers may have one name and one process number. */
  holder: string;
  /** Goes up with every renewal. */
  count: number;
  /** Null when the holder's system does not tell a process's start time. */
  process: ProcessIdentity | null;
  /** The holder's client of the store; of leases of earlier versions there is none. */
  client?: string | null;
}

const leases: CollectionSpec<Lease> = { name: 'leases', fields: {}, indexes: [] };

export interface LeaseKeeper {
  /** Takes or renews the lease; false while another process holds it. Throws the store's errors. */
  hold(name: string, ttl_ms: number): Promise<boolean>;
  release(name: string): Promise<void>;
}

export interface LeaseOptions {
  holder?: string;
  process?: ProcessIdentity | null;
  /** Milliseconds that never go back. */
  monotonic?: () => number;
}

export type LeaseStore = Pick<Documents, 'collection' | 'transaction' | 'client' | 'endTransactionsOf'>;

export async function openLeases(documents: LeaseStore, options: LeaseOptions = {}): Promise<LeaseKeeper> {
  const holder = options.holder ?? randomUUID();
  const identity = options.process === undefined ? thisProcess() : options.process;
  const monotonic = options.monotonic ?? (() => performance.now());
  /** For each lease of another holder: its last count, and the time since which the count has not changed. */
  const watched = new Map<string, { holder: string; count: number; since_ms: number }>();
  const held = new Set<string>();
  const stored = await documents.collection(leases);

  function isFree(lease: Lease, ttl_ms: number): boolean {
    if (lease.holder === holder) return true;
    if (lease.process && hasEnded(lease.process)) return true;
    const seen = watched.get(lease._id);
    if (seen && seen.holder === lease.holder && seen.count === lease.count)
      return monotonic() - seen.since_ms >= ttl_ms;
    watched.set(lease._id, { holder: lease.holder, count: lease.count, since_ms: monotonic() });
    return false;
  }

  /** A holder that did not release its lease may have ended in the middle of a transaction, maybe of the lease itself. */
  async function endTransactions(lease: Lease | null): Promise<void> {
    if (lease === null || lease.holder === holder || !lease.client || lease.client === documents.client) return;
    // If this fails, they end by themselves some time later.
    await documents.endTransactionsOf(lease.client).catch(() => {});
  }

  return {
    async hold(name, ttl_ms) {
      try {
        if (!held.delete(name)) {
          const seen = await stored.get(name);
          if (seen && !isFree(seen, ttl_ms)) return false;
          await endTransactions(seen);
        }
        const is_held = await documents.transaction(async (inside) => {
          const collection = await inside.collection(leases);
          const lease = await collection.get(name);
          if (lease && !isFree(lease, ttl_ms)) return false;
          const count = (lease?.count ?? 0) + 1;
          const { client } = documents;
          await collection.write([{ replace: { _id: name, holder, count, process: identity, client } }]);
          return true;
        });
        // Its next renewal needs no look before its transaction, which may take seconds where the store is far away.
        if (is_held) held.add(name);
        return is_held;
      } catch (error) {
        if (error instanceof WriteConflict) return false;
        throw error;
      }
    },
    async release(name) {
      held.delete(name);
      await documents.transaction(async (inside) => {
        const collection = await inside.collection(leases);
        if ((await collection.get(name))?.holder === holder) await collection.write([{ delete: name }]);
      });
    },
  };
}

/** `standing_by`: another process does the role's work; `waiting`: the role cannot work, and gives a reason. */
export type RoleState = 'working' | 'standing_by' | 'waiting';
/** Reports a role's state. */
export type Say = (state: RoleState, reason?: string) => void;

export interface HoldingOptions {
  ttl_ms?: number;
  /** Milliseconds that never go back. */
  monotonic?: () => number;
  say?: Say;
  logger?: Pick<Logger, 'warn'>;
}

/**
 * Runs `run` while this process holds the lease, and again whenever `run` returns. Its signal aborts when the lease was not
 * renewed in time. Stands by otherwise, also while the store is away. Throws the errors of `run`.
 * @example await whileHeld(leases, 'projector', signal, (held) => project(held), { say, logger });
 */
export async function whileHeld(
  leases: LeaseKeeper,
  name: string,
  signal: AbortSignal,
  run: (signal: AbortSignal) => Promise<void>,
  options: HoldingOptions = {},
): Promise<void> {
  const { ttl_ms = LEASE_MS, monotonic = () => performance.now(), say, logger } = options;
  let is_holder = false;
  let is_away = false;
  while (!signal.aborted) {
    let asked_at = monotonic();
    const held = await leases.hold(name, ttl_ms).catch((error: unknown) => {
      if (!is_away) logger?.warn({ err: error, lease: name }, 'a lease cannot be taken: the role waits for its store');
      return null;
    });
    is_away = held === null;
    // When the answer took longer than the lease lasts, another process may hold it by now.
    is_holder = held === true && monotonic() - asked_at < ttl_ms;
    if (!is_holder) {
      if (is_away) say?.('waiting', 'the store of documents does not answer');
      else say?.('standing_by');
      await pause(RETRY_MS, signal);
      continue;
    }
    say?.('working');
    const lost = new AbortController();
    let is_over = false;
    /** After a slow answer the next renewal waits for no turn of the timer. */
    const isDue = () => monotonic() - asked_at >= ttl_ms / 6;
    let renewing: Promise<void> | null = null;
    const renew = async () => {
      let still: boolean | null;
      do {
        const renewed_at = monotonic();
        // A failed renewal is tried again for as long as the lease lasts.
        still = await leases.hold(name, ttl_ms).catch(() => null);
        if (still) asked_at = renewed_at;
        else if (still === false) lost.abort();
      } while (still && !is_over && isDue());
    };
    const beginRenewal = () => (renewing ??= renew().finally(() => (renewing = null)));
    const renewal = setInterval(() => {
      // The run ends a moment before another process may take the lease.
      if (monotonic() - asked_at >= (ttl_ms * 5) / 6) lost.abort();
      beginRenewal();
    }, ttl_ms / 6);
    if (isDue()) beginRenewal();
    try {
      await run(AbortSignal.any([signal, lost.signal]));
    } finally {
      is_over = true;
      clearInterval(renewal);
      // A renewal under way would take the released lease again, so we wait for it, for a bounded time.
      await atMost(RETRY_MS, renewing);
    }
  }
  // While the store is away the lease runs out by itself.
  if (is_holder)
    await atMost(
      RETRY_MS,
      leases.release(name).catch(() => {}),
    );
}

/** A standby on another machine works within 10 s of its holder's end: this, two looks at the lease, and its own start. */
const LEASE_MS = 6_000;
const RETRY_MS = 500;
