// An exported ledger: JSON lines `{"sum":…,"record":…}`. A sum is SHA-256, in hex, over the sum of the line before it (64 zeros for the first)
// and the bytes of the record, so that each line vouches for all before it. The order: a header, the signed heads, the events in log order, jobs
// that were deleted or whose results expired after these, and an end with the counts and the root of the Merkle tree. Decision 77 says why.
import { hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { TextDecoder } from 'node:util';
import type { Position, RecordedEvent } from '../events/event-store.ts';
import type { LogForked, PeriodClosed } from '../events/service.ts';
import { categoryOf, creditsStream, idOf } from '../events/streams.ts';
import { NOWHERE, placeOf, type Violation } from './findings.ts';
import { AUDITED } from './ledger-audit.ts';
import { GrowingTree } from './merkle.ts';
import {
  type AsOf,
  areStrings,
  isHead,
  type LedgerSource,
  leafOfEntry,
  REMOVES_RESULTS,
  reading,
  type SignedHead,
  until,
} from './source.ts';

const VERSION = 1;
const FORMAT = 'url-checker-ledger';

export interface Header {
  kind: 'header';
  format: typeof FORMAT;
  version: number;
  /** The random id of the log. */
  log_id: string | null;
  exported_at: string;
  /** The restores that the log comes from; absent in files of earlier services. */
  forks?: LogForked[];
  /** The closed periods; absent in files of earlier services. */
  periods?: PeriodClosed[];
}
interface End {
  kind: 'end';
  /** Of the last event. */
  position: Position;
  events: number;
  entries: number;
  root_hash: string;
}
export type LedgerRecord =
  | Header
  | { kind: 'head'; head: SignedHead }
  | { kind: 'event'; event: RecordedEvent }
  | { kind: 'deleted'; job_id: string }
  | End;

const FIRST_SUM = '0'.repeat(64);
const SUM_AT = '{"sum":"'.length;
const RECORD_AT = SUM_AT + FIRST_SUM.length + '","record":'.length;
const IS_SUM = /^[0-9a-f]{64}$/;

/** The lines of a file, each with its line end. */
export async function* exportLines(
  source: LedgerSource,
  as_of: AsOf | null,
  facts: Pick<Header, 'log_id' | 'exported_at'>,
): AsyncGenerator<string, End> {
  let sum = FIRST_SUM;
  const line = (record: LedgerRecord): string => {
    const text = JSON.stringify(record);
    sum = hash('sha256', sum + text, 'hex');
    return `{"sum":"${sum}","record":${text}}\n`;
  };
  const forks = await Array.fromAsync(source.forks());
  const periods = await Array.fromAsync(source.periods(as_of));
  yield line({ kind: 'header', format: FORMAT, version: VERSION, ...facts, forks, periods });
  for await (const head of source.heads(as_of)) yield line({ kind: 'head', head });
  const tree = new GrowingTree();
  const end: End = { kind: 'end', position: '', events: 0, entries: 0, root_hash: '' };
  for await (const event of source.events(AUDITED, as_of)) {
    if (categoryOf(event.stream) === 'credits') {
      tree.add(leafOfEntry(event));
      end.entries += 1;
    }
    end.events += 1;
    end.position = event.position;
    yield line({ kind: 'event', event: reading(event, plain) });
  }
  for await (const job_id of source.deletedAfter(end.position)) yield line({ kind: 'deleted', job_id });
  end.root_hash = tree.root().toString('hex');
  yield line(end);
  return end;
}

const plain = ({ position, stream, revision, id, type, data, metadata }: RecordedEvent): RecordedEvent => ({
  ...{ position, stream, revision, id, type, data, metadata },
});

/** The file is no exported ledger, or one of a later version. */
class NoExport extends Error {
  readonly code = 'no_export';
}

/** Reads an exported ledger. `found` is called for each line that is damaged, at each pass over the events. */
export function sourceOfFile(path: string, found: (violation: Violation) => void = () => {}): LedgerSource {
  async function* events(categories: readonly string[]): AsyncGenerator<RecordedEvent> {
    let end: End | null = null;
    const read = { events: 0, position: '' as Position };
    for await (const record of recordsOf(path, found)) {
      if (end !== null) found({ rule: 'file', ...NOWHERE, message: 'there are lines after the end' });
      if (record.kind === 'end') end = record;
      if (record.kind !== 'event') continue;
      const { event } = record;
      if (event.position <= read.position) {
        found({ rule: 'file', ...placeOf(event), message: `the event comes after position ${read.position}` });
      }
      read.events += 1;
      read.position = event.position;
      if (categories.includes(categoryOf(event.stream))) yield event;
    }
    const { position } = read;
    if (end === null) {
      found({ rule: 'file', ...NOWHERE, position, message: 'the file ends before its last line' });
    } else if (end.events !== read.events || end.position !== position) {
      const message = `the file has ${read.events} events up to ${position}, its end says ${end.events} up to ${end.position}`;
      found({ rule: 'file', ...NOWHERE, position, message });
    }
  }
  return {
    events: (categories, as_of) => until(events(categories), as_of),
    entriesOf: (user_id, as_of) => until(onlyOf(events(['credits']), creditsStream(user_id)), as_of),
    async *deletedAfter(from) {
      for await (const record of recordsOf(path)) {
        if (record.kind === 'deleted') yield record.job_id;
        if (record.kind !== 'event') continue;
        const { type, position, stream } = record.event;
        if (REMOVES_RESULTS.includes(type) && position > from) yield idOf(stream);
      }
    },
    async *heads() {
      for await (const record of recordsOf(path)) {
        if (record.kind === 'event' || record.kind === 'end') return;
        if (record.kind === 'head') yield record.head;
      }
    },
    async *forks() {
      yield* (await headerOf(path))?.forks ?? [];
    },
    async *periods() {
      yield* (await headerOf(path))?.periods ?? [];
    },
    close: async () => {},
  };
}

async function headerOf(path: string): Promise<Header | null> {
  for await (const record of recordsOf(path)) return record.kind === 'header' ? record : null;
  return null;
}

async function* onlyOf(events: AsyncIterable<RecordedEvent>, stream: string): AsyncGenerator<RecordedEvent> {
  for await (const event of events) if (event.stream === stream) yield event;
}

/** Yields each record that can be read, and names each line that is damaged. Throws `NoExport`. */
async function* recordsOf(
  path: string,
  found: (violation: Violation) => void = () => {},
): AsyncGenerator<LedgerRecord> {
  const utf8 = new TextDecoder('utf-8', { fatal: true });
  /** The sums that the line before may have: what it says and what it should say, so that one damaged line is named once. */
  let before = [FIRST_SUM];
  let number = 0;
  let position: Position | null = null;
  for await (const line of linesOf(path)) {
    number += 1;
    const stated = line.toString('latin1', SUM_AT, SUM_AT + FIRST_SUM.length);
    const bytes = line.subarray(RECORD_AT, -1);
    const computed = before.map((sum) => hash('sha256', Buffer.concat([Buffer.from(sum), bytes]), 'hex'));
    const record = recordOf(bytes, utf8);
    const is_whole =
      record !== null &&
      computed.includes(stated) &&
      line.toString('latin1', 0, SUM_AT) === '{"sum":"' &&
      line.toString('latin1', SUM_AT + FIRST_SUM.length, RECORD_AT) === '","record":' &&
      line.at(-1) === 0x7d;
    if (number === 1) refuseForeign(record, line, path);
    if (record?.kind === 'event') position = record.event.position;
    if (!is_whole) {
      const where = record?.kind === 'event' || position === null ? '' : `, after position ${position}`;
      const message = `line ${number}${where} is not what its sum says`;
      const place = record?.kind === 'event' ? record.event : { ...NOWHERE, position };
      const { stream, revision } = place;
      found({ rule: 'file', position: place.position, stream, revision, message });
    }
    before = is_whole ? [stated] : [...computed, ...(IS_SUM.test(stated) ? [stated] : [])];
    if (record !== null) yield record;
  }
  if (number === 0) throw new NoExport(`${path} is empty`);
}

function recordOf(bytes: Buffer, utf8: TextDecoder): LedgerRecord | null {
  try {
    const record = JSON.parse(utf8.decode(bytes)) as LedgerRecord;
    return isRecord(record) ? record : null;
  } catch {
    return null;
  }
}

/** Whether the record has the fields that the audit does not look at itself. */
function isRecord(record: LedgerRecord): boolean {
  switch (record.kind) {
    case 'header':
    case 'end':
    case 'deleted':
      return true;
    case 'head':
      return isHead(record.head);
    case 'event': {
      const { position, stream, type } = record.event;
      return areStrings(position, stream, type);
    }
    default:
      return false;
  }
}

function refuseForeign(record: LedgerRecord | null, line: Buffer, path: string): void {
  // A header with a changed byte is damaged, not foreign.
  const is_header = record?.kind === 'header' && record.format === FORMAT;
  if (!is_header && !line.includes(FORMAT) && !line.includes('"kind":"header"')) {
    throw new NoExport(`${path} is no exported ledger`);
  }
  if (is_header && record.version > VERSION) throw new NoExport(`${path} is of a later version: use that one`);
}

const NEWLINE = 0x0a;
/** No event is as long. */
const MAX_LINE_BYTES = 2 ** 26;

/** The lines, without their ends. The last one may lack its end. Throws `NoExport` for a line without end. */
export async function* linesOf(path: string): AsyncGenerator<Buffer> {
  let rest: Buffer[] = [];
  let rest_bytes = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: 2 ** 20 }) as AsyncIterable<Buffer>) {
    let from = 0;
    for (let to = chunk.indexOf(NEWLINE); to >= 0; to = chunk.indexOf(NEWLINE, from)) {
      const line = chunk.subarray(from, to);
      yield rest.length === 0 ? line : Buffer.concat([...rest, line]);
      rest = [];
      rest_bytes = 0;
      from = to + 1;
    }
    if (from < chunk.length) rest.push(chunk.subarray(from));
    rest_bytes += chunk.length - from;
    if (rest_bytes > MAX_LINE_BYTES) throw new NoExport(`${path} has a line of more than ${MAX_LINE_BYTES} bytes`);
  }
  if (rest.length > 0) yield Buffer.concat(rest);
}
