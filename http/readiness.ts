// Whether the service does its work, wherever its roles run: looked at every second, so that asking costs nothing.
import { Gauge, type Registry } from 'prom-client';
import type { RoleWatch } from '../roles/role-signs.ts';
import { openGauge } from './metrics.ts';

export interface ReadinessOptions {
  /** Of the log, and where the read models are. */
  head(): Promise<string>;
  position(): Promise<string>;
  roles: RoleWatch;
  registry: Registry;
  monotonic?: () => number;
  every_ms?: number;
}

/** Its message says what is wrong, in words that anybody may read. */
export class NotReady extends Error {}

const LOOK_MS = 1_000;
/** A store that has not answered for so long is away. */
const ANSWER_MS = 3_000;
/** The read models stand still while the log goes on. */
const STILL_MS = 10_000;
/** They move on, but show what was true so long ago. */
const LAG_MS = 60_000;

const WORKERS = ['projector', 'processes', 'checker'] as const;

export interface Readiness {
  /** Each throws `NotReady` when it does not hold. */
  checks: Readonly<Record<string, () => Promise<void>>>;
  /** Looks once, now. */
  look(): Promise<void>;
  close(): void;
}

export function openReadiness(options: ReadinessOptions): Readiness {
  const { roles, monotonic = () => performance.now() } = options;
  const opened_at = monotonic();
  /** When each last answered. */
  const answered = new Map<string, number>();
  let position = '';
  let moved_at = opened_at;
  /** Heads of the log that the read models have not reached, the oldest first, and when each was seen. */
  let ahead: { head: string; at: number }[] = [];

  async function answer<T>(name: string, ask: () => Promise<T>, use: (answer: T) => void): Promise<void> {
    const given = await ask();
    answered.set(name, monotonic());
    use(given);
  }
  function seenHead(head: string): void {
    if (head <= (ahead.at(-1)?.head ?? position)) return;
    ahead.push({ head, at: monotonic() });
    // Of a long time some moments are enough.
    if (ahead.length > MAX_AHEAD) ahead = ahead.filter((_, n) => n % 2 === 0);
  }
  function seenPosition(at: string): void {
    if (at !== position) moved_at = monotonic();
    position = at;
    ahead = ahead.filter(({ head }) => head > position);
  }
  /** Beside each other, so that a store that is away holds up none of the others. */
  const looks = [
    () => answer('event_log', options.head, seenHead),
    () => answer('documents', options.position, seenPosition),
    () =>
      answer(
        'roles',
        () => roles.look(),
        () => {},
      ),
  ];
  const look = async () => {
    await Promise.allSettled(looks.map((one) => one()));
  };
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
    if (alive.length === 0) throw new NotReady('none gives a sign of life');
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
    if (users.length === 0) throw new NotReady('nobody who uses it gives a sign of life');
    if (users.every((sign) => !sign.queue_answers)) throw new NotReady('it does not answer');
  }
  const checks: Record<string, () => Promise<void>> = {
    event_log: async () => assertAnswers('event_log'),
    documents: async () => assertAnswers('documents'),
    queue: async () => assertQueue(),
    projector: async () => {
      assertWorks('projector');
      assertMovesOn();
    },
    processes: async () => assertWorks('processes'),
    checker: async () => assertWorks('checker'),
  };
  measure(options.registry, checks, roles, lag_ms);
  return {
    checks,
    look,
    close() {
      for (const stop of timers) stop();
    },
  };
}

const MAX_AHEAD = 1_000;

/** Never two at once; what fails is seen by its age. */
function repeatedly(work: () => Promise<void>, every_ms: number): () => void {
  let stopped = false;
  let timer: NodeJS.Timeout;
  const run = async () => {
    await work().catch(() => {});
    if (!stopped) timer = setTimeout(run, every_ms);
  };
  void run();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}

function measure(registry: Registry, checks: Readiness['checks'], roles: RoleWatch, lag_ms: () => number): void {
  new Gauge({
    name: 'service_ready',
    help: 'What must work, by name: 1 when it does.',
    labelNames: ['check'] as const,
    registers: [registry],
    async collect() {
      for (const [check, holds] of Object.entries(checks)) {
        const [outcome] = await Promise.allSettled([holds()]);
        this.set({ check }, outcome.status === 'fulfilled' ? 1 : 0);
      }
    },
  });
  new Gauge({
    name: 'service_roles_alive',
    help: 'Processes that give signs of life, by role and what they do.',
    labelNames: ['role', 'state'] as const,
    registers: [registry],
    collect() {
      for (const role of WORKERS) {
        for (const state of ['working', 'standing_by', 'waiting']) {
          this.set({ role, state }, roles.alive(role).filter((sign) => sign.state === state).length);
        }
      }
    },
  });
  const help = 'How long ago the log had what the read models do not show yet.';
  openGauge(registry, { name: 'read_models_lag_seconds', help }, () => lag_ms() / 1000);
}
