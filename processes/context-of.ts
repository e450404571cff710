// The context of the commands that a process manager issues.
import { randomUUID } from 'node:crypto';
import type { CommandContext } from '../commands/aggregate.ts';

export const contextOf =
  (process: string, now: () => number) =>
  (caused_by: string): CommandContext => ({
    command_id: randomUUID(),
    causation_id: caused_by,
    actor: `process:${process}`,
    now: now(),
  });
