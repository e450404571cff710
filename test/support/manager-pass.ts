// Makes single passes of a process manager.
import type { Position } from '../../events/event-store.ts';
import { ManagerRunner, type RunnerOptions } from '../../processes/manager-runner.ts';
import type { AnyManager } from '../../processes/process-manager.ts';
import type { ReadModels } from '../../readmodels/read-models.ts';

const never = new AbortController().signal;

/** Throws what the work for an item throws. */
const THROWING = {
  error({ err }: { err: unknown }): never {
    throw err;
  },
};
export const throwing = { ...THROWING, warn: THROWING.error } as unknown as RunnerOptions['logger'];

export interface Passes {
  /** Returns the position of the last event that the work appended; null when it appended none. */
  pass(signal?: AbortSignal): Promise<Position | null>;
}

/** Passes that remember what they have put off. */
export function passesOf(
  manager: AnyManager,
  readmodels: ReadModels,
  { logger = throwing, now = Date.now, monotonic = () => 0 }: Partial<RunnerOptions> = {},
): Passes {
  const runner = new ManagerRunner(manager, { readmodels, logger, now, monotonic });
  return { pass: async (signal = never) => (await runner.pass(signal)).reached };
}

export const passOf = (...of: Parameters<typeof passesOf>): Promise<Position | null> => passesOf(...of).pass();
