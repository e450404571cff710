// The driver's clock: it slows down as the machine is busy, so that bounds hold the service to its promises and not the
// processor to the clock. A second of it is what one thread gets of a processor in a second when nobody else wants it.
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

const LOOK_MS = 100;
let ms = 0;
let looked_at = performance.now();

/** Milliseconds that never go back. */
export function fairNow(): number {
  return ms;
}

setInterval(() => {
  const now = performance.now();
  // What the driver itself was late is time in which nobody had a processor.
  ms += Math.min(now - looked_at, 2 * LOOK_MS) / slowness();
  looked_at = now;
}, LOOK_MS).unref();

/** Resolves when so much of it has passed; keeps nothing alive. */
export async function passed(wait_ms: number): Promise<void> {
  for (const until = ms + wait_ms; ms < until; ) await sleep(LOOK_MS, undefined, { ref: false });
}

/** How many threads want each processor at this moment; 1 at the least. */
export function slowness(): number {
  return Math.max(1, runnable() / availableParallelism());
}

/** Threads that run or want to, over the whole machine; none where the system does not say. */
function runnable(): number {
  try {
    return Number(readFileSync('/proc/loadavg', 'utf8').split(' ')[3]!.split('/')[0]);
  } catch {
    return 0;
  }
}
