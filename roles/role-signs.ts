// Heartbeats: each running role raises a count in its document. A watcher tells by its own monotonic clock whether the count
// moves; no wall clock is compared with another.
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Collection, CollectionSpec, Document, Documents } from '../readmodels/documents.ts';
import { pause } from '../time/pause.ts';
import type { CertificateSign } from './certificates.ts';
import type { DependencyState } from './dependencies.ts';
import { type DiskSign, diskOf, watchDisk } from './disk.ts';
import type { RoleState } from './holding.ts';
import type { ManagerSign } from './managers.ts';
import { VERSION } from './version.ts';

export interface RoleSign extends Document {
  role: string;
  /** Goes up with every heartbeat. */
  count: number;
  state: RoleState;
  /** Why the role waits; null otherwise. */
  reason: string | null;
  /** Whether the queue answers the role; null for roles that do not use it. */
  queue_answers: boolean | null;
  /** The name of the role's machine and its process there, for operators. */
  machine: string;
  pid?: number;
  /** The version of the service. */
  version?: string;
  uptime_ms?: number;
  /** The machine's clock at the heartbeat, in Unix milliseconds. */
  clock_ms?: number;
  /** The disk of the role's DATA_DIR; null where it cannot be read. */
  disk?: DiskSign | null;
  /** The stores and servers that the role uses, as it finds them. */
  dependencies?: DependencyState[];
  /** The work that the role has handed out; null while it hands out none. */
  work?: HandedOut | null;
  /** The process managers; null for a role that runs none. */
  managers?: ManagerSign[] | null;
  /** Until when the certificates hold that the role watches. */
  certificates?: CertificateSign[];
  /** What the continuous audit of the ledger knows; null for a role that runs none. */
  ledger_audit?: LedgerAuditSign | null;
}

export interface LedgerAuditSign {
  /** The log was audited up to here. */
  position: string;
  entries: number;
  violations: number;
  /** The first of them. */
  found: {
    rule: string;
    position: string | null;
    stream: string | null;
    revision: number | null;
    message: string;
  }[];
  /** When this audit of the whole ledger began. */
  began_at: string;
  /** When it last reached the end of the log; null before. */
  completed_at: string | null;
}

/** Published work without results. */
export interface HandedOut {
  jobs: number;
  batches: number;
  urls: number;
  /** The URLs of each job; of the first jobs where there are very many. Missing in heartbeats of an earlier version. */
  urls_by_job?: Readonly<Record<string, number>>;
  /** Batches that the queue lost: those that are not published again yet, and all of them. Missing in heartbeats of an earlier version. */
  lost?: { waiting: number; batches: number };
  /** The batch that was published first. */
  oldest: { job_id: string; for_ms: number } | null;
  /** Messages that wait in the queue. */
  queue_depth: number | null;
}

/** What the dispatcher tells; `waiting`: the messages to one checker each that wait. */
export type WorkSign = Omit<HandedOut, 'queue_depth'> & { waiting: number };

/** `for_anyone`: the messages that wait for whichever checker takes them; null while the queue does not answer. */
const withDepth = ({ waiting, ...work }: WorkSign, for_anyone: number | null): HandedOut => ({
  ...work,
  queue_depth: for_anyone === null ? null : for_anyone + waiting,
});

export const roleSigns: CollectionSpec<RoleSign> = { name: 'role_signs', fields: {}, indexes: [], is_small: true };

/** A heartbeat names at most this many jobs. */
export const MAX_HANDED_OUT_JOBS = 1000;
const SIGN_MS = 1_000;
/** A role without a heartbeat for this long counts as dead. */
export const SILENT_MS = 4_000;
/** A document whose count has not moved for this long belongs to an ended process and is deleted. */
const FORGET_MS = 10 * 60_000;

export type RoleSigns = ReturnType<typeof giveRoleSigns>;

export interface GivingOptions {
  documents: Documents;
  role: string;
  /** Throws when the queue does not answer. Unset: the role does not use the queue. */
  askQueue?: () => Promise<unknown>;
  dependencies?: () => DependencyState[];
  queue_depth?: () => number | null;
  certificates?: () => CertificateSign[];
  /** The role's DATA_DIR. */
  data_dir?: string;
  /** Default: looks at `data_dir`. */
  disk?: () => Promise<DiskSign | null>;
  every_ms?: number;
}

/** Gives heartbeats until `stop`. While the store of documents is away there are none, and watchers count the role as dead. */
export function giveRoleSigns(options: GivingOptions) {
  const { documents, role, askQueue, every_ms = SIGN_MS } = options;
  const began = performance.now();
  const { disk = watchDisk(() => diskOf(options.data_dir)) } = options;
  let handed_out: (() => WorkSign) | null = null;
  let managers: (() => ManagerSign[]) | null = null;
  let audit: (() => LedgerAuditSign | null) | null = null;
  const facts = () => ({
    ...{ machine: hostname(), pid: process.pid, version: VERSION, uptime_ms: Math.round(performance.now() - began) },
    dependencies: options.dependencies?.() ?? [],
    work: handed_out && withDepth(handed_out(), options.queue_depth?.() ?? null),
    managers: managers?.() ?? null,
    ledger_audit: audit?.() ?? null,
    certificates: options.certificates?.() ?? [],
  });
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
      const known = facts();
      try {
        signs ??= await documents.collection(roleSigns);
        count += 1;
        const found = { ...known, clock_ms: Date.now(), disk: await disk() };
        // A question may wait for a queue that is away for as long as that is.
        const hangs = found.dependencies.some(({ name, status }) => name === 'queue' && status === 'away');
        const answers = hangs && queue_answers !== null ? false : queue_answers;
        await signs.write([{ replace: { _id, role, count, ...current, queue_answers: answers, ...found } }]);
      } catch {
        // The store is away, or the disk is: watchers see that the count does not move.
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
    say(state: RoleState, reason?: string): void {
      if (current.state !== state) woken.abort();
      current.state = state;
      current.reason = reason ?? null;
    },
    /** Sets the function that tells of the work that the role has handed out. */
    measure(work: () => WorkSign): void {
      handed_out = work;
    },
    /** Sets the function that tells of the process managers. */
    managing(signs: () => ManagerSign[]): void {
      managers = signs;
    },
    /** Sets the function that tells of the audit of the ledger. */
    audited(sign: () => LedgerAuditSign | null): void {
      audit = sign;
    },
    /** Ends the heartbeats and deletes their document. */
    async stop(): Promise<void> {
      stopped.abort();
      await giving;
    },
  };
}

/** A heartbeat is a moment old when it is seen, which says nothing of the clocks. */
const SEEN_LATE_MS = 2_000;
const apartOf = ({ clock_ms }: RoleSign, now_ms: number) =>
  clock_ms === undefined ? 0 : Math.max(0, Math.abs(clock_ms - now_ms) - SEEN_LATE_MS);

export type RoleWatch = ReturnType<typeof openRoleWatch>;

export function openRoleWatch(
  documents: Documents,
  { monotonic = () => performance.now(), now = Date.now, silent_ms = SILENT_MS } = {},
) {
  const seen = new Map<string, { sign: RoleSign; moved_at: number | null; since: number; apart_ms: number }>();
  let signs: Collection<RoleSign> | null = null;
  return {
    /** Reads all heartbeats once. Throws when the store of documents does not answer. */
    async look(): Promise<void> {
      signs ??= await documents.collection(roleSigns);
      const found = await signs.find({}, { limit: MAX_SIGNS });
      const at = monotonic();
      const ids = new Set(found.map(({ _id }) => _id));
      for (const id of seen.keys()) if (!ids.has(id)) seen.delete(id);
      for (const sign of found) {
        const before = seen.get(sign._id);
        const moved = before !== undefined && before.sign.count !== sign.count;
        // The first look proves nothing: a process that was killed long ago may have left the document.
        if (!before || moved)
          seen.set(sign._id, { sign, moved_at: moved ? at : null, since: at, apart_ms: apartOf(sign, now()) });
      }
      const gone = [...seen.values()].filter(({ since }) => at - since > FORGET_MS).map(({ sign }) => sign._id);
      if (gone.length > 0) await signs.write(gone.map((id) => ({ delete: id })));
    },
    /** Returns the heartbeats of a role that have moved within `silent_ms`. */
    alive(role: string): RoleSign[] {
      const now = monotonic();
      const fresh = [...seen.values()].filter(({ moved_at }) => moved_at !== null && now - moved_at < silent_ms);
      return fresh.map(({ sign }) => sign).filter((sign) => sign.role === role);
    },
    /** How far the clocks of the machines that give heartbeats are apart from the one here, at the most, in ms. */
    clocks_apart_ms(): number {
      const at = monotonic();
      const fresh = [...seen.values()].filter(({ moved_at }) => moved_at !== null && at - moved_at < silent_ms);
      return Math.max(0, ...fresh.map(({ apart_ms }) => apart_ms));
    },
    /** Returns all heartbeats, each with the time since it moved; null for one that has not moved since this watch began. */
    all(): { sign: RoleSign; silent_ms: number | null }[] {
      const now = monotonic();
      return Array.from(seen.values(), ({ sign, moved_at }) => ({
        sign,
        silent_ms: moved_at === null ? null : now - moved_at,
      }));
    },
  };
}

/** What the process that hands out the work says of it; null while none does. */
export const workOf = (roles: Pick<RoleWatch, 'alive'>): HandedOut | null =>
  roles.alive('processes').find(({ state, work }) => state === 'working' && work)?.work ?? null;

/** What the process that runs the process managers says of them; empty while none does. */
export const managersOf = (roles: Pick<RoleWatch, 'alive'>): readonly ManagerSign[] =>
  roles.alive('processes').find(({ state, managers }) => state !== 'standing_by' && managers?.length)?.managers ?? [];

/** The ends of certificates, each as the process sees it that sees the earliest. */
export function certificatesOf(signs: readonly RoleSign[]): CertificateSign[] {
  const earliest = new Map<string, CertificateSign>();
  for (const one of signs.flatMap(({ certificates = [] }) => certificates)) {
    const known = earliest.get(one.of);
    if (known === undefined || one.ends_at < known.ends_at) earliest.set(one.of, one);
  }
  return [...earliest.values()].sort((a, b) => (a.ends_at < b.ends_at ? -1 : 1));
}

/** More than the roles of any deployment. */
const MAX_SIGNS = 10_000;
