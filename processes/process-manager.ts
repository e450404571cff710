// What a process manager is: the documents that it finds, their order, and the work for each. `manager-runner.ts` runs all of them alike.
// Decision 7 says why.
import type { Logger } from 'pino';
import type { Position } from '../events/event-store.ts';
import type { CollectionSpec, Document, Filter } from '../readmodels/documents.ts';
import type { ManagerName } from '../roles/managers.ts';
import type { PutOff } from './put-off.ts';

/** The work for an item is not done and did not fail: the item is looked at again after this time. */
export class Later {
  readonly wait_ms: number;

  constructor(wait_ms: number) {
    this.wait_ms = wait_ms;
  }
}

/** The position of the last event that the work appended; null or nothing where it appended none. */
export type Done = Position | null | undefined | Later;

export interface ProcessManager<Item extends Document, Together = undefined> {
  /** Its name in metrics, readiness, administration and the runbook. */
  name: ManagerName;
  /** The documents that want work. The work asks the log: a document may be behind it. */
  finds: { in: CollectionSpec<Item>; where: Filter };
  /** The field by which items are found, ascending. */
  order: keyof Item & string;
  work(item: Item, of: { together: Together; signal: AbortSignal; waits_ms: number }): Promise<Done> | Promise<void>;
  /**
   * The field that has the time of the work: an item is found `after_ms` later, also before that time, and no longer than until `until_ms` after it.
   * Without it, the work is due at once.
   */
  due_at?: { field: keyof Item & string; after_ms: number; until_ms?: number };
  /** Since when the item waits, in ISO 8601. Default: since this process first found it. */
  since?(item: Item): string | null;
  /** Items with one key wait together, where one of them fails. Default: its id. */
  key?(item: Item): string;
  /** What the work for several items needs, read at once for as many. */
  reads?: { at_once: number; read(items: readonly Item[]): Promise<Together> };
  /** Items of one pass. Null: there is no room for any now. Default 1,000. */
  at_once?: number | (() => Promise<number | null>);
  /** The items of a pass, of those that were found. Default: all. */
  takes?(found: readonly Item[]): readonly Item[];
  /** Items at the same time. Default 32. */
  at_a_time?: number;
  /** A pass ends after so many failures: whatever makes them fail is away. Default: never. */
  most_failures?: number;
  /** How long an item waits that failed so often with such an error. Null: as `put-off.ts` says. */
  retry_ms?(failures: number, error: unknown): number | null;
  /** Failed items that others know of too. */
  put_off?: PutOff;
  /** The line of the log for an item that fails. */
  fails: string;
  /** The level of that line. Default `error`. */
  level?: 'warn';
  /** The least time between two passes, default 500 ms, and between two that found work, default the same. */
  spacing_ms?: number;
  busy_ms?: number;
  /** The time between two passes, where not every move of the read models asks for one. */
  every_ms?: number;
}

/** Has the same form for every type of items, so that one runner takes all. */
// biome-ignore lint/suspicious/noExplicitAny: a list of managers has items of many types
export type AnyManager = ProcessManager<any, any>;

/**
 * Says what a manager is, with the types of its items.
 * @example processManager({ name: 'settlement', finds: { in: jobs, where: { due: 'settlement' } }, order: '_id', work, fails: '…' });
 */
export const processManager = <Item extends Document, Together = undefined>(
  manager: ProcessManager<Item, Together>,
): AnyManager => manager;

export type ManagerLogger = Pick<Logger, 'error' | 'warn'>;
