// The parts that a thread gives to its roles.
import type { Logger } from 'pino';
import type { Pulse } from '../../checkers/pulse.ts';
import type { Queue } from '../../checkers/queue.ts';
import type { RoleSigns } from '../../roles/role-signs.ts';
import type { Config } from '../../settings/config.ts';
import type { Stores } from '../stores.ts';
import type { ThreadStart } from '../supervised-thread.ts';

export interface RoleParts extends Stores {
  config: Config;
  /** Only the roles `processes` and `checker` may use it. */
  queue: Queue;
  logger: Logger;
  signal: AbortSignal;
  /** Tells readiness checks what the role does. */
  say: RoleSigns['say'];
  /** Counts the thread's heartbeats, and names the URL whose answer the thread reads. */
  pulse: Pulse;
  own: ThreadStart;
}

/** Runs a role until `signal` aborts. Throws the stores' errors and any other error that ends the role. */
export type RunRole = (parts: RoleParts) => Promise<void>;
