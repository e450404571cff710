// Audits of events in memory.
import assert from 'node:assert/strict';
import { openPacker } from '../../audit/digests.ts';
import type { Rule, Violation } from '../../audit/findings.ts';
import { openLedgerAudit } from '../../audit/ledger-audit.ts';
import type { AuditOptions, AuditReport, LedgerAudit } from '../../audit/types.ts';
import { entryHash } from '../../events/credits.ts';
import type { EventRow, RecordedEvent } from '../../events/event-store.ts';

/** Audits the events one by one, and as a thread that reads ahead gives them: both find the same. */
export function auditOf(events: readonly RecordedEvent[], options: Partial<AuditOptions> = {}) {
  const one_by_one = audited(options, (audit) => {
    for (const event of events) audit.take(event);
  });
  const pack = openPacker((rowid) => events[rowid]!.position);
  const rows = events.map(rowOf);
  const ahead = audited(options, (audit) => {
    for (let n = 0; n < rows.length; n += PAGE) audit.takeDigests(structuredClone(pack(rows.slice(n, n + PAGE))));
  });
  assert.deepEqual(ahead, one_by_one);
  return one_by_one;
}

const PAGE = 7;

export function audited(options: Partial<AuditOptions>, take: (audit: LedgerAudit) => void) {
  const found: Violation[] = [];
  const audit = openLedgerAudit({ found: (violation) => found.push(violation), ...options });
  take(audit);
  const report: AuditReport = audit.finish();
  const balances = [...audit.balances()].sort((a, b) => (a.user_id < b.user_id ? -1 : 1));
  const first = audit.firstEntry();
  audit.close();
  return { found, report, balances, first };
}

export const rowOf = (event: RecordedEvent, rowid: number): EventRow => [
  ...([rowid, event.revision, event.type, event.id, JSON.stringify(event.metadata)] as const),
  ...([textOf(event), event.stream] as const),
];
/** Of data that cannot be read. */
export const UNREADABLE = '{"amount":-2"';
function textOf(event: RecordedEvent): string {
  try {
    return JSON.stringify(event.data);
  } catch {
    return UNREADABLE;
  }
}

export const rulesOf = (found: readonly Violation[]): Rule[] => [...new Set(found.map(({ rule }) => rule))];

/** The same ledger with every hash computed anew. */
export function rehashed(events: readonly RecordedEvent[]): RecordedEvent[] {
  const hashes = new Map<string, string>();
  return events.map((event) => {
    if (!event.stream.startsWith('credits-')) return event;
    const made = entryHash(hashes.get(event.stream) ?? '', event);
    hashes.set(event.stream, made);
    return { ...event, data: { ...(event.data as object), hash: made } };
  });
}
