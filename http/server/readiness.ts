// Watches whether the service does its work, wherever its roles run. It looks every second, so that a probe costs nothing.
import type { Registry } from 'prom-client';
import { DocumentsNotReady } from '../../readmodels/read-models.ts';
import { measureDependency } from '../../roles/dependencies.ts';
import { troubleOf } from '../../roles/managers.ts';
import { managersOf, type RoleWatch, workOf } from '../../roles/role-signs.ts';
import { openGauge } from '../frame/metrics.ts';
import { repeatedly } from '../frame/repeatedly.ts';

export interface ReadinessOptions {
  /** The head of the log, and the position of the read models. */
  head(): Promise<string>;
  position(): Promise<string>;
  roles: RoleWatch;
  registry: Registry;
  /** The bytes that are free on the disk of the embedded stores; missing where there is none. */
  freeBytes?(): Promise<number>;
  /** What the log and the store of documents are, for operators. */
  kinds?: { event_log: string; documents: string };
  monotonic?: () => number;
  every_ms?: number;
}

/** A condition does not hold. `/readyz` shows the message to everybody. */
export class NotReady extends Error {}

const LOOK_MS = 1_000;
/** A store is away when its last answer is older than this. */
const ANSWER_MS = 3_000;
/** The projector hangs when the read models have not moved for this long while the log grew. */
const STILL_MS = 10_000;
/** The most that moving read models may lag behind the log. */
const LAG_MS = 60_000;

/** With less on the disk, the next file that grows may find none. SQLite's own writes of small rows go on for a while. */
const FULL_BYTES = 8 * 2 ** 20;

const WORKERS = ['projector', 'processes', 'checker'] as const;

export type Readiness = ReturnType<typeof openReadiness>;

export function openReadiness(options: ReadinessOptions) {
  const { roles, freeBytes, monotonic = () => performance.now() } = options;
  const { event_log, documents } = options.kinds ?? { event_log: 'unknown', documents: 'unknown' };
  const measured = {
    event_log: measureDependency({ name: 'event_log', kind: event_log }, monotonic),
    documents: measureDependency({ name: 'documents', kind: documents }, monotonic),
  };
  const opened_at = monotonic();
  /** The monotonic time of each store's last answer. */
  const answered = new Map<string, number>();
  let position = '';
  let moved_at = opened_at;
  /** Why the read models may not be read. */
  let not_made: string | null = null;
  /** Heads of the log that the read models have not reached, the oldest first, each with the time at which the watch saw it. */
  let ahead: { head: string; at: number }[] = [];

  async function ask<T>(store: string, question: () => Promise<T>, use: (answer: T) => void = () => {}): Promise<void> {
    const answer = await question();
    answered.set(store, monotonic());
    use(answer);
  }
  function seenHead(head: string): void {
    if (head <= (ahead.at(-1)?.head ?? position)) return;
    ahead.push({ head, at: monotonic() });
    if (ahead.length > MAX_AHEAD) ahead = ahead.filter((_, n) => n % 2 === 0);
  }
  /** A store with documents that nobody may read answers all the same. */
  const positionOrNone = () =>
    options.position().catch((error: unknown) => {
      if (!(error instanceof DocumentsNotReady)) throw error;
      return error;
    });
  function seenPosition(at: string | DocumentsNotReady): void {
    not_made = typeof at === 'string' ? null : at.message;
    if (typeof at !== 'string') return;
    if (at !== position) moved_at = monotonic();
    position = at;
    ahead = ahead.filter(({ head }) => head > position);
  }
  /** The looks run concurrently, so that a store that is away delays no other look. */
  const looks = [
    () => ask('event_log', () => measured.event_log.ask(options.head), seenHead),
    () => ask('documents', () => measured.documents.ask(positionOrNone), seenPosition),
    () => ask('roles', () => roles.look()),
  ];
  const look = async () => {
    await Promise.allSettled(looks.map((one) => one()));
  };
  // A failed look shows in the age of the last answer.
  const timers = looks.map((one) => repeatedly(one, options.every_ms ?? LOOK_MS));

  const lag_ms = () => (ahead[0] ? monotonic() - ahead[0].at : 0);
  function assertAnswers(store: string): void {
    const at = answered.get(store);
    if (at === undefined || monotonic() - at > ANSWER_MS) throw new NotReady('it does not answer');
  }
  function assertWorks(role: string): void {
    assertAnswers('roles');
    const alive = roles.alive(role);
    if (alive.some(({ state }) => state === 'working')) return;
    if (alive.length === 0) throw new NotReady('no process of this role sends a heartbeat');
    throw new NotReady(alive.find(({ reason }) => reason !== null)?.reason ?? 'all stand by');
  }
  function assertMovesOn(): void {
    const still_ms = monotonic() - moved_at;
    const seconds = (ms: number) => `${Math.round(ms / 1000)} s`;
    if (still_ms >= STILL_MS && lag_ms() >= STILL_MS) {
      throw new NotReady(`the read models stand still since ${seconds(still_ms)}`);
    }
    if (lag_ms() >= LAG_MS) throw new NotReady(`the read models are ${seconds(lag_ms())} behind`);
  }
  function assertQueue(): void {
    const users = WORKERS.flatMap((role) => roles.alive(role)).filter((sign) => sign.queue_answers !== null);
    if (users.length === 0) throw new NotReady('no process that uses it sends a heartbeat');
    if (users.every((sign) => !sign.queue_answers)) throw new NotReady('it does not answer');
    const waiting = workOf(roles)?.lost?.waiting ?? 0;
    if (waiting > 0) throw new NotReady(`it has lost ${waiting} batches, which are sent again`);
  }
  const checks: Record<string, () => Promise<void>> = {
    event_log: async () => assertAnswers('event_log'),
    documents: async () => assertAnswers('documents'),
    ...(freeBytes && {
      disk: async () => {
        if ((await freeBytes()) < FULL_BYTES) throw new NotReady('there is no room on the disk of DATA_DIR');
      },
    }),
    queue: async () => assertQueue(),
    projector: async () => {
      assertWorks('projector');
      if (not_made !== null) throw new NotReady(not_made);
      assertMovesOn();
    },
    processes: async () => assertWorks('processes'),
    checker: async () => assertWorks('checker'),
  };
  const advisory = {
    async process_managers() {
      const troubles = managersOf(roles).flatMap((sign) => troubleOf(sign) ?? []);
      if (troubles.length > 0) throw new NotReady(troubles.join('; '));
    },
  };
  measure(options.registry, checks, roles, lag_ms);
  return {
    /** The conditions by name. Each throws `NotReady` when it does not hold. */
    checks,
    /** Conditions that leave the service ready: jobs go on meanwhile. */
    advisory,
    /** The log and the store of documents, as the looks find them. */
    stores: () => Object.values(measured).map((one) => one.state()),
    /** Looks at all stores and roles once. */
    look,
    close(): void {
      for (const stop of timers) stop();
    },
  };
}

const MAX_AHEAD = 1_000;

function measure(registry: Registry, checks: Readiness['checks'], roles: RoleWatch, lag_ms: () => number): void {
  openGauge(
    registry,
    {
      name: 'service_ready',
      help: '1 while the named condition of readiness holds, otherwise 0.',
      labelNames: ['check'],
    },
    async () => {
      const names = Object.keys(checks);
      const outcomes = await Promise.allSettled(names.map((name) => checks[name]!()));
      return outcomes.map(({ status }, n) => [{ check: names[n]! }, status === 'fulfilled' ? 1 : 0]);
    },
  );
  openGauge(
    registry,
    {
      name: 'service_roles_alive',
      help: 'Processes that send heartbeats, by role and state.',
      labelNames: ['role', 'state'],
    },
    () =>
      WORKERS.flatMap((role) =>
        ['working', 'standing_by', 'waiting'].map(
          (state) => [{ role, state }, roles.alive(role).filter((sign) => sign.state === state).length] as const,
        ),
      ),
  );
  const help = 'Age of the oldest position of the log that the read models have not reached.';
  openGauge(registry, { name: 'read_models_lag_seconds', help }, () => lag_ms() / 1000);
}
