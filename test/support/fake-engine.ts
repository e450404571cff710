import { type Engine, NotStarted } from '../../checkers/engine/engine.ts';
import type { Outcome } from '../../events/checks.ts';
import { FOUND } from './behind.ts';

/** An engine that does nothing but what the test says. */
export const fakeEngine = (does: Partial<Engine>): Engine => ({
  free: 0,
  areNamesAway: false,
  backlog: 0,
  running: 0,
  hosts_held: 0,
  check: () => Promise.reject(new Error('not asked')),
  share: () => {},
  release: () => 0,
  suspect: () => {},
  suspects: [],
  close: async () => {},
  ...does,
});

/** An engine whose checks the test ends: so many are in flight at a time, the others wait for their turn. */
export function manualEngine(slots = Number.POSITIVE_INFINITY) {
  interface Asked {
    url: string;
    owner: string | undefined;
    resolve: (outcome: Outcome) => void;
  }
  const in_flight = new Set<Asked>();
  const waiting = new Set<Asked>();
  /** Every URL whose request was begun, in order. */
  const begun: string[] = [];
  const startSome = () => {
    for (const asked of waiting) {
      if (in_flight.size >= slots) return;
      waiting.delete(asked);
      in_flight.add(asked);
      begun.push(asked.url);
    }
  };
  const engine = fakeEngine({
    free: 1000,
    areNamesAway: false,
    check(url, { owner, signal, hold } = {}) {
      const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
      if (signal?.aborted) reject(new DOMException('aborted', 'AbortError'));
      else if (hold?.aborted) reject(new NotStarted());
      else {
        const asked = { url, owner, resolve };
        waiting.add(asked);
        signal?.addEventListener('abort', () => {
          if (in_flight.delete(asked) || waiting.delete(asked)) reject(new DOMException('aborted', 'AbortError'));
        });
        hold?.addEventListener('abort', () => waiting.delete(asked) && reject(new NotStarted()));
        startSome();
      }
      return promise;
    },
  });
  return {
    engine,
    begun,
    in_flight: () => [...in_flight].map(({ url }) => url),
    waiting: () => [...waiting].map(({ url }) => url),
    owners: () => new Set([...in_flight].map(({ owner }) => owner)),
    /** Ends these checks, or all that are in flight. */
    finish(...urls: string[]): void {
      for (const asked of [...in_flight]) {
        if (urls.length > 0 && !urls.includes(asked.url)) continue;
        in_flight.delete(asked);
        asked.resolve({ ...FOUND, final_url: asked.url });
      }
      startSome();
    },
  };
}
