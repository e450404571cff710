// What forms of statements draw from.

export interface Drawing {
  next(below: number): number;
  of<Each>(choices: readonly Each[]): Each;
}

/** Mulberry32. */
export function drawingFrom(seed: number): Drawing {
  let state = seed;
  function next(below: number): number {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  }
  return { next, of: (choices) => choices[next(choices.length)]! };
}

/** The forms by name, so that a test says which ones it drew. `t` gives the name of a table of events, in any case and at times quoted. */
export type Forms = Readonly<Record<string, (draw: Drawing, t: () => string) => string>>;

/** A name without its quotes. */
export const bare = (name: string): string => name.replaceAll('"', '');
