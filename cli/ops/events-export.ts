// `events export` writes events to a file: JSON lines, CSV or Parquet.
import { writeFile } from 'node:fs/promises';
import { extname, resolve } from 'node:path';
import { writeParquet } from '../../analysis/parquet.ts';
import type { RecordedEvent } from '../../events/event-store.ts';
import { closing } from '../closing.ts';
import { exitAtInterrupts } from '../interrupts.ts';
import { type Command, count, EXIT, type Run, UsageError } from './command.ts';
import { oneOf, openEvents, selectionOf, WHICH } from './events-options.ts';
import { LINES } from './events-text.ts';
import { MODE, openOutput, partOf } from './output-file.ts';
import { keepReserve } from './reserve.ts';

const FORMATS = ['jsonl', 'csv', 'parquet'] as const;
type Format = (typeof FORMATS)[number];

export const eventsExport: Command = {
  summary: 'write events to a file that others read: JSON lines, CSV or Parquet',
  options: {
    out: { type: 'string', value: 'FILE', means: 'the file; without it, standard output' },
    format: { type: 'string', value: 'FORMAT', means: 'jsonl, csv or parquet (by the name of the file, else jsonl)' },
    ...WHICH,
  },
  async run(run) {
    const out = run.values.out as string | undefined;
    const format = formatOf(run, out);
    const selection = selectionOf(run);
    const assertRoom = keepReserve(run, out);
    exitAtInterrupts();
    await using source = closing(await openEvents(run));
    let written = 0;
    let last: string | null = null;
    const counted = async function* (): AsyncGenerator<RecordedEvent> {
      for await (const event of source.events(selection)) {
        written += 1;
        assertRoom();
        last = event.position;
        yield event;
      }
    };
    if (format === 'parquet') await toParquet(resolve(run.folder, out!), counted());
    else await toLines(run, out, LINES[format], counted());
    const { counts, text } = source.later;
    const summary = { events: written, position: last, later: counts };
    run.err.write(
      run.json
        ? `${JSON.stringify(summary)}\n`
        : `${count(written, 'event')}${last === null ? '' : `, the last at position ${last}`}${text === null ? '' : `. ${text}`}\n`,
    );
    return EXIT.clean;
  },
};

function formatOf(run: Run, out: string | undefined): Format {
  const by_name = FORMATS.find((format) => out !== undefined && extname(out) === `.${format}`);
  const format = run.values.format === undefined && by_name ? by_name : oneOf(run, 'format', FORMATS);
  if (format === 'parquet' && out === undefined) throw new UsageError('--format parquet: it needs --out FILE');
  return format;
}

async function toLines(
  run: Run,
  out: string | undefined,
  { header, lineOf }: (typeof LINES)['csv'],
  events: AsyncIterable<RecordedEvent>,
): Promise<void> {
  await using output = await openOutput(run, out);
  await output.write(header);
  for await (const event of events) await output.write(lineOf(event));
  await output.finish();
}

async function toParquet(path: string, events: AsyncIterable<RecordedEvent>): Promise<void> {
  using target = await partOf(path);
  await writeFile(target.part, '', { mode: MODE });
  await writeParquet(target.part, events);
  await target.finish();
}
