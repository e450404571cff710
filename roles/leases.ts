// A lease picks the one process that does a thing. It only saves work, and exactness never depends on it: two holders at once
// do double work and no harm. No wall clock is used: the holder raises the lease's count, and a process that stands by takes
// over when it has seen the same count for the lease's time. Decision 29 says why.
import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { type CollectionSpec, type Document, type Documents, WriteConflict } from '../readmodels/documents.ts';

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

export type LeaseKeeper = Awaited<ReturnType<typeof openLeases>>;

export interface LeaseOptions {
  holder?: string;
  process?: ProcessIdentity | null;
  /** Milliseconds that never go back. */
  monotonic?: () => number;
}

export type LeaseStore = Pick<Documents, 'collection' | 'transaction' | 'client' | 'endTransactionsOf'>;

export async function openLeases(documents: LeaseStore, options: LeaseOptions = {}) {
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
    /** Takes or renews the lease; false while another process holds it. Throws the store's errors. */
    async hold(name: string, ttl_ms: number): Promise<boolean> {
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
    async release(name: string): Promise<void> {
      held.delete(name);
      await documents.transaction(async (inside) => {
        const collection = await inside.collection(leases);
        if ((await collection.get(name))?.holder === holder) await collection.write([{ delete: name }]);
      });
    },
  };
}

// Identifies this process, so that another process on the same machine can tell that it has ended.

/** Identifies a process within one boot: the system reuses process numbers, and each container has its own. */
export interface ProcessIdentity {
  /** The machine's boot. */
  boot: string;
  /** The PID namespace of `pid`. */
  pid_namespace: string;
  pid: number;
  /** The process's start, in ticks since the boot. */
  began: string;
}

/** Returns null where the system has no /proc: no process can then prove that this one has ended. */
export function thisProcess(): ProcessIdentity | null {
  const place = thisPlace();
  const began = place && beginningOf(process.pid);
  return place && began ? { ...place, pid: process.pid, began: began.at } : null;
}

/** Whether the process has certainly ended. False for a process of another machine, boot or container. */
export function hasEnded(other: ProcessIdentity): boolean {
  const place = thisPlace();
  if (place?.boot !== other.boot || place.pid_namespace !== other.pid_namespace) return false;
  try {
    process.kill(other.pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return true;
  }
  // Another process may have the number by now, or the process is a zombie that its parent has not reaped.
  const there = beginningOf(other.pid);
  return there !== null && (there.is_zombie || there.at !== other.began);
}

function thisPlace(): Pick<ProcessIdentity, 'boot' | 'pid_namespace'> | null {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return { boot, pid_namespace: readlinkSync('/proc/self/ns/pid') };
  } catch {
    return null;
  }
}

/** Reads `/proc/PID/stat`, where the state follows the name; the name is in brackets and may hold any character. */
function beginningOf(pid: number): { at: string; is_zombie: boolean } | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const words = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { at: words[19]!, is_zombie: words[0] === 'Z' };
  } catch {
    return null;
  }
}
