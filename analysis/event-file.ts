// Files that hold events: JSON lines or Parquet of `events export`, a backup, or an exported ledger. Their first bytes say which.
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { linesOf, sourceOfFile } from '../audit/export-file.ts';
import { AUDITED } from '../audit/ledger-audit.ts';
import { readBackup } from '../backups/read-backup.ts';
import type { RecordedEvent } from '../events/event-store.ts';
import { type EventSource, selected } from './event-source.ts';
import { LaterEvents } from './later-events.ts';
import { startOf } from './selection.ts';

/** The file holds no events that can be read. */
class NoEvents extends Error {
  readonly code = 'no_events';
}

export type FileKind = 'json_lines' | 'parquet' | 'backup' | 'ledger';

const LOOKED_AT_BYTES = 64;
/** How zstd's skippable frames begin, after a byte that may be any of sixteen. Each part of a backup has one. */
const BACKUP = '\x2a\x4d\x18';
/** As many digits as the positions of the embedded log have. */
const POSITION_DIGITS = 16;

export async function kindOf(path: string): Promise<FileKind> {
  const file = await open(path);
  const bytes = Buffer.alloc(LOOKED_AT_BYTES);
  const { bytesRead } = await file.read(bytes, 0, LOOKED_AT_BYTES, 0).finally(() => file.close());
  const text = bytes.toString('latin1', 0, bytesRead);
  if (text.startsWith('PAR1')) return 'parquet';
  if (text.slice(1).startsWith(BACKUP)) return 'backup';
  if (text.startsWith('{"sum":')) return 'ledger';
  if (text.startsWith('{') || text === '') return 'json_lines';
  throw new NoEvents(
    `${path} has no events: it must be JSON lines or Parquet of \`events export\`, a backup or an exported ledger`,
  );
}

/** The events of a file that is not Parquet. Throws `NoEvents` and the errors of backups. */
export function sourceOfEvents(path: string, kind: Exclude<FileKind, 'parquet'>): EventSource {
  const read = { json_lines: eventsOfLines, backup: eventsOfBackup, ledger: eventsOfLedger }[kind];
  const later = new LaterEvents();
  return {
    later,
    async *events(selection) {
      const events = read(path);
      const first = await events.next();
      if (first.done) return;
      startOf(selection, first.value.position);
      yield* selected(joined(first.value, events), selection, later);
    },
    close: async () => {},
  };
}

async function* joined<Each>(first: Each, rest: AsyncGenerator<Each>): AsyncGenerator<Each> {
  yield first;
  yield* rest;
}

async function* eventsOfLines(path: string): AsyncGenerator<RecordedEvent> {
  let number = 0;
  for await (const line of linesOf(path)) {
    number += 1;
    const event = eventOf(line);
    if (event === null) throw new NoEvents(`${path}: line ${number} is no event`);
    yield event;
  }
}

function eventOf(line: Buffer): RecordedEvent | null {
  try {
    const event = JSON.parse(line.toString('utf8')) as RecordedEvent;
    const { position, stream, revision, id, type, data, metadata } = event;
    const are_texts = [position, stream, id, type].every((each) => typeof each === 'string');
    // Of another program's event nothing is known of the data and the metadata.
    const are_objects = [data, metadata].every((each) => typeof each === 'object');
    return are_texts && Number.isInteger(revision) && are_objects ? event : null;
  } catch {
    return null;
  }
}

/** A backup has no positions: its events are counted from 1, as a restore into an empty embedded log does. */
async function* eventsOfBackup(path: string): AsyncGenerator<RecordedEvent> {
  let number = 0;
  for await (const each of readBackup(createReadStream(path))) {
    if (each.kind !== 'event') continue;
    number += 1;
    yield { ...each.line, position: String(number).padStart(POSITION_DIGITS, '0') };
  }
}

async function* eventsOfLedger(path: string): AsyncGenerator<RecordedEvent> {
  const { events } = sourceOfFile(path, ({ message }) => {
    throw new NoEvents(`${path}: ${message}`);
  });
  yield* events(AUDITED, null) as AsyncGenerator<RecordedEvent>;
}
