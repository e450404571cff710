// Restores a backup into an empty event log and a store of files. The first pass over the file proves that it is whole; only the second
// one writes, and it gives the log an id of its own at its end. A restore that was cut off goes on where it stopped when it is started again with the same file.
import { Readable } from 'node:stream';
import type { Blobs } from '../commands/blobs.ts';
import { forkLog } from '../commands/log-identity.ts';
import {
  MAX_APPEND_BYTES,
  MAX_APPEND_EVENTS,
  type OrderedAppend,
  type RecordedEvent,
  type StoredLog,
} from '../events/event-store.ts';
import type { LogForked } from '../events/service.ts';
import { categoryOf, isBilled, LOG_IDENTITY_STREAM } from '../events/streams.ts';
import type { EventLine, FileLine, Line } from './lines.ts';
import { type OpenBackup, readBackup, type VerifiedBackup, verifyBackup } from './read-backup.ts';

/** Events and bytes that are appended together. */
const BATCH_EVENTS = 4_000;
const BATCH_BYTES = 8 * 2 ** 20;

/** The log holds events that are not the backup's. Nothing was written. */
class LogNotEmpty extends Error {
  readonly code = 'log_not_empty';
}

/** Another process appended to the log during the restore. */
class RestoreConflict extends Error {
  readonly code = 'restore_conflict';
}

export interface RestoringOptions {
  open: OpenBackup;
  /** Called with each line of the first pass. */
  look?(line: Line): void;
  /** Opens the stores when the first pass has ended; throws to refuse the backup before a store is made. */
  into(): Promise<{ log: StoredLog; blobs: Pick<Blobs, 'put'> }>;
  /** Wall time in milliseconds. Default the machine's. */
  now?: () => number;
  /** Called after each batch with the number of events that the log has. */
  restored?(events: number): void;
}

/** Throws `DamagedBackup` and `LogNotEmpty` before it writes anything; `RestoreConflict` and the stores' errors at any time. */
export async function restoreBackup(options: RestoringOptions): Promise<VerifiedBackup> {
  const { open, look, into, restored, now = Date.now } = options;
  const backup = await verifyBackup(open, look);
  const { log, blobs } = await into();
  const lines = readBackup(await open());
  const batch = new Batch(log);
  const present = log.readAll()[Symbol.asyncIterator]();
  /** The next event that the log had before; undefined after the last. */
  const nextPresent = async () => (await present.next()).value as RecordedEvent | undefined;
  let events = 0;
  let is_forked = false;
  const ledger = { identity: -1, entries: 0, billing: 0 };
  for (let next = await lines.next(); !next.done; next = await lines.next()) {
    const each = next.value;
    if (each.kind === 'event') {
      events += 1;
      if (each.line.stream === LOG_IDENTITY_STREAM) ledger.identity = each.line.revision;
      if (categoryOf(each.line.stream) === 'credits') ledger.entries += 1;
      if (isBilled(categoryOf(each.line.stream))) ledger.billing += 1;
      const there = await nextPresent();
      if (there) assertSame(each.line, there);
      else if (await batch.add(each.line, each.size_bytes)) restored?.(events);
      continue;
    }
    await batch.flush();
    const more = each.kind === 'first' ? undefined : await nextPresent();
    if (more && (is_forked || !isForkOf(backup, more))) throw notEmpty(more);
    is_forked ||= more !== undefined;
    if (each.kind === 'deleted') await log.deleteStream(each.line.deleted_stream);
    if (each.kind === 'file')
      await blobs.put(each.line.file, Readable.from(contentOf(each.line, lines), { objectMode: false }));
  }
  // A log without an id gets its first one from the service.
  if (!is_forked && ledger.identity >= 0) {
    const { backup_id, began_at: backup_began_at, log_id: from_log_id } = backup;
    const of_ledger = { ledger_entries: ledger.entries, billing_events: ledger.billing };
    const fork = { from_log_id, ...of_ledger, backup_id, backup_began_at };
    if (!(await forkLog(log, ledger.identity, fork, now())))
      throw new RestoreConflict('another process has given the log another id');
  }
  restored?.(events);
  return backup;
}

/** Whether the event is the last one that a restore of this backup appends. */
const isForkOf = ({ backup_id }: VerifiedBackup, { type, data }: RecordedEvent): boolean =>
  type === 'LogForked' && (data as LogForked).backup_id === backup_id;

/** The bytes of a file, of which `first` is the first line and the next lines are the rest. */
async function* contentOf(first: FileLine, lines: AsyncGenerator<Line, void>): AsyncGenerator<Buffer, void> {
  for (let line = first; ; ) {
    yield Buffer.from(line.content, 'base64');
    if (line.size_bytes !== undefined) return;
    line = (await lines.next()).value!.line as FileLine;
  }
}

function assertSame(expected: EventLine, there: RecordedEvent): void {
  const is_same = there.id === expected.id && there.stream === expected.stream && there.revision === expected.revision;
  if (!is_same) throw notEmpty(there);
}

const notEmpty = ({ stream, revision }: RecordedEvent) =>
  new LogNotEmpty(
    `the event log is not empty: it has ${stream} ${revision}, which the backup does not have there. A backup is restored into an empty ` +
      'log, or into one in which a restore of the same file was cut off',
  );

/** Gathers events. Neighbours of one stream share an append. */
class Batch {
  readonly #log: StoredLog;
  #appends: (Omit<OrderedAppend, 'events'> & { events: EventLine[]; bytes: number })[] = [];
  #events = 0;
  #bytes = 0;

  constructor(log: StoredLog) {
    this.#log = log;
  }

  /** Returns whether it has appended the batch. */
  async add(event: EventLine, bytes: number): Promise<boolean> {
    const { stream, revision } = event;
    const last = this.#appends.at(-1);
    const is_next =
      last?.stream === stream &&
      last.events.at(-1)!.revision + 1 === revision &&
      last.events.length < MAX_APPEND_EVENTS &&
      last.bytes + bytes <= MAX_APPEND_BYTES;
    if (is_next) {
      last.events.push(event);
      last.bytes += bytes;
    } else {
      const expected = revision === 0 ? 'no_stream' : revision - 1;
      this.#appends.push({ stream, expected, events: [event], bytes });
    }
    this.#events += 1;
    this.#bytes += bytes;
    if (this.#events < BATCH_EVENTS && this.#bytes < BATCH_BYTES) return false;
    await this.flush();
    return true;
  }

  async flush(): Promise<void> {
    const appends = this.#appends;
    [this.#appends, this.#events, this.#bytes] = [[], 0, 0];
    if (appends.length === 0) return;
    const results = await this.#log.appendInOrder(appends);
    const failed = results.findIndex(({ ok }) => !ok);
    if (failed !== -1) {
      const { stream, expected } = appends[failed]!;
      throw new RestoreConflict(
        `${stream} is not at ${expected}: another process writes to the log, or the backup lacks events of it`,
      );
    }
  }
}
