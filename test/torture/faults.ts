// What goes wrong with a shape, one thing after the other and at times two at once, until the time is up; then all of it is
// taken back. Some faults come alone: then the driver measures how long the service stands still after it, and who was told.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Canary } from './canary.ts';
import { fairNow } from './fair-clock.ts';
import type { Fault, Run, Span, Told, World } from './fault.ts';
import { faultKinds } from './fault-kinds.ts';

/** The share of faults that come alone and are measured, where TORTURE_MEASURED sets no other. */
const MEASURED = 0.3;
const QUIET_MS = 3000;

/** A fault that came alone: after so much of the fair clock all was as before. */
export interface Measured {
  kind: string;
  /** The server that it struck, where it struck one. */
  server: string | null;
  back_ms: number;
  /** The same by the wall's clock, which a busy machine makes longer. */
  real_ms: number;
  most_ms: number;
  /** From its beginning; null: nobody was to be told. */
  told_ms: number | null;
}

export interface Faults {
  /** Resolves when the last one is over. */
  run(for_ms: number): Promise<void>;
  spans: readonly Span[];
  measured: readonly Measured[];
  /** How many of each kind. */
  counts: ReadonlyMap<string, number>;
  /** What is wrong now, to read. */
  current(): string;
}

/** `late` hears of a fault after which the service stands still for too long, `untold` of one that nobody is told of, `measured` of each that came alone. */
export interface Judges {
  late(what: string): void;
  untold(what: string): void;
  measured(one: Measured): void;
}

/** `only`: the kinds that are drawn; empty: all. */
export function openFaults(
  world: Omit<World, 'spans'>,
  canary: Canary,
  judges: Judges,
  only: readonly string[],
): Faults {
  const { random } = world;
  const spans: Span[] = [];
  const measured: Measured[] = [];
  const counts = new Map<string, number>();
  const kinds = faultKinds({ ...world, spans }).filter(({ kind }) => only.length === 0 || only.includes(kind));
  const drawn = kinds.flatMap((fault) => Array<Fault>(fault.weight).fill(fault));
  const of_measured = random.fork('measured');

  async function trouble(fault: Fault, run: Run): Promise<void> {
    counts.set(fault.kind, (counts.get(fault.kind) ?? 0) + 1);
    const span = { what: fault.kind, from: fairNow(), to: Number.POSITIVE_INFINITY };
    spans.push(span);
    await fault.run(run);
    span.to = fairNow();
  }

  /** Those that were not yet measured come first. */
  function nextMeasured(): Fault {
    const times = (fault: Fault) => measured.filter(({ kind }) => kind === fault.kind).length;
    const least = Math.min(...kinds.map(times));
    return of_measured.pick(kinds.filter((fault) => times(fault) === least));
  }

  async function measure(fault: Fault): Promise<void> {
    if (!(await canary.sings(2 * fault.back_ms)))
      return judges.late(`all was quiet, and no job was done before ${fault.kind}`);
    const began = fairNow();
    let telling: Promise<number | null> = Promise.resolve(null);
    const over = new AbortController();
    const tells = (told: Told) => void (telling = canary.told(told, began, over.signal));
    const before = canary.submit();
    let server: string | null = null;
    await trouble(fault, { is_long: true, strikes: (name) => void (server = name), tells });
    const [ended, really_ended] = [fairNow(), performance.now()];
    over.abort();
    const told_ms = await telling.catch((error: Error) => {
      judges.untold(`${fault.kind}: ${error.message}`);
      return null;
    });
    // What was submitted before goes on too.
    const is_back = (await canary.sings(2 * fault.back_ms)) && (await canary.done(before, 2 * fault.back_ms));
    const [back_ms, real_ms] = [fairNow() - ended, performance.now() - really_ended];
    const one = { kind: fault.kind, server, back_ms, real_ms, most_ms: fault.back_ms, told_ms };
    measured.push(one);
    judges.measured(one);
    if (!is_back || back_ms > fault.back_ms) {
      const took = is_back ? `${Math.round(back_ms / 1000)} s` : `more than ${Math.round(back_ms / 1000)} s`;
      judges.late(
        `after ${fault.kind}${server === null ? '' : ` (${server})`} it took ${took} until all was as before, and at most ${fault.back_ms / 1000} s are promised: ${canary.why()}`,
      );
    }
  }

  return {
    spans,
    measured,
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
        if (of_measured.chance(Number(process.env.TORTURE_MEASURED ?? MEASURED))) {
          await beside;
          await sleep(QUIET_MS);
          await measure(nextMeasured());
          continue;
        }
        const fault = random.pick(drawn);
        if (fault.is_alone) await beside;
        const troubling = trouble(fault, { is_long: false, strikes: () => {}, tells: () => {} });
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
