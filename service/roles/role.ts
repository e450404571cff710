// The parts that a thread gives to its roles.
import type { Logger } from 'pino';
import type { Pulse } from '../../checkers/pulse.ts';
import type { Queue } from '../../checkers/queue.ts';
import type { Blobs } from '../../commands/blobs.ts';
import type { RoleSigns } from '../../roles/role-signs.ts';
import type { Config } from '../../settings/config.ts';
import type { Stores } from '../stores.ts';
import type { ThreadStart } from '../supervised-thread.ts';

/** Those that are known by what they last did. */
export type UsedDependency = 'mail' | 'ledger_signer' | 'ledger_witness';

export interface RoleParts extends Stores {
  config: Config;
  /** Only the roles `processes` and `checker` may use it. */
  queue: Queue;
  /** Only the role `processes` may use it. */
  blobs: Blobs;
  logger: Logger;
  signal: AbortSignal;
  /** Tells readiness checks what the role does. */
  say: RoleSigns['say'];
  /** Tells operators of the work that the role has handed out. */
  measure: RoleSigns['measure'];
  managing: RoleSigns['managing'];
  audited: RoleSigns['audited'];
  /** Tells operators what a dependency that takes a connection does not do for us; null: it works. */
  fault: (dependency: UsedDependency, reason: string | null) => void;
  /** Tells the process what large piece of work the thread is at; null: none. */
  doing: (what: string | null) => void;
  /** Counts the thread's heartbeats, and names the URL whose answer the thread reads. */
  pulse: Pulse;
  own: ThreadStart;
  /** The memory of the `Tallies` of this process's checker. */
  counts: SharedArrayBuffer;
}

/** Runs a role until `signal` aborts. Throws the stores' errors and any other error that ends the role. */
export type RunRole = (parts: RoleParts) => Promise<void>;
