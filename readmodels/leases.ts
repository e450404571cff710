// Leases: which one process does a thing that only one should do at a time. For thrift, never for exactness: two
// holders at once cost double work and nothing else.
import { hostname } from 'node:os';
import type { CollectionSpec, Document, Documents } from './documents.ts';
import { WriteConflict } from './documents.ts';

interface Lease extends Document {
  holder: string;
  /** Milliseconds since the epoch. */
  until: number;
}

const leases: CollectionSpec<Lease> = { name: 'leases', fields: {}, indexes: [] };

export interface LeaseKeeper {
  /** Takes or renews it; false while another process holds it. */
  hold(name: string, ttl_ms: number): Promise<boolean>;
  release(name: string): Promise<void>;
}

export async function openLeases(
  documents: Documents,
  options: { holder?: string; now?: () => number } = {},
): Promise<LeaseKeeper> {
  const holder = options.holder ?? `${hostname()}/${process.pid}`;
  const now = options.now ?? Date.now;
  await documents.collection(leases);
  return {
    async hold(name, ttl_ms) {
      try {
        return await documents.transaction(async (inside) => {
          const collection = await inside.collection(leases);
          const lease = await collection.get(name);
          const taken = lease && lease.holder !== holder && lease.until > now() && !isGone(lease.holder);
          if (taken) return false;
          await collection.write([{ replace: { _id: name, holder, until: now() + ttl_ms } }]);
          return true;
        });
      } catch (error) {
        if (error instanceof WriteConflict) return false;
        throw error;
      }
    },
    async release(name) {
      await documents.transaction(async (inside) => {
        const collection = await inside.collection(leases);
        if ((await collection.get(name))?.holder === holder) await collection.write([{ delete: name }]);
      });
    },
  };
}

/** Runs `run` while this process holds the lease; its signal aborts when the lease is lost. Waits for it otherwise. */
export async function whileHeld(
  leases: LeaseKeeper,
  name: string,
  signal: AbortSignal,
  run: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    if (!(await leases.hold(name, LEASE_MS))) {
      await pause(RETRY_MS, signal);
      continue;
    }
    const lost = new AbortController();
    const renewal = setInterval(() => {
      leases.hold(name, LEASE_MS).then(
        (held) => held || lost.abort(),
        () => lost.abort(),
      );
    }, LEASE_MS / 3);
    try {
      await run(AbortSignal.any([signal, lost.signal]));
    } finally {
      clearInterval(renewal);
    }
    if (signal.aborted) await leases.release(name);
  }
}

const LEASE_MS = 10_000;
const RETRY_MS = 500;

/** Ends early, without an error, when `signal` aborts. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
  });
}

/** Whether a holder on this machine has ended: after a crash nobody waits for its lease to run out. */
function isGone(holder: string): boolean {
  const [host, pid] = holder.split('/');
  if (host !== hostname()) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}
