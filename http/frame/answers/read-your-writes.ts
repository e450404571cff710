// Read your writes: the answer to a command names its position in the log, and a read waits until the read models have reached it.
import { LRUCache } from 'lru-cache';
import type { Problem } from '../errors.ts';

/** Answers to commands and requests of reads carry this header. Clients do not interpret its value. */
export const POSITION_HEADER = 'x-log-position';

const MAX_CALLERS = 10_000;

/** Returns the problem with the header, or an empty list. */
export function positionProblem(header: string): Problem[] {
  if (header === '' || /^[\w.:-]{1,64}$/.test(header)) return [];
  return [{ loc: ['header', POSITION_HEADER], msg: 'must be a position that a response gave', type: 'position' }];
}

export function openReadYourWrites() {
  const last = new LRUCache<string, string>({ max: MAX_CALLERS });
  return {
    /** The position that a read waits for: the one in its header, else the caller's last one in this process. */
    expected: (header: string, user_id: string | undefined): string | null =>
      header || (user_id === undefined ? null : (last.get(user_id) ?? null)),
    /** Notes the position of this caller's command. */
    reached(user_id: string | undefined, position: string): void {
      if (user_id === undefined || position === '') return;
      // Concurrent commands may answer out of order. Positions sort as text.
      const before = last.get(user_id) ?? '';
      if (position > before) last.set(user_id, position);
    },
    /** Reads see this position, so that the caller's next ones need not ask. */
    seen(user_id: string | undefined, position: string): void {
      if (user_id !== undefined && last.get(user_id) === position) last.delete(user_id);
    },
  };
}
