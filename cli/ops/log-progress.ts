// How far a position of the log is from its beginning, for progress bars.
import type { EventSource } from '../../analysis/event-source.ts';
import type { Position } from '../../events/event-store.ts';
import { showProgress, type Unit } from '../progress.ts';
import type { Run } from './command.ts';

const SHOWN_AFTER_MS = 1000;

/** The positions of the embedded log count its events; those of EventStoreDB begin with the bytes before them, in hex. */
const isCount = (position: Position) => position.length < 32;

/** In events, or in megabytes. */
export function placeOf(position: Position): number {
  if (position === '') return 0;
  return isCount(position) ? Number(position) : Number.parseInt(position.slice(0, 16), 16) / 1_000_000;
}

export const unitOf = (position: Position): Unit =>
  isCount(position) ? { rate: 'events', done: 'events read' } : { rate: 'MB', done: 'MB of the log read' };

export interface ReadingProgress extends Disposable {
  seen(position: Position): void;
  stop(): void;
}

/** Shows how far a source is read, from a second after its start. A file, whose end is not known, shows nothing. */
export async function readingProgress({ err }: Pick<Run, 'err'>, source: EventSource): Promise<ReadingProgress> {
  const end = (await source.end?.()) ?? '';
  let place = 0;
  let shown: { stop(): void } | undefined;
  const look = () => ({ total: placeOf(end), done: Math.min(place, placeOf(end)) });
  const show = () => void (shown = showProgress(look, err, unitOf(end)));
  const timer = end === '' ? undefined : setTimeout(show, SHOWN_AFTER_MS);
  const stop = () => {
    clearTimeout(timer);
    shown?.stop();
    shown = undefined;
  };
  return { seen: (position) => void (place = placeOf(position)), stop, [Symbol.dispose]: stop };
}
