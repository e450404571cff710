// What a role that runs in a thread is given.
import type { Logger } from 'pino';
import type { Pulse } from '../../checkers/pulse.ts';
import type { Queue } from '../../checkers/queue.ts';
import type { RoleSigns } from '../../roles/role-signs.ts';
import type { Config } from '../../settings/config.ts';
import type { Stores } from '../stores.ts';
import type { ThreadStart } from '../supervised-thread.ts';

export interface RoleParts extends Stores {
  config: Config;
  /** Only roles that publish or pull work may use it. */
  queue: Queue;
  logger: Logger;
  signal: AbortSignal;
  /** Tells readiness checks what the role does. */
  say: RoleSigns['say'];
  /** Counts while the thread is alive, and shows whose answer it reads. */
  pulse: Pulse;
  own: ThreadStart;
}

/** Runs until `signal` aborts; throws what ends the role, or what a store threw. */
export type RunRole = (parts: RoleParts) => Promise<void>;
