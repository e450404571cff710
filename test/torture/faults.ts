// What goes wrong with a shape, one thing after the other and at times two at once, until the time is up; then all of it is
// taken back.
import { setTimeout as sleep } from 'node:timers/promises';
import { ALL_PROJECTIONS } from '../../projections/all.ts';
import { fairNow, slowness } from './fair-clock.ts';
import type { Random } from './random.ts';
import type { Shape } from './shapes.ts';

const MINUTE = 60_000;
/** Right, half an hour fast, an hour slow. */
const OFFSETS_MS = [0, 30 * MINUTE, -60 * MINUTE];

const ENDED_WHILE_STARTING = 143;
/** The service ends its roles after 14 s and exits with 1. */
const CUT_OFF = 1;
/** It kills itself after 20 s, when a thread hangs outside of JavaScript, and logs that. A kill by anything else is a violation. */
const KILLED = 137;
const KILLS_ITSELF = 'the service kills itself';
/** The driver's own processes make it some 5. */
const STARVED = 10;
/** Past the lease of a role, which is 6 s. */
const PAST_LEASE_MS = 12_000;

/** A time in which something was wrong, by the fair clock. */
export interface Span {
  what: string;
  from: number;
  to: number;
}

export interface Faults {
  /** Resolves when the last one is over. */
  run(for_ms: number): Promise<void>;
  spans: readonly Span[];
  /** How many of each kind. */
  counts: ReadonlyMap<string, number>;
  /** What is wrong now, to read. */
  current(): string;
}

interface Fault {
  kind: string;
  weight: number;
  /** Nothing else is wrong meanwhile. */
  is_alone?: boolean;
  run(): Promise<void>;
}

/** `violated`: hears of a role that was asked to end and did not end well. `rebuild` asks the service to make a projection anew. */
export function openFaults(
  shape: Shape,
  random: Random,
  violated: (what: string) => void,
  rebuild: (projection: string) => Promise<void>,
): Faults {
  const spans: Span[] = [];
  const counts = new Map<string, number>();
  const { processes, servers, disk } = shape;
  const durable = servers.filter(({ is_durable }) => is_durable);
  /** Each part is troubled by one fault at a time. */
  const troubled = new Set<object>();

  async function troubling<T extends object>(among: readonly T[], run: (one: T) => Promise<void>): Promise<void> {
    const free = among.filter((one) => !troubled.has(one));
    if (free.length === 0) return;
    const one = random.pick(free);
    troubled.add(one);
    await run(one).finally(() => troubled.delete(one));
  }

  const kinds: Fault[] = [
    {
      kind: 'kill -9 of a role',
      weight: 6,
      run: () => troubling(processes, (role) => role.kill(random.between(0, 1500))),
    },
    {
      kind: 'SIGTERM of a role',
      weight: 2,
      run: () =>
        troubling(processes, async (role) => {
          const began = fairNow();
          const code = await role.restart();
          const others = spans.filter(({ what, to }) => what !== 'SIGTERM of a role' && to > began - PAST_LEASE_MS);
          // A role may not end in time while a store is away or the processor is.
          const is_excused = others.length > 0 || slowness() > STARVED;
          const kills_itself = code === KILLED && role.lastLines().includes(KILLS_ITSELF);
          const is_cut_off = (code === CUT_OFF || kills_itself) && is_excused;
          if (code !== 0 && code !== ENDED_WHILE_STARTING && !is_cut_off)
            violated(`${role.name} was asked to end and did so with ${code}: ${role.lastLines()}`);
        }),
    },
    {
      kind: 'SIGSTOP of a role',
      weight: 2,
      run: () => troubling(processes, (role) => role.freeze(random.between(500, 4000))),
    },
    {
      kind: 'SIGSTOP of a role past its lease',
      weight: 2,
      run: () => troubling(processes, (role) => role.freeze(PAST_LEASE_MS)),
    },
    { kind: 'a rebuild', weight: 2, run: () => rebuild(random.pick(ALL_PROJECTIONS).name) },
    { kind: 'a step of the clock', weight: 2, run: () => shape.step(random.pick(OFFSETS_MS)) },
  ];
  if (disk) {
    kinds.push({
      kind: 'a full disk',
      weight: 2,
      is_alone: true,
      async run() {
        await disk.fill();
        await sleep(random.between(1000, 6000));
        await disk.empty();
      },
    });
  }
  if (servers.length > 0) {
    kinds.push(
      {
        kind: 'a server cut off',
        weight: 5,
        run: () =>
          troubling(servers, async ({ proxy }) => {
            await proxy.cut();
            await sleep(random.chance(0.2) ? random.between(12_000, 20_000) : random.between(200, 5000));
            await proxy.open();
          }),
      },
      {
        kind: 'kill -9 of a server',
        weight: 2,
        run: () => troubling(durable, ({ program }) => program.kill(random.between(0, 3000))),
      },
      {
        kind: 'SIGSTOP of a server',
        weight: 2,
        run: () => troubling(servers, ({ program }) => program.freeze(random.between(500, 12_000))),
      },
    );
  }
  const drawn = kinds.flatMap((fault) => Array<Fault>(fault.weight).fill(fault));

  async function trouble(fault: Fault): Promise<void> {
    counts.set(fault.kind, (counts.get(fault.kind) ?? 0) + 1);
    const span = { what: fault.kind, from: fairNow(), to: Number.POSITIVE_INFINITY };
    spans.push(span);
    await fault.run();
    span.to = fairNow();
  }

  return {
    spans,
    counts,
    current: () =>
      spans
        .filter(({ to }) => to > fairNow() - 3000)
        .map(({ what }) => what)
        .join(', ') || 'nothing',
    async run(for_ms) {
      const until = performance.now() + for_ms;
      let beside: Promise<void> = Promise.resolve();
      while (performance.now() < until) {
        await sleep(random.between(300, 2500));
        const fault = random.pick(drawn);
        if (fault.is_alone) await beside;
        const troubling = trouble(fault);
        if (fault.is_alone || random.chance(0.7)) await troubling;
        else {
          await beside;
          beside = troubling;
        }
      }
      await beside;
    },
  };
}
