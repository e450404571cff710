// Audits the ledger all the time: replays what is new in the log by the rules of `audit/`, and at an interval the whole log again, since
// somebody may have changed what is old. It takes a bounded share of its thread. Its state is a file, from which the next process goes on;
// without the file it begins anew. Decision 89 says why.
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Violation } from '../audit/findings.ts';
import { AUDITED, openLedgerAudit } from '../audit/ledger-audit.ts';
import { type LedgerSource, type SignedHead, sourceOfLog } from '../audit/source.ts';
import { openSavedSpill, type SavedSpill } from '../audit/spill.ts';
import type { AuditState, LedgerAudit } from '../audit/types.ts';
import { BEGINNING, type Position, type StoredLog } from '../events/event-store.ts';
import { UnreadableEvent } from '../events/unreadable.ts';
import type { LedgerAuditSign } from '../roles/role-signs.ts';
import { pause } from '../time/pause.ts';

/** The time between two looks at the log. */
const LOOK_MS = 5_000;
/** After so much work the audit rests four times as long: it takes a fifth of a thread at the most. */
const WORK_MS = 25;
const REST_MS = 100;
/** Events between two looks at the clock. */
const EVENTS_A_LOOK = 50;
const SAVE_EVENTS = 50_000;
/** What is late is judged this often, or a hundred times as long as it takes. */
const JUDGE_MS = 60_000;
const IN_MEMORY = 5_000;
/** Violations that are shown; all are counted. */
const SHOWN = 10;
/** Raised when the rules or the saved state change: the ledger is audited from its beginning. */
const VERSION = 10;

export interface LedgerAuditOptions {
  /** The log behind no codec. */
  stored_log: StoredLog;
  log_id: () => Promise<string>;
  /** Where the state is kept. */
  folder: string;
  /** The time between two audits of the whole ledger. */
  replay_ms: number;
  logger: Pick<Logger, 'error' | 'info' | 'warn'>;
  /** Wall time in milliseconds. */
  now: () => number;
  /** Milliseconds that never go back. */
  monotonic: () => number;
  rest?: (ms: number, signal: AbortSignal) => Promise<void>;
  save_events?: number;
}

/** Runs until `signal` aborts; calls `onPass` after each pass. */
export async function runLedgerAudit(audit: ContinuousAudit, signal: AbortSignal, onPass: () => void): Promise<void> {
  try {
    for (; !signal.aborted; await pause(LOOK_MS, signal)) {
      await audit.pass(signal);
      onPass();
    }
  } finally {
    audit.close();
  }
}

/** One audit of the ledger from its beginning, in a file of its own. */
interface Replay {
  spill: SavedSpill;
  audit: LedgerAudit;
  state: ReplayState;
  /** The violations of the last judgement. */
  late: { count: number; found: Violation[] };
  /** The heads that the ledger is held to end here: this one cannot be read. */
  bad_head: Violation | null;
  judged_at: number;
  judging_ms: number;
}

interface ReplayState {
  version: number;
  log_id: string;
  /** The log was read up to here. */
  position: Position;
  /** Wall time, in milliseconds. */
  began_at: number;
  /** When the end of the log was last reached; null before. */
  completed_at: number | null;
  found: Violation[];
  audit: AuditState | null;
}

/** Audits the ledger from its beginning again and again, each time in a file of its own. */
export class ContinuousAudit {
  readonly #options: Required<LedgerAuditOptions>;
  readonly #source: LedgerSource;
  readonly #paths: { readonly current: string; readonly next: string };
  #current: Replay | null = null;
  /** The whole ledger again, beside what is known of it. */
  #next: Replay | null = null;
  #last: LedgerAuditSign | null = null;
  /** The violations of the judgement that runs: one of an event is kept, one of a judgement holds until the next. */
  #judged: Violation[] | null = null;
  /** The events of later versions that a line of the log has told of. */
  #later_told = 0;

  constructor(options: LedgerAuditOptions) {
    this.#options = { rest: pause, save_events: SAVE_EVENTS, ...options };
    this.#source = sourceOfLog(options.stored_log);
    this.#paths = { current: join(options.folder, 'current.db'), next: join(options.folder, 'next.db') };
  }

  /** Audits up to the end of the log. Throws when a store is away: the next pass goes on from what was saved. */
  async pass(signal: AbortSignal): Promise<void> {
    try {
      await this.#passOnce(signal);
    } catch (error) {
      // What is in memory may not be what a failed step has left in the file.
      this.#drop();
      throw error;
    }
  }

  /** What is known; null before the first event was audited. */
  sign(): LedgerAuditSign | null {
    return this.#last;
  }

  /** Saves the state, and closes its file. */
  close(): void {
    try {
      if (this.#current !== null) this.#save(this.#current);
      if (this.#next !== null) this.#save(this.#next);
    } finally {
      this.#drop();
    }
  }

  async #passOnce(signal: AbortSignal): Promise<void> {
    const id = await this.#options.log_id();
    this.#current ??= await this.#open(this.#paths.current, id);
    if (this.#current.state.log_id !== id || (await this.#options.stored_log.head()) < this.#current.state.position) {
      this.#options.logger.warn('the log was replaced: the ledger is audited from its beginning');
      this.#drop();
      this.#last = null;
      await Promise.all([remove(this.#paths.current), remove(this.#paths.next)]);
      this.#current = await this.#open(this.#paths.current, id);
    }
    await this.#follow(this.#current, signal);
    if (signal.aborted) return;
    const age_ms = this.#options.now() - this.#current.state.began_at;
    // A clock that was set back must not put it off.
    if (this.#next === null && age_ms >= 0 && age_ms < this.#options.replay_ms) return;
    this.#next ??= await this.#open(this.#paths.next, id);
    await this.#follow(this.#next, signal);
    if (signal.aborted || this.#next.state.completed_at === null) return;
    this.#drop();
    await rename(this.#paths.next, this.#paths.current);
    this.#current = await this.#open(this.#paths.current, id);
    await this.#judge(this.#current);
    this.#show();
  }

  async #follow(replay: Replay, signal: AbortSignal): Promise<void> {
    const { stored_log, logger, now, monotonic } = this.#options;
    const { audit, state } = replay;
    const head = await stored_log.head();
    const is_behind = head > state.position;
    if (is_behind) await this.#readTo(head, replay, signal);
    if (signal.aborted) return;
    if (audit.later() > this.#later_told)
      logger.warn({ events: audit.later() }, 'the ledger has events of a later version, which this one cannot audit');
    this.#later_told = audit.later();
    state.completed_at = now();
    const is_due = monotonic() - replay.judged_at >= Math.max(JUDGE_MS, 100 * replay.judging_ms);
    if (is_due) await this.#judge(replay);
    if (is_behind || is_due) this.#save(replay);
    this.#show();
  }

  async #readTo(head: Position, replay: Replay, signal: AbortSignal): Promise<void> {
    const { stored_log, monotonic, rest, save_events } = this.#options;
    const { audit, state } = replay;
    let since = monotonic();
    let events = 0;
    for await (const event of stored_log.readAll({ from: state.position, filter: { categories: AUDITED } })) {
      if (signal.aborted) return;
      audit.take(event);
      state.position = event.position;
      events += 1;
      if (events % save_events === 0) this.#save(replay);
      if (events % EVENTS_A_LOOK !== 0 || monotonic() - since < WORK_MS) continue;
      this.#show();
      await rest(REST_MS, signal);
      since = monotonic();
    }
    // Events of other categories follow the last one that was read.
    if (head > state.position) state.position = head;
  }

  async #judge(replay: Replay): Promise<void> {
    for await (const job_id of this.#source.deletedAfter(replay.state.position)) replay.audit.deletedLater(job_id);
    const began = this.#options.monotonic();
    this.#judged = [];
    try {
      const { violations } = replay.audit.finish();
      replay.late = { count: violations - replay.audit.violations(), found: this.#judged };
    } finally {
      this.#judged = null;
    }
    replay.judged_at = this.#options.monotonic();
    replay.judging_ms = replay.judged_at - began;
  }

  #save({ spill, audit, state }: Replay): void {
    state.audit = audit.state();
    spill.save(state);
  }

  /** Tells what is known of the whole ledger: what is audited again replaces it at its end. */
  #show(): void {
    if (this.#current === null) return;
    const { state, late, bad_head, audit } = this.#current;
    this.#last = {
      ...{ position: state.position, entries: audit.entries() },
      violations: audit.violations() + late.count + (bad_head === null ? 0 : 1),
      found: [...(bad_head === null ? [] : [bad_head]), ...state.found, ...late.found].slice(0, SHOWN),
      began_at: new Date(state.began_at).toISOString(),
      completed_at: state.completed_at === null ? null : new Date(state.completed_at).toISOString(),
    };
  }

  #drop(): void {
    for (const replay of [this.#current, this.#next]) replay?.spill.close();
    this.#current = this.#next = null;
  }

  async #open(path: string, id: string): Promise<Replay> {
    await mkdir(this.#options.folder, { recursive: true, mode: 0o700 });
    const known = this.#openFile(path);
    if (known !== null) {
      const state = known.saved as ReplayState | null;
      if (state?.version === VERSION && state.log_id === id) return this.#begin(known, state);
      known.close();
    }
    await remove(path);
    const began: ReplayState = {
      ...{ version: VERSION, log_id: id, position: BEGINNING, began_at: this.#options.now(), completed_at: null },
      ...{ found: [], audit: null },
    };
    return this.#begin(openSavedSpill(path), began);
  }

  /** Null for a damaged file. */
  #openFile(path: string): SavedSpill | null {
    try {
      return openSavedSpill(path);
    } catch (error) {
      const { errcode } = error as { errcode?: number };
      if (errcode !== SQLITE_NOTADB && errcode !== SQLITE_CORRUPT && !(error instanceof SyntaxError)) throw error;
      this.#options.logger.warn(
        { err: error, path },
        'the state of the audit of the ledger is damaged: the audit begins anew',
      );
      return null;
    }
  }

  async #begin(spill: SavedSpill, state: ReplayState): Promise<Replay> {
    const { heads, bad_head } = await this.#readHeads();
    const found = (violation: Violation) => this.#noted(replay, violation);
    const from = { spill, state: state.audit };
    const audit = openLedgerAudit({ found, heads, in_memory: IN_MEMORY, from });
    const nothing = { late: { count: 0, found: [] }, judged_at: Number.NEGATIVE_INFINITY, judging_ms: 0 };
    const replay: Replay = { spill, audit, state, bad_head, ...nothing };
    return replay;
  }

  async #readHeads(): Promise<{ heads: SignedHead[]; bad_head: Violation | null }> {
    const heads: SignedHead[] = [];
    try {
      for await (const head of this.#source.heads(null)) heads.push(head);
      return { heads, bad_head: null };
    } catch (error) {
      if (!(error instanceof UnreadableEvent)) throw error;
      return { heads, bad_head: { rule: 'head', ...error.place, message: 'the head cannot be read' } };
    }
  }

  #noted({ state }: Replay, violation: Violation): void {
    const list = this.#judged ?? state.found;
    if (list.length < SHOWN) list.push(violation);
    if (this.#judged === null)
      this.#options.logger.error({ violation }, 'the audit of the ledger has found a violation');
  }
}

const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;

async function remove(path: string): Promise<void> {
  for (const end of ['', '-wal', '-shm', '-journal']) await rm(path + end, { force: true });
}
