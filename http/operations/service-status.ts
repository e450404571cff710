// The live state of the service for operators: what each process says of itself and of the servers that it uses, and how far each
// follower of the log is. Every question to a store is bounded in time; what a store does not answer is said so.
import { hostname } from 'node:os';
import type { EventStore, Position } from '../../events/event-store.ts';
import type { Documents } from '../../readmodels/documents.ts';
import { type DependencyState, type ProbedDependencies, within } from '../../roles/dependencies.ts';
import { type RoleSign, type RoleWatch, SILENT_MS } from '../../roles/role-signs.ts';
import { type FollowerStatus, openFollowers } from '../server/followers.ts';

/** A store gets this long for an answer. */
const ANSWER_MS = 1500;
export interface ServiceStatus {
  ready: Record<string, string | null>;
  dependencies: (DependencyState & { seen_by: number; away_for: number })[];
  processes: { sign: RoleSign; silent_ms: number | null }[];
  /** Null while the store of documents or the log does not answer. */
  followers: FollowerStatus[] | null;
  head: Position | null;
}

export interface StatusParts {
  log: EventStore;
  documents: Documents;
  /** The log and the documents, as readiness finds them. */
  stores: () => DependencyState[];
  /** Whether the conditions of `/readyz` hold. */
  checks: Readonly<Record<string, () => Promise<void>>>;
  roles: RoleWatch;
  /** What else this process uses. */
  probed: ProbedDependencies;
  now: () => number;
}

export function openServiceStatus(parts: StatusParts): () => Promise<ServiceStatus> {
  const { log, documents, stores, checks, roles, probed, now } = parts;
  const followers = openFollowers({ log, documents, now });
  return async () => {
    const [read] = await Promise.all([within(ANSWER_MS, followers()), probed.ask()]);
    const signs = roles.all();
    const ready = await Promise.all(
      Object.entries(checks).map(async ([name, holds]) => {
        const outcome = await holds().then(
          () => null,
          (error: Error) => error.message,
        );
        return [name, outcome] as const;
      }),
    );
    // This process has asked just now; its own heartbeat is older.
    const others = signs.filter(({ sign, silent_ms }) => silent_ms !== null && silent_ms < SILENT_MS && !isOwn(sign));
    const seen = [...stores(), ...probed.states(), ...others.flatMap(({ sign }) => sign.dependencies ?? [])];
    const by_name = Object.values(Object.groupBy(seen, ({ name }) => name)).map((states) => states!);
    const missing = ['queue', 'mail'].filter((name) => !seen.some((state) => state.name === name));
    return {
      ready: Object.fromEntries(ready),
      dependencies: [...by_name, ...missing.map((name) => [unknownOf(name)])].map(together),
      processes: signs,
      followers: read?.followers ?? null,
      head: read?.head ?? null,
    };
  };
}

const isOwn = ({ role, machine, pid }: RoleSign) => role === 'http' && pid === process.pid && machine === hostname();

const unknownOf = (name: string): DependencyState => ({
  name,
  kind: 'unknown',
  status: 'unknown',
  latency_ms: null,
  for_ms: 0,
});

/** One state of what several processes see: it answers when it answers one of them. */
function together(states: readonly DependencyState[]) {
  const answering = states.filter(({ status }) => status === 'ok');
  const away_for = states.filter(({ status }) => status === 'away').length;
  const shown = answering.length > 0 ? answering : states;
  const best = shown.reduce((a, b) => ((b.latency_ms ?? Infinity) < (a.latency_ms ?? Infinity) ? b : a));
  return { ...best, for_ms: Math.max(...shown.map(({ for_ms }) => for_ms)), seen_by: states.length, away_for };
}
