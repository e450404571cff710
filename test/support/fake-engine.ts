import type { Engine } from '../../checkers/engine/engine.ts';

/** An engine that does nothing but what the test says. */
export const fakeEngine = (does: Partial<Engine>): Engine => ({
  free: 0,
  backlog: 0,
  check: () => Promise.reject(new Error('not asked')),
  share: () => {},
  hold: () => {},
  probe: () => {},
  probed: () => {},
  recall: () => null,
  close: async () => {},
  ...does,
});
