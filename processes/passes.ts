// The rhythm of a process manager: a pass whenever the read models have moved, for nothing else makes work, except that time passes.
// Decision 43 says why.
import type { Position } from '../events/event-store.ts';
import type { ReadModels } from '../readmodels/read-models.ts';
import { pause } from '../time/pause.ts';

/** The longest time between two passes: a pass may have left something undone. */
const IDLE_PASS_MS = 30_000;

export interface Passes {
  readmodels: Pick<ReadModels, 'moved'>;
  /** The least time between two passes. */
  spacing_ms: number;
  signal: AbortSignal;
  /** Called after each pass. */
  onPass: () => void;
}

/** Runs `pass` at once, and again when the read models have moved, until `signal` aborts. Throws the errors of `pass`. */
export async function passOnMoves(
  { readmodels, spacing_ms, signal, onPass }: Passes,
  pass: () => Promise<unknown>,
): Promise<void> {
  let seen: Position | null = null;
  while (!signal.aborted) {
    seen = await readmodels.moved(seen, IDLE_PASS_MS, signal);
    if (signal.aborted) return;
    await pass();
    onPass();
    await pause(spacing_ms, signal);
  }
}
