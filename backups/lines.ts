// The lines of a backup: JSON, one object a line. The first says what the file is; events, files and deleted streams follow, and the
// last one says how many of each there are.
import { isKey } from '../commands/blobs.ts';
import type { NewEvent } from '../events/event-store.ts';
import { isInBackups } from './keys.ts';
import { DamagedBackup } from './parts.ts';

export const FORMAT = 'url-checker-backup';
/** Raised when a reader of this version could not read the file of the next one. */
export const FORMAT_VERSION = 1;

export interface FirstLine {
  format: typeof FORMAT;
  version: number;
  backup_id: string;
  /** The log's random id. */
  log_id: string;
  /** The position in the log up to which the backup has the events. Another store gives them other positions. */
  position: string;
  /** ISO 8601. */
  began_at: string;
}

/** An event without its position. Its personal fields are sealed. */
export interface EventLine extends NewEvent {
  stream: string;
  revision: number;
}

/** A piece of a stored file, in base64. The pieces of a file follow each other; the last one has the size of the whole. */
export interface FileLine {
  file: string;
  content: string;
  size_bytes?: number;
}

/** A stream that was deleted for good, and takes no event any more. */
export interface DeletedLine {
  deleted_stream: string;
}

export interface Counts {
  events: number;
  files: number;
  deleted_streams: number;
}
export interface LastLine {
  end: Counts;
}

export type Line =
  | { kind: 'first'; line: FirstLine }
  /** `size_bytes`: at least the event's bytes in an append. */
  | { kind: 'event'; line: EventLine; size_bytes: number }
  | { kind: 'file'; line: FileLine }
  | { kind: 'deleted'; line: DeletedLine }
  | { kind: 'last'; line: LastLine };

/** Throws `DamagedBackup` for a text that is no line of this format, or that is of a later version. */
export function parseLine(text: string): Line {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new DamagedBackup('a line is not JSON');
  }
  const line = value as Partial<FirstLine & EventLine & FileLine & DeletedLine & LastLine>;
  if (typeof value === 'object' && value !== null) {
    if (isStream(line.stream) && isEvent(line)) return eventOf(line as EventLine, text);
    if (isText(line.file) && isFile(line)) return { kind: 'file', line: line as FileLine };
    if (isStream(line.deleted_stream)) return { kind: 'deleted', line: line as DeletedLine };
    if (line.format === FORMAT) return { kind: 'first', line: known(line as FirstLine) };
    if (typeof line.end === 'object' && line.end !== null) return { kind: 'last', line: line as LastLine };
  }
  throw new DamagedBackup(`a line is none of this format: ${text.slice(0, 80)}`);
}

const eventOf = (line: EventLine, text: string): Line => ({
  ...{ kind: 'event', line },
  size_bytes: Buffer.byteLength(text) + line.type.length,
});

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null;
/** EventStoreDB takes an append to a stream with a `$` as a command to itself. */
const isStream = (value: unknown): value is string => isText(value) && !value.startsWith('$');

function isEvent({ revision, id, type, data, metadata }: Partial<EventLine>): boolean {
  const is_revision = Number.isSafeInteger(revision) && revision! >= 0;
  return is_revision && isText(id) && isText(type) && isObject(data) && isObject(metadata);
}

/** No file of a backup may be written among the backups. */
const isFile = ({ file, content, size_bytes }: Partial<FileLine>): boolean =>
  isKey(file!) &&
  !isInBackups(file!) &&
  typeof content === 'string' &&
  ['number', 'undefined'].includes(typeof size_bytes);

function known(line: FirstLine): FirstLine {
  const { version, backup_id, log_id, position, began_at } = line;
  if (version !== FORMAT_VERSION) {
    throw new DamagedBackup(
      `the backup has version ${version} of the format, and this service reads version ${FORMAT_VERSION}`,
    );
  }
  const is_whole = isText(backup_id) && typeof log_id === 'string' && typeof position === 'string' && isText(began_at);
  if (!is_whole) throw new DamagedBackup('the first line does not say which backup it begins');
  return line;
}
