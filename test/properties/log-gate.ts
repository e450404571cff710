// The event log as several processes see it, each of whose calls waits until the test lets it through: one at a time,
// in an order that the test picks, and with the faults that it plans. Everything that was ever stored is witnessed.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { AppendResult, EventStore, ExpectedRevision, NewEvent } from '../../events/event-store.ts';
import { categoryOf } from '../../events/streams.ts';

export const FAULTS = [
  /** Nothing is done, and the caller hears of a fault. */
  'refused',
  /** It is done, and the caller hears of a fault. */
  'lost',
  /** The caller hears of a fault; an append is done at some time after that. */
  'late',
  /** Somebody else writes to the stream first. */
  'overtaken',
  /** The process ends before or after the call is done. */
  'killed before',
  'killed after',
] as const;
export type Fault = (typeof FAULTS)[number];

export interface Plan {
  /** Which of the calls that wait is next, each modulo their number; the first one when there are no more picks. */
  picks: readonly number[];
  /** What goes wrong with the n-th call. */
  faults: readonly { call: number; fault: Fault }[];
}

export class Unavailable extends Error {
  readonly code = 'unavailable';
}
export class Killed extends Error {}

/** An event that was stored, whether or not its stream was deleted since. In order of the log. */
export interface Witnessed {
  stream: string;
  revision: number;
  type: string;
  data: unknown;
  metadata: NewEvent['metadata'];
}

export interface LogOfProcess {
  log: EventStore;
  killed(): boolean;
}

export interface LogGate {
  witnessed: readonly Witnessed[];
  /** How many faults were met. */
  faults: number;
  open(): LogOfProcess;
  /** Runs the tasks at the same time; with their results when all have ended. */
  run<R>(tasks: readonly (() => Promise<R>)[], plan: Plan): Promise<PromiseSettledResult<R>[]>;
  /** Work that no call of the others may come into. */
  alone<R>(work: () => Promise<R>): Promise<R>;
  /** Does the late appends that wait still. */
  deliverLate(): Promise<void>;
}

/** What waits for its turn; resolves when it is done, whatever came of it. */
type Turn = (fault: Fault | undefined) => Promise<void>;

/** A task that lost a race pauses for at most this long before it tries again. */
const BACK_OFF_MS = 250;
const CALM_TURNS = 3;

/** `overtake`: appends to the stream by a process of its own, where it can. */
export function openLogGate(log: EventStore, overtake: (stream: string, log: EventStore) => Promise<void>): LogGate {
  const witnessed: Witnessed[] = [];
  const lengths = new Map<string, number>();
  const waiting: Turn[] = [];
  /** Appends that are on their way, of this run and of those before. */
  const late: Turn[] = [];
  let arrivals = 0;
  let running = false;
  /** By process and stream: when it was told of a conflict, after which it comes again. */
  const backing_off = new Map<string, number>();
  let processes = 0;

  async function append(
    stream: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
  ): Promise<AppendResult> {
    const result = await log.append(stream, expected, events);
    const first = expected === 'no_stream' ? 0 : expected + 1;
    if (result.ok && first === (lengths.get(stream) ?? 0)) {
      const stored = events.map(({ type, data, metadata }, n) => ({
        stream,
        revision: first + n,
        type,
        data,
        metadata,
      }));
      witnessed.push(...structuredClone(stored));
      lengths.set(stream, result.revision + 1);
    }
    return result;
  }
  const overtaking: EventStore = { ...unbound(log), append };

  /** Waits for the call's turn, then does it, with the fault that is planned for it. */
  function turn<R>(of: { dead: boolean }, work: () => Promise<R>, stream: string | null): Promise<R> {
    const done = Promise.withResolvers<R>();
    arrivals++;
    const take: Turn = async (fault) => {
      try {
        if (of.dead) throw new Killed();
        if (fault) gate.faults++;
        if (fault === 'overtaken' && stream) await overtake(stream, overtaking);
        if (fault === 'killed before') of.dead = true;
        if (fault === 'late' && stream) late.push(() => work().then(() => {}));
        if (fault === 'refused' || fault === 'late') throw new Unavailable('no answer');
        if (of.dead) throw new Killed();
        const result = await work();
        if (fault === 'killed after') of.dead = true;
        if (of.dead) throw new Killed();
        if (fault === 'lost') throw new Unavailable('no answer');
        done.resolve(result);
      } catch (error) {
        done.reject(error);
      }
    };
    if (running) waiting.push(take);
    else void take(undefined);
    return done.promise;
  }

  /** Until nobody comes any more without being let through. */
  async function calm(): Promise<void> {
    for (let quiet = 0; quiet < CALM_TURNS; ) {
      const before = arrivals;
      await nextTurn();
      for (const [key, since] of backing_off) if (performance.now() - since > BACK_OFF_MS) backing_off.delete(key);
      quiet = arrivals === before && backing_off.size === 0 ? quiet + 1 : 0;
    }
  }

  const gate: LogGate = {
    witnessed,
    faults: 0,
    open() {
      const process = { dead: false };
      const name = processes++;
      const call = <R>(work: () => Promise<R>, stream: string | null = null) => turn(process, work, stream);
      const of_process: EventStore = {
        ...unbound(log),
        async append(stream, expected, events) {
          const result = await call(() => append(stream, expected, events), stream);
          const retried = !['checks', 'urls'].includes(categoryOf(stream));
          if (!result.ok && retried) backing_off.set(`${name}/${stream}`, performance.now());
          return result;
        },
        async *readStream(stream, options) {
          backing_off.delete(`${name}/${stream}`);
          yield* await call(() => Array.fromAsync(log.readStream(stream, options)));
        },
        lastId: (stream) => {
          backing_off.delete(`${name}/${stream}`);
          return call(() => log.lastId!(stream));
        },
        deleteStream: (stream) => call(() => log.deleteStream(stream)),
      };
      return { log: of_process, killed: () => process.dead };
    },
    async run(tasks, { picks, faults }) {
      running = true;
      let left = tasks.length;
      const results = tasks.map((task) => task().finally(() => left--));
      const settled = Promise.allSettled(results);
      for (let call = 0; left > 0; call++) {
        await calm();
        while (left > 0 && waiting.length === 0) await nextTurn();
        if (waiting.length === 0) break;
        const pick = (picks[call] ?? 0) % (waiting.length + late.length);
        const from = pick < waiting.length ? waiting : late;
        const [next] = from.splice(pick < waiting.length ? pick : pick - waiting.length, 1);
        await next!(faults.find((planned) => planned.call === call)?.fault);
      }
      running = false;
      backing_off.clear();
      for (const next of waiting.splice(0)) await next(undefined);
      return settled;
    },
    alone: (work) => turn({ dead: false }, work, null),
    async deliverLate() {
      for (const deliver of late.splice(0)) await deliver(undefined);
    },
  };
  return gate;
}

/** The methods of a store as plain functions. */
const unbound = (log: EventStore): EventStore => ({
  append: (...args) => log.append(...args),
  readStream: (...args) => log.readStream(...args),
  lastId: (stream) => log.lastId!(stream),
  readAll: (...args) => log.readAll(...args),
  subscribe: (...args) => log.subscribe(...args),
  head: () => log.head(),
  deleteStream: (stream) => log.deleteStream(stream),
  close: () => log.close(),
});
