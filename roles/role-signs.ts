// Signs of life: each role that runs, wherever it does, keeps a document in which it counts up. Whoever wants to know
// whether a role works watches the counts by a clock of its own; no wall clock is compared with another.
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Collection, CollectionSpec, Document, Documents } from '../readmodels/documents.ts';
import { pause } from '../time/pause.ts';
import type { RoleState, Say } from './leases.ts';

export interface RoleSign extends Document {
  role: string;
  /** Goes up with every sign. */
  count: number;
  state: RoleState;
  /** Why it waits. */
  reason: string | null;
  /** Whether the queue answers it; null for roles that do not use it. */
  queue_answers: boolean | null;
  /** For people who look: where it runs. */
  machine: string;
}

const roleSigns: CollectionSpec<RoleSign> = { name: 'role_signs', fields: {}, indexes: [] };

export const SIGN_MS = 1_000;
/** A role that has given no sign for so long is not counted on. */
export const SILENT_MS = 5_000;
/** A sign that has stood still for so long belongs to a process that is gone. */
const FORGET_MS = 10 * 60_000;

export interface RoleSigns {
  say: Say;
  /** The last sign is taken back. */
  stop(): Promise<void>;
}

export interface GivingOptions {
  documents: Documents;
  role: string;
  /** Throws when the queue does not answer; unset: the role does not use it. */
  askQueue?: () => Promise<unknown>;
  every_ms?: number;
}

/** Gives signs until it is stopped. While the documents are away there are none, which says enough. */
export function giveRoleSigns({ documents, role, askQueue, every_ms = SIGN_MS }: GivingOptions): RoleSigns {
  const stopped = new AbortController();
  const { signal } = stopped;
  const said: { state: RoleState; reason: string | null } = { state: 'waiting', reason: 'it starts' };
  const _id = `${role}/${randomUUID()}`;
  let queue_answers: boolean | null = null;
  let count = 0;
  let woken = new AbortController();

  async function give(): Promise<void> {
    let signs: Collection<RoleSign> | null = null;
    while (!signal.aborted) {
      try {
        signs ??= await documents.collection(roleSigns);
        count += 1;
        await signs.write([{ replace: { _id, role, count, ...said, queue_answers, machine: hostname() } }]);
      } catch {
        // Whoever watches sees that it stands still.
      }
      await pause(every_ms, AbortSignal.any([signal, woken.signal]));
      woken = new AbortController();
    }
    await signs?.write([{ delete: _id }]).catch(() => {});
  }
  /** Beside the signs: a queue that is away is asked for many seconds. */
  async function lookAtQueue(): Promise<void> {
    while (askQueue && !signal.aborted) {
      const answers = await askQueue().then(
        () => true,
        () => false,
      );
      if (answers !== queue_answers) woken.abort();
      queue_answers = answers;
      await pause(every_ms, signal);
    }
  }
  const giving = give();
  void lookAtQueue();
  return {
    say(state, reason) {
      if (said.state !== state) woken.abort();
      said.state = state;
      said.reason = reason ?? null;
    },
    async stop() {
      stopped.abort();
      await giving;
    },
  };
}

export interface RoleWatch {
  /** Reads all signs once. Throws when the documents do not answer. */
  look(): Promise<void>;
  /** The signs of a role that have moved of late. */
  alive(role: string): RoleSign[];
}

export function openRoleWatch(
  documents: Documents,
  { monotonic = () => performance.now(), silent_ms = SILENT_MS } = {},
): RoleWatch {
  const seen = new Map<string, { sign: RoleSign; moved_at: number | null; since: number }>();
  let signs: Collection<RoleSign> | null = null;
  return {
    async look() {
      signs ??= await documents.collection(roleSigns);
      const found = await signs.find({}, { limit: MAX_SIGNS });
      const now = monotonic();
      const ids = new Set(found.map(({ _id }) => _id));
      for (const id of seen.keys()) if (!ids.has(id)) seen.delete(id);
      for (const sign of found) {
        const before = seen.get(sign._id);
        const moved = before !== undefined && before.sign.count !== sign.count;
        // Its first sight says nothing: it may be what a process left that was killed long ago.
        if (!before || moved) seen.set(sign._id, { sign, moved_at: moved ? now : null, since: now });
      }
      const gone = [...seen.values()].filter(({ since }) => now - since > FORGET_MS).map(({ sign }) => sign._id);
      if (gone.length > 0) await signs.write(gone.map((id) => ({ delete: id })));
    },
    alive(role) {
      const now = monotonic();
      const fresh = [...seen.values()].filter(({ moved_at }) => moved_at !== null && now - moved_at < silent_ms);
      return fresh.map(({ sign }) => sign).filter((sign) => sign.role === role);
    },
  };
}

/** More roles than any deployment has. */
const MAX_SIGNS = 10_000;
