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
