// Read your writes: a command's response names the place in the log that it reached; a read waits until that is seen.
import { LRUCache } from 'lru-cache';
import type { Problem } from './errors.ts';

/** Given out by commands and taken by reads; to clients an opaque word. */
export const POSITION_HEADER = 'x-log-position';

const MAX_CALLERS = 10_000;

export interface ReadYourWrites {
  /** The place that a read by this caller has to wait for: what its request says, else what it was last told. */
  expected(header: string, user_id: string | undefined): string | null;
  /** A command of this caller reached this place. */
  reached(user_id: string | undefined, position: string): void;
}

/** What is wrong with the header, if anything. */
export function positionProblem(header: string): Problem[] {
  if (header === '' || /^[\w.:-]{1,64}$/.test(header)) return [];
  return [{ loc: ['header', POSITION_HEADER], msg: 'must be a position that a response gave', type: 'position' }];
}

export function openReadYourWrites(): ReadYourWrites {
  const last = new LRUCache<string, string>({ max: MAX_CALLERS });
  return {
    expected: (header, user_id) => header || (user_id === undefined ? null : (last.get(user_id) ?? null)),
    reached(user_id, position) {
      if (user_id === undefined || position === '') return;
      // Commands that run at once may answer in another order than that of the log, which is that of the text.
      const before = last.get(user_id) ?? '';
      if (position > before) last.set(user_id, position);
    },
  };
}
