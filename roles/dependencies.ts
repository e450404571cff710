// Measures the stores and servers that a process uses: whether each answers, how fast, and since when. A reader gets what is
// known and waits for no server.
import { connect } from 'node:net';
import { atMost, pause } from '../time/pause.ts';

/** A dependency is away while its last answer was an error, or a question waits for longer than this. */
const LATE_MS = 1500;

export interface DependencyState {
  name: string;
  /** What it is: `sqlite`, `mongodb`, `smtp`. */
  kind: string;
  /** `unknown`: it has not been asked yet. */
  status: 'ok' | 'away' | 'unknown';
  /** Of the last answer; null before the first one. */
  latency_ms: number | null;
  /** How long it has been so. */
  for_ms: number;
  /** Why it is away, where that is known. */
  reason?: string;
}

/** Its message is for operators, and has no secret. */
export class DependencyFault extends Error {}

export interface Measured {
  /** Asks and takes the time. Throws the question's error. */
  ask<Answer>(question: () => Promise<Answer>): Promise<Answer>;
  state(): DependencyState;
}

export function measureDependency(
  { name, kind }: Pick<DependencyState, 'name' | 'kind'>,
  monotonic: () => number = () => performance.now(),
): Measured {
  let status: DependencyState['status'] = 'unknown';
  let since = monotonic();
  let latency_ms: number | null = null;
  let reason: string | null = null;
  /** The times of the questions without an answer, the oldest first. */
  const waiting = new Set<number>();

  function found(next: DependencyState['status'], at: number): void {
    if (next !== status) since = at;
    status = next;
  }
  return {
    async ask(question) {
      const asked_at = monotonic();
      waiting.add(asked_at);
      try {
        const answer = await question();
        latency_ms = Math.round((monotonic() - asked_at) * 10) / 10;
        reason = null;
        found(latency_ms > LATE_MS ? 'away' : 'ok', asked_at);
        return answer;
      } catch (error) {
        reason = error instanceof DependencyFault ? error.message : null;
        found('away', asked_at);
        throw error;
      } finally {
        waiting.delete(asked_at);
      }
    },
    state() {
      const [oldest] = waiting;
      if (oldest !== undefined && monotonic() - oldest > LATE_MS) found('away', oldest);
      const for_ms = Math.round(monotonic() - since);
      return { name, kind, status, latency_ms, for_ms, ...(reason !== null && { reason }) };
    },
  };
}

export interface Probe extends Pick<DependencyState, 'name' | 'kind'> {
  /** Throws when the dependency is away. */
  ask: (signal: AbortSignal) => Promise<unknown>;
}

export interface ProbedDependencies {
  states(): DependencyState[];
  /** Asks all that are not being asked, and waits for the answers, at most 1.5 s. */
  ask(): Promise<void>;
}

/** Asks each dependency every `every_ms` until `signal` aborts, and whenever somebody wants to know. */
export function probeDependencies(
  probes: readonly Probe[],
  { signal, every_ms = 30_000 }: { signal: AbortSignal; every_ms?: number },
): ProbedDependencies {
  const probed = probes.map((probe) => ({
    probe,
    measured: measureDependency(probe),
    asking: null as Promise<void> | null,
  }));
  function askOne(one: (typeof probed)[number]): Promise<void> {
    const ask = () => one.probe.ask(AbortSignal.any([signal, AbortSignal.timeout(every_ms)]));
    one.asking ??= one.measured.ask(ask).then(
      () => void (one.asking = null),
      () => void (one.asking = null),
    );
    return one.asking;
  }
  const ask = async () => void (await within(LATE_MS + 1, Promise.all(probed.map(askOne))));
  void (async () => {
    for (; !signal.aborted; await pause(every_ms, signal)) await ask();
  })();
  return { ask, states: () => probed.map(({ measured }) => measured.state()) };
}

/** Null when the work fails, or takes longer. */
export async function within<Result>(limit_ms: number, work: Promise<Result>): Promise<Result | null> {
  const outcome = work.catch(() => null);
  return (await atMost(limit_ms, outcome)) ?? null;
}

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443, 'smtp:': 587, 'smtps:': 465 };

/** Resolves when the server of a URL takes a connection, which is closed at once. */
export function reachServer(url: string, signal: AbortSignal): Promise<void> {
  const { hostname, port, protocol } = new URL(url);
  return new Promise((resolve, reject) => {
    const host = hostname.replace(/^\[|\]$/g, '');
    const socket = connect({ host, port: Number(port) || DEFAULT_PORTS[protocol]!, signal });
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.destroy();
      resolve();
    });
  });
}
