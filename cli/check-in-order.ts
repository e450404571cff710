// Checks URLs and yields results in the same order, with as many in flight as the engine has room for. A slow URL delays the
// results of later URLs but not their checks, up to a limit.
import type { Engine, Outcome } from '../checkers/index.ts';

export interface Result extends Outcome {
  url: string;
}

/** Most results that a slow URL may hold back: some 10 MB. */
const MAX_HELD = 20_000;

/** Calls `completed` after each outcome. An abort ends it at the first URL without an outcome; errors of the engine are thrown. */
export async function* checkInOrder(
  urls: AsyncIterable<readonly string[]>,
  engine: Pick<Engine, 'check' | 'free'>,
  signal: AbortSignal,
  completed: () => void,
  max_held = MAX_HELD,
): AsyncGenerator<Result> {
  /** Results in order, from the first that was not yielded yet; null while its check runs. */
  const held: (Result | null)[] = [];
  let first = 0;
  let gone = 0;
  let failure: unknown = null;
  let wake = (): void => {};

  function start(url: string, place: number): void {
    held.push(null);
    engine.check(url, { signal }).then(
      (outcome) => {
        held[place - gone + first] = { url, ...outcome };
        completed();
        wake();
      },
      (error: unknown) => {
        failure ??= error;
        wake();
      },
    );
  }
  function* ready(): Generator<Result> {
    for (let result = held[first]; result !== undefined && result !== null; result = held[first]) {
      held[first++] = null;
      gone++;
      yield result;
    }
    if (first < max_held) return;
    held.splice(0, first);
    first = 0;
  }
  const change = (): Promise<void> => new Promise((resolve) => (wake = resolve));

  let place = 0;
  for await (const page of urls) {
    for (const url of page) {
      while (failure === null && (engine.free === 0 || place - gone >= max_held)) {
        const changed = change();
        const before = gone;
        yield* ready();
        // Yielding results may have made room already.
        if (gone === before) await changed;
      }
      if (failure !== null) break;
      start(url, place++);
    }
    if (failure !== null) break;
  }
  while (gone < place) {
    const changed = change();
    yield* ready();
    if (gone === place || failure !== null) break;
    await changed;
  }
  yield* ready();
  if (failure !== null && !signal.aborted) throw failure;
}
