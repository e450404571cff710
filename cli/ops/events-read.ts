// `events read` prints events, `events count` counts them.
import type { RecordedEvent } from '../../events/event-store.ts';
import { categoryOf } from '../../events/streams.ts';
import { closing } from '../closing.ts';
import { type Command, EXIT, printable, type Run } from './command.ts';
import { LIMIT, numberOf, oneOf, openEvents, selectionOf, tellLater, WHICH } from './events-options.ts';
import { FORMATS, LINES } from './events-text.ts';
import { openOutput } from './output-file.ts';

export const FORMAT = {
  type: 'string',
  value: 'FORMAT',
  means: `${FORMATS.join(', ')} (text; with --json, jsonl)`,
} as const;

export const formatOf = (run: Run) => (run.json ? 'jsonl' : oneOf(run, 'format', FORMATS));

export const eventsRead: Command = {
  summary: 'print events in the order of the log',
  options: { ...WHICH, limit: LIMIT, format: FORMAT },
  async run(run) {
    const { header, lineOf } = LINES[formatOf(run)];
    const [selection, limit] = [selectionOf(run), numberOf(run, 'limit') ?? Number.POSITIVE_INFINITY];
    await using source = closing(await openEvents(run));
    const output = await openOutput(run);
    output.write(header);
    let left = limit;
    if (left > 0) {
      for await (const event of source.events(selection)) {
        await output.write(lineOf(event));
        left -= 1;
        if (left === 0) break;
      }
    }
    await output.finish();
    tellLater(run, source);
    return EXIT.clean;
  },
};

const DAY_CHARS = 'yyyy-mm-dd'.length;
const GROUPS = ['all', 'category', 'type', 'day'] as const;

export const eventsCount: Command = {
  summary: 'count events',
  options: { ...WHICH, by: { type: 'string', value: 'WHAT', means: 'count by category, type or day (UTC)' } },
  async run(run) {
    const [selection, by] = [selectionOf(run), oneOf(run, 'by', GROUPS)];
    await using source = closing(await openEvents(run));
    const counts = new Map<string, number>();
    for await (const event of source.events(selection)) {
      const group = groupOf(event, by);
      counts.set(group, (counts.get(group) ?? 0) + 1);
    }
    tellLater(run, source);
    const groups = [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
    const events = groups.reduce((sum, [, each]) => sum + each, 0);
    if (run.json) {
      const grouped = by === 'all' ? {} : { [by]: Object.fromEntries(groups) };
      run.out.write(`${JSON.stringify({ events, ...grouped })}\n`);
    } else if (by === 'all') run.out.write(`${events.toLocaleString('en')}\n`);
    else {
      const widest = Math.max(...groups.map(([group]) => group.length), 'total'.length);
      for (const [group, each] of [...groups, ['total', events] as const])
        run.out.write(printable(`${group.padEnd(widest)}  ${each.toLocaleString('en').padStart(13)}`));
    }
    return EXIT.clean;
  },
};

function groupOf({ stream, type, metadata }: RecordedEvent, by: (typeof GROUPS)[number]): string {
  if (by === 'category') return categoryOf(stream);
  if (by === 'type') return type;
  return by === 'day' ? String(metadata.at ?? '-').slice(0, DAY_CHARS) : '';
}
