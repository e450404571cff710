// The interface of an audit of the ledger: what it is told, what it reports, and what a later one goes on from.
import type { TransactionType } from '../events/credits.ts';
import type { Position, RecordedEvent } from '../events/event-store.ts';
import type { HalfDoneCounts } from '../events/two-streams.ts';
import type { Digests } from './digests.ts';
import type { Place, Violation } from './findings.ts';
import type { JobCounts } from './job-rules.ts';
import type { TreeHead } from './signed-note.ts';
import type { Spill } from './spill.ts';

/** Counts of all entries of a type. */
export interface Tally {
  entries: number;
  /** Credits in, and credits out. */
  added: number;
  taken: number;
}

export interface AuditReport extends JobCounts {
  /** The last event that was read, and when it was appended; `BEGINNING` and null for none. */
  position: Position;
  at: string | null;
  events: number;
  entries: number;
  accounts: number;
  /** Of all accounts together. */
  balance: number;
  owed: number;
  tallies: Partial<Record<TransactionType, Tally>>;
  /** The root of the Merkle tree of all entries, in hex. */
  root_hash: string;
  heads_checked: number;
  /** The events of payments and subscriptions, and the root of their tree. */
  billing_events: number;
  billing_root_hash: string;
  /** Steps that the service had not done yet, and was not late with. */
  open: HalfDoneCounts;
  violations: number;
  /** Events that a later version of the service appended. This one cannot judge them, nor what follows from them. */
  later: number;
}

/** A tree head to compare with. */
export interface KnownHead {
  tree_size: number;
  root_hash: string;
  /** Of the tree of payments and subscriptions. */
  billing?: TreeHead | undefined;
  place: Place;
}

export interface AuditOptions {
  /** Called for each violation. */
  found: (violation: Violation) => void;
  heads?: readonly KnownHead[];
  /** The service has this long, by the log's clock, for steps that follow from others: refunds, releases, grants. Default 2 hours. */
  grace_ms?: number;
  /** The values of each kind in memory. */
  in_memory?: number;
  /** Goes on from a state that an earlier audit left, with the maps that were saved with it. */
  from?: { spill: Spill; state: AuditState | null };
}

/** What an audit knows beside its maps. It survives JSON. */
export interface AuditState {
  /** Of the events so far; steps that are late are not in it. */
  report: AuditReport;
  /** Milliseconds since the epoch; null before the first event. */
  last_at: number | null;
  tree: { size: number; frontier: string[] };
  billing: { size: number; frontier: string[] };
}

export interface LedgerAudit {
  /** Takes the events of `AUDITED` categories in the order of the log. */
  take(event: RecordedEvent): void;
  /** Takes the same events, as a thread that reads ahead gives them. */
  takeDigests(digests: Digests): void;
  /** A job was deleted, or its results expired, after the last event that the audit took, so some of its results may be gone. */
  deletedLater(job_id: string): void;
  /**
   * Judges what is late or missing, and returns all that was found. It may be called again after further events. `is_partial`: entries
   * follow that the audit did not get, so that heads of more entries are no violation.
   */
  finish(is_partial?: boolean): AuditReport;
  /** Whether the service should long have done what was due at a time, in milliseconds since the epoch. */
  isLate(at: number): boolean;
  /** Of the last event so far. */
  position(): Position;
  /** Where and when the first entry that this audit took was appended; null before it. */
  firstEntry(): { place: Place; at: number } | null;
  /** The entries, the violations of events, and the events of later versions, so far. */
  entries(): number;
  violations(): number;
  later(): number;
  /** What a later audit goes on from, between two events. */
  state(): AuditState;
  /** The balances, after `finish` too. */
  balances(): Iterable<{ user_id: string; balance: number; owed: number; entries: number }>;
  close(): void;
}
