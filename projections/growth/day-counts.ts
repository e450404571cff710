// Gathers the changes of counters in a transaction, and writes each document once.

import type { Collection, Write } from '../../readmodels/documents.ts';
import { monthOf } from '../../readmodels/growth/calendar.ts';
import { type DayCountsDocument, idOfDay, idOfMonth } from '../../readmodels/growth/day-counts.ts';
import { readAll, writeAll } from '../slices.ts';

/** Counters of any kind, by the ids of their documents. */
export class CountChanges {
  readonly #changes = new Map<string, Map<string, number>>();

  add(id: string, name: string, by = 1): void {
    const of_id = this.#changes.get(id) ?? new Map<string, number>();
    this.#changes.set(id, of_id.set(name, (of_id.get(name) ?? 0) + by));
  }

  /**
   * Adds the changes to the stored counters. A counter of 0 is not kept, and neither is a document without counters, so that the documents
   * do not depend on which changes came in one transaction.
   */
  async writeTo(collection: Collection<DayCountsDocument>): Promise<void> {
    const stored = await readAll(collection, this.#changes.keys());
    const writes = [...this.#changes].map(([_id, changes]): Write<DayCountsDocument> => {
      const n = { ...stored.get(_id)?.n };
      for (const [name, by] of changes) {
        const count = (n[name] ?? 0) + by;
        if (count === 0) delete n[name];
        else n[name] = count;
      }
      return Object.keys(n).length === 0 ? { delete: _id } : { replace: { _id, n } };
    });
    await writeAll(collection, writes);
  }
}

/** Counters by day, with the sums of each month. */
export class DayCountChanges {
  readonly #changes = new CountChanges();

  /** @example changes.add('2026-01-31', 'signups') */
  add(day: string, name: string, by = 1): void {
    for (const id of [idOfDay(day), idOfMonth(monthOf(day))]) this.#changes.add(id, name, by);
  }

  writeTo(collection: Collection<DayCountsDocument>): Promise<void> {
    return this.#changes.writeTo(collection);
  }
}
