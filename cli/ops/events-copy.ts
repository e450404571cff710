// `events copy`: keeps a copy of the events for other tools, as the tables that SQL has.
import { type Copy, openCopy } from '../../analysis/copy.ts';
import type { Position, StoredLog } from '../../events/event-store.ts';
import { storeFaultOf } from '../../events/store-faults.ts';
import { backOff, pause } from '../../time/pause.ts';
import { closing } from '../closing.ts';
import { onInterrupts } from '../interrupts.ts';
import { showProgress } from '../progress.ts';
import { type Command, count, EXIT, type Run, UsageError } from './command.ts';
import { isAway, openPlace, PLACE_MEANS } from './copy-places.ts';
import { placeOf, unitOf } from './log-progress.ts';
import { openLogToRead } from './open-log.ts';
import { keepReserve } from './reserve.ts';

const FOLLOW_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

export const eventsCopy: Command = {
  summary: 'keep a copy of the events, with the tables of SQL, for other tools: only what is new is added at each call',
  options: {
    to: {
      ...{ type: 'string', value: 'PLACE' },
      means: PLACE_MEANS,
    },
    follow: { type: 'boolean', means: 'go on, and copy events as they are appended, until Ctrl-C' },
  },
  async run(run) {
    const { to, follow = false } = run.values as { to?: string; follow?: boolean };
    if (to === undefined) throw new UsageError('it needs --to PLACE');
    const { file, publish } = await openPlace(run, to);
    const assertRoom = keepReserve(run, file);
    const { signal } = onInterrupts();
    const gone = new Set<string>();
    let is_published = false;
    /** Where the log ended when the copy was brought there last. */
    let reached: Position | null = null;
    let failures = 0;
    for (;;) {
      try {
        const { log } = await openLogToRead(run);
        await using opened = closing(log);
        const stored = opened as unknown as StoredLog;
        if (!is_published || (await hasNews(stored, reached, gone))) {
          const head = await stored.head();
          await using copy = closing(await openCopy(file, opened, { seen: assertRoom, gone }));
          const copied = await bringUpToDate(run, copy, stored, signal);
          is_published &&= copied.events === 0 && copied.removed === 0;
          if (!is_published) await publish(copy);
          is_published = true;
          reached = head;
          if (!follow || copied.events > 0 || copied.removed > 0) tell(run, copied, copy);
        }
        failures = 0;
      } catch (error) {
        if (!follow || (storeFaultOf(error) === null && !isAway(error))) throw error;
        if (failures === 0) run.err.write(`a store is away, and awaited: ${(error as Error).message}\n`);
        is_published = false;
        failures += 1;
        await backOff(failures, LONGEST_WAIT_MS, signal);
      }
      if (!follow || signal.aborted) return signal.aborted && !follow ? EXIT.unknown : EXIT.clean;
      await pause(FOLLOW_MS, signal);
      if (signal.aborted) return EXIT.clean;
    }
  },
};

/** Whether the log has or lost what the copy does not know. To open the copy takes longer than this look, and locks its file. */
async function hasNews(log: StoredLog, reached: Position | null, gone: ReadonlySet<string>): Promise<boolean> {
  if (reached === null || (await log.head()) !== reached) return true;
  for await (const stream of log.deletedStreams(reached)) if (!gone.has(stream)) return true;
  return false;
}

interface Copied {
  events: number;
  removed: number;
}

async function bringUpToDate(run: Run, copy: Copy, log: StoredLog, signal: AbortSignal): Promise<Copied> {
  const head = await log.head();
  const look = () => ({ total: placeOf(head), done: Math.min(placeOf(copy.position), placeOf(head)) });
  const shown = showProgress(look, run.err, unitOf(head));
  try {
    return { events: await copy.advance(log, signal), removed: await copy.forget(log) };
  } finally {
    shown.stop();
  }
}

function tell(run: Run, { events, removed }: Copied, { position, later }: Copy): void {
  if (later.text !== null) run.err.write(`${later.text}\n`);
  run.out.write(
    run.json
      ? `${JSON.stringify({ events, removed, position, later: later.counts })}\n`
      : `${count(events, 'event')} added, ${count(removed, 'event')} removed, up to position ${position}\n`,
  );
}
