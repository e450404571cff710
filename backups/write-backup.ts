// Writes a backup: everything that the log and the stored files hold, up to the log's end at the start. Memory does not grow with
// the number of events or with the size of files, save some 30 bytes for each deleted stream and each upload. Decision 74 says why.
import { strict as assert } from 'node:assert';
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Blobs } from '../commands/blobs.ts';
import { jobOfBlob, UPLOADS } from '../commands/jobs/job-blobs.ts';
import { logId } from '../commands/log-identity.ts';
import type { Position, RecordedEvent, StoredLog } from '../events/event-store.ts';
import { BACKUP_TURN_STREAM, backupStream, jobStream, urlsStream } from '../events/streams.ts';
import { DigestSet } from '../intake/digest-set.ts';
import { isInBackups } from './keys.ts';
import {
  type Counts,
  type DeletedLine,
  type EventLine,
  type FileLine,
  type FirstLine,
  FORMAT,
  FORMAT_VERSION,
  type LastLine,
} from './lines.ts';
import { toParts } from './parts.ts';

/** Bytes of a file in one line. */
const PIECE_BYTES = 192 * 1024;

export interface WritingOptions {
  backup_id: string;
  log: StoredLog;
  blobs: Pick<Blobs, 'list' | 'get' | 'put'>;
  /** Where the backup is put. */
  key: string;
  /** Milliseconds since the epoch. */
  now: number;
  /** Ends the writing with its reason, and puts nothing. */
  signal: AbortSignal;
  /** Called after each part with what the backup has so far. */
  onPart?(progress: BackupProgress): void;
}

export interface BackupProgress extends Counts {
  size_bytes: number;
}

export interface WrittenBackup extends BackupProgress {
  /** The uploads of jobs that are not among the stored files. */
  missing_files: number;
  position: Position;
  /** Of the whole file, in hexadecimal. */
  sha256: string;
}

/** Puts the whole backup or nothing. Throws the errors of the stores, and an error when the stored files have none of the jobs' uploads. */
export async function writeBackup(options: WritingOptions): Promise<WrittenBackup> {
  const { blobs, key, signal, onPart } = options;
  const position = await options.log.head();
  const counts: Counts = { events: 0, files: 0, deleted_streams: 0 };
  const uploads: Uploads = { there: 0, missing: 0 };
  const whole = createHash('sha256');
  let size_bytes = 0;
  async function* content() {
    for await (const part of toParts(linesOf(options, position, counts, uploads))) {
      signal.throwIfAborted();
      whole.update(part);
      size_bytes += part.length;
      yield part;
      onPart?.({ ...counts, size_bytes });
    }
  }
  const put = await blobs.put(key, Readable.from(content(), { objectMode: false }));
  assert.equal(put.size_bytes, size_bytes, 'the store of files has another size than was written');
  return { ...counts, missing_files: uploads.missing, size_bytes, position, sha256: whole.digest('hex') };
}

/** The uploads that the jobs of the log name. */
interface Uploads {
  there: number;
  missing: number;
}

async function* linesOf(
  options: WritingOptions,
  position: Position,
  counts: Counts,
  uploads: Uploads,
): AsyncGenerator<string, void> {
  const { backup_id, log, now } = options;
  const first: FirstLine = {
    ...{ format: FORMAT, version: FORMAT_VERSION, backup_id, log_id: (await logId(log)) ?? '', position },
    began_at: new Date(now).toISOString(),
  };
  yield JSON.stringify(first);

  using deleted = new DigestSet();
  for await (const stream of log.deletedStreams()) deleted.add(stream);
  // A job's upload is stored before the job is made, and nothing is removed meanwhile.
  using stored = new DigestSet();
  for await (const { key } of options.blobs.list(UPLOADS)) stored.add(key);
  const own = backupStream(backup_id);
  for await (const event of log.readAll()) {
    if (event.position > position) break;
    const { stream } = event;
    // EventStoreDB gives the events of a deleted stream until somebody scavenges it. Of this backup the log does not know the end yet.
    if (stream === own || stream === BACKUP_TURN_STREAM || deleted.has(stream)) continue;
    counts.events += 1;
    yield textOf(event);
    const upload = uploadOf(event);
    if (upload === null || deleted.has(urlsStream(upload.job_id))) continue;
    uploads[stored.has(upload.key) ? 'there' : 'missing'] += 1;
  }
  if (uploads.missing > 0 && uploads.there === 0)
    throw new Error('the stored files have no upload of any job of the log: does BLOB_URL name another store?');
  yield* fileLines(options, position, counts);
  for await (const deleted_stream of log.deletedStreams()) {
    // One that was deleted after the start may have events in this backup.
    if (!deleted.has(deleted_stream)) continue;
    counts.deleted_streams += 1;
    const line: DeletedLine = { deleted_stream };
    yield JSON.stringify(line);
  }
  const last: LastLine = { end: { ...counts } };
  yield JSON.stringify(last);
}

/** The upload that a new job names. It goes once the job's listing has gone. */
function uploadOf({ type, data }: RecordedEvent): { key: string; job_id: string } | null {
  const key = type === 'JobCreated' ? (data as { blob_key?: unknown } | null)?.blob_key : null;
  const job_id = typeof key === 'string' ? jobOfBlob(key) : null;
  return job_id === null ? null : { key: key as string, job_id };
}

/** Names an event whose JSON is damaged: nothing else tells where to look. */
function textOf(event: RecordedEvent): string {
  const { stream, revision, id, type } = event;
  try {
    const line: EventLine = { stream, revision, id, type, data: event.data, metadata: event.metadata };
    return JSON.stringify(line);
  } catch (cause) {
    throw new Error(`event ${revision} of ${stream} is damaged: ${(cause as Error).message}`, { cause });
  }
}

async function* fileLines(
  { log, blobs }: WritingOptions,
  position: Position,
  counts: Counts,
): AsyncGenerator<string, void> {
  for await (const { key: file } of blobs.list('')) {
    if (isInBackups(file) || !(await isKnown(file, log, position))) continue;
    const content = await blobs.get(file);
    if (content === null) continue;
    counts.files += 1;
    let size_bytes = 0;
    for await (const piece of piecesOf(content)) {
      size_bytes += piece.length;
      const is_last = piece.length < PIECE_BYTES;
      const line: FileLine = { file, content: piece.toString('base64'), ...(is_last && { size_bytes }) };
      yield JSON.stringify(line);
    }
  }
}

/** Cuts the content into pieces of PIECE_BYTES; the last one is smaller, and may be empty. */
async function* piecesOf(content: Readable): AsyncGenerator<Buffer, void> {
  let held: Buffer = Buffer.alloc(0);
  for await (const chunk of content) {
    held = Buffer.concat([held, chunk as Buffer]);
    for (; held.length >= PIECE_BYTES; held = held.subarray(PIECE_BYTES)) yield held.subarray(0, PIECE_BYTES);
  }
  yield held;
}

/** False for the file of a job that the backup does not have: nothing would ever remove it where the backup is restored. */
async function isKnown(file: string, log: StoredLog, position: Position): Promise<boolean> {
  const job_id = jobOfBlob(file);
  if (job_id === null) return true;
  for (const stream of [jobStream(job_id), urlsStream(job_id)]) {
    for await (const event of log.readStream(stream, { limit: 1 })) if (event.position <= position) return true;
  }
  return false;
}
