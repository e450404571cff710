import type { Engine } from '../../checkers/engine/engine.ts';
import { Probes } from '../../checkers/engine/probes.ts';

/** An engine that does nothing but what the test says. */
export const fakeEngine = (does: Partial<Engine>): Engine => ({
  free: 0,
  backlog: 0,
  check: () => Promise.reject(new Error('not asked')),
  share: () => {},
  hold: () => {},
  probes: new Probes(() => {}),
  close: async () => {},
  ...does,
});
