// Heartbeats: each running role raises a count in its document. A watcher tells by its own monotonic clock whether the count
// moves; no wall clock is compared with another.
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Collection, CollectionSpec, Document, Documents } from '../readmodels/documents.ts';
import { pause } from '../time/pause.ts';
import type { RoleState, Say } from './leases.ts';

export interface RoleSign extends Document {
  role: string;
  /** Goes up with every heartbeat. */
  count: number;
  state: RoleState;
  /** Why the role waits; null otherwise. */
  reason: string | null;
  /** Whether the queue answers the role; null for roles that do not use it. */
  queue_answers: boolean | null;
  /** The name of the role's machine, for operators. */
  machine: string;
}

const roleSigns: CollectionSpec<RoleSign> = { name: 'role_signs', fields: {}, indexes: [] };

export const SIGN_MS = 1_000;
/** A role without a heartbeat for this long counts as dead. */
export const SILENT_MS = 5_000;
/** A document whose count has not moved for this long belongs to an ended process and is deleted. */
const FORGET_MS = 10 * 60_000;

export interface RoleSigns {
  say: Say;
  /** Ends the heartbeats and deletes their document. */
  stop(): Promise<void>;
}

export interface GivingOptions {
  documents: Documents;
  role: string;
  /** Throws when the queue does not answer. Unset: the role does not use the queue. */
  askQueue?: () => Promise<unknown>;
  every_ms?: number;
}

/** Gives heartbeats until `stop`. While the store of documents is away there are none, and watchers count the role as dead. */
export function giveRoleSigns({ documents, role, askQueue, every_ms = SIGN_MS }: GivingOptions): RoleSigns {
  const stopped = new AbortController();
  const { signal } = stopped;
  const current: { state: RoleState; reason: string | null } = { state: 'waiting', reason: 'it starts' };
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
        await signs.write([{ replace: { _id, role, count, ...current, queue_answers, machine: hostname() } }]);
      } catch {
        // Watchers see that the count does not move.
      }
      await pause(every_ms, AbortSignal.any([signal, woken.signal]));
      woken = new AbortController();
    }
    await signs?.write([{ delete: _id }]).catch(() => {});
  }
  /** Runs beside the heartbeats, because the question to a queue that is away takes many seconds. */
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
      if (current.state !== state) woken.abort();
      current.state = state;
      current.reason = reason ?? null;
    },
    async stop() {
      stopped.abort();
      await giving;
    },
  };
}

export interface RoleWatch {
  /** Reads all heartbeats once. Throws when the store of documents does not answer. */
  look(): Promise<void>;
  /** Returns the heartbeats of a role that have moved within `silent_ms`. */
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
        // The first look proves nothing: a process that was killed long ago may have left the document.
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

/** More than the roles of any deployment. */
const MAX_SIGNS = 10_000;
