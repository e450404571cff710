// `events tail` prints events as they are appended, until it is interrupted. It waits for a log that is away.
import { pino } from 'pino';
import { selected } from '../../analysis/event-source.ts';
import { LaterEvents } from '../../analysis/later-events.ts';
import { type Selection, startOf, storeFilter } from '../../analysis/selection.ts';
import type { EventStore, Position } from '../../events/event-store.ts';
import { storeFaultOf } from '../../events/store-faults.ts';
import { backOff } from '../../time/pause.ts';
import { onInterrupts } from '../interrupts.ts';
import { type Command, EXIT, type Run } from './command.ts';
import { FROM, LIMIT, numberOf, SELECTING, selectionOf, tellLater, UNSEAL, unsealed } from './events-options.ts';
import { FORMAT, formatOf } from './events-read.ts';
import { LINES } from './events-text.ts';
import { openLogToRead } from './open-log.ts';
import { openOutput } from './output-file.ts';

const LONGEST_WAIT_MS = 5_000;

export const eventsTail: Command = {
  summary: 'print events as they are appended, until Ctrl-C; --from begins earlier',
  options: {
    ...SELECTING,
    from: FROM,
    unseal: UNSEAL,
    limit: { ...LIMIT, means: 'end after this many events' },
    format: FORMAT,
  },
  async run(run) {
    const { header, lineOf } = LINES[formatOf(run)];
    const [selection, limit] = [selectionOf(run), numberOf(run, 'limit') ?? Number.POSITIVE_INFINITY];
    const output = await openOutput(run);
    const { signal } = onInterrupts();
    let left = limit;
    const later = new LaterEvents();
    let reached: Position | null = null;
    let failures = 0;

    /** Ends when it is interrupted, or has printed enough. */
    async function follow(log: EventStore): Promise<void> {
      reached ??= await beginning(log, selection);
      for await (const batch of log.subscribe({ from: reached, filter: storeFilter(selection), signal })) {
        failures = 0;
        for await (const event of selected(batch.events, selection, later)) {
          await output.write(lineOf(event));
          left -= 1;
          if (left === 0) return;
        }
        await output.flush();
        reached = batch.position;
      }
    }

    await output.write(header);
    while (left > 0 && !signal.aborted) {
      const { log } = await openLogToRead(run, noticesOf(run));
      try {
        await follow(run.values.unseal ? await unsealed(run, log) : log);
      } catch (error) {
        if (storeFaultOf(error) === null) throw error;
        if (failures === 0) run.err.write(`the event log is away, and awaited: ${(error as Error).message}\n`);
        await backOff(failures, LONGEST_WAIT_MS, signal);
        failures += 1;
      } finally {
        await log.close();
      }
    }
    await output.finish();
    tellLater(run, { later });
    return EXIT.clean;
  },
};

/** The position after which it begins: that of the newest event, unless `--from` says something else. */
async function beginning(log: EventStore, selection: Selection): Promise<Position> {
  const head = await log.head();
  return selection.from === null ? head : startOf(selection, head);
}

/** Prints the messages of a store, such as that its server went away and came back. */
const noticesOf = ({ err }: Run) =>
  pino({ level: 'info' }, { write: (line) => void err.write(`${(JSON.parse(line) as { msg: string }).msg}\n`) });
