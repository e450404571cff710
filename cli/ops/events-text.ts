// Events as lines: text for people, JSON lines and CSV for programs.
import type { RecordedEvent } from '../../events/event-store.ts';
import { inert } from '../../http/results/export/columns.ts';
import { csvField } from '../../http/results/export/csv.ts';
import { printable } from './command.ts';

export const FORMATS = ['text', 'jsonl', 'csv'] as const;
export type Format = (typeof FORMATS)[number];

export interface EventLines {
  /** Before the first event. */
  header: string;
  lineOf(event: RecordedEvent): string;
}

const COLUMNS = [
  ...[
    'position',
    'recorded_at',
    'stream',
    'revision',
    'type',
    'id',
    'actor',
    'command_id',
    'causation_id',
    'version',
    'data',
  ],
] as const;

export const LINES: Readonly<Record<Format, EventLines>> = {
  jsonl: { header: '', lineOf: (event) => `${JSON.stringify(event)}\n` },
  csv: { header: csvLine(COLUMNS), lineOf: (event) => csvLine(cellsOf(event)) },
  text: {
    header: '',
    lineOf: ({ position, metadata, stream, revision, type, data }) =>
      printable(`${position}  ${metadata.at ?? '-'}  ${stream} ${revision}  ${type}  ${JSON.stringify(data)}`),
  },
};

function cellsOf({
  position,
  stream,
  revision,
  type,
  id,
  data,
  metadata,
}: RecordedEvent): readonly (string | number)[] {
  const { at, actor, command_id, causation_id, version = 1 } = metadata;
  return [position, at, stream, revision, type, id, actor, command_id, causation_id, version, JSON.stringify(data)];
}

/** A line of CSV as the tools of a terminal take it, with a line feed. A text that a spreadsheet would run as a formula gets an apostrophe before it. */
export function csvLine(cells: readonly (string | number | bigint | boolean | null)[]): string {
  return `${cells.map((cell) => csvField(typeof cell === 'string' ? inert(cell) : cell)).join(',')}\n`;
}
