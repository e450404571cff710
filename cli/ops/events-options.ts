// The options that the commands of events share: which events, and from where.
import { resolve } from 'node:path';
import { kindOf, sourceOfEvents } from '../../analysis/event-file.ts';
import { type EventSource, sourceOfLog } from '../../analysis/event-source.ts';
import { sourceOfParquet } from '../../analysis/parquet.ts';
import type { Selection } from '../../analysis/selection.ts';
import { withReadingCodec } from '../../events/codec.ts';
import type { EventStore } from '../../events/event-store.ts';
import { openPersonalKeys } from '../../events/personal-keys.ts';
import { EVENT_TYPES, VOCABULARY } from '../../events/vocabulary.ts';
import { type Option, type Run, UsageError } from './command.ts';
import { pointOf } from './ledger-options.ts';
import { openLogToRead, personalKeyOf } from './open-log.ts';

export const SELECTING: Readonly<Record<string, Option>> = {
  stream: { type: 'string', value: 'NAME', multiple: true, means: 'only the events of this stream; may be repeated' },
  category: {
    ...{ type: 'string', value: 'NAME', multiple: true },
    means: 'only the streams of this category, such as job; may be repeated',
  },
  type: { type: 'string', value: 'NAME', multiple: true, means: 'only this type of event; may be repeated' },
};
export const FROM: Option = {
  type: 'string',
  value: 'WHEN',
  means: 'the events after a position, or those since a time such as 2026-01-31T12:00:00Z or a day (UTC)',
};
export const TO: Option = {
  type: 'string',
  value: 'WHEN',
  means: 'the events up to a position, a time or the end of a day (UTC)',
};
export const EVENTS_FILE: Option = {
  type: 'string',
  value: 'FILE',
  means:
    'read a file instead of the log: one of `events export` (JSON lines or Parquet), a backup or an exported ledger',
};
export const UNSEAL: Option = {
  type: 'boolean',
  means: 'open personal data, by PERSONAL_DATA_KEY or the key in DATA_DIR; without it, it stays sealed',
};
export const LIMIT: Option = { type: 'string', value: 'N', means: 'at most this many events' };
export const WHICH = { ...SELECTING, from: FROM, to: TO, file: EVENTS_FILE, unseal: UNSEAL } as const;

/** The events that the options select. Throws `UsageError`. */
export function selectionOf(run: Pick<Run, 'values'>): Selection {
  const all = (option: string) => (run.values[option] as string[] | undefined) ?? null;
  const [streams, categories, types] = [all('stream'), all('category'), all('type')];
  for (const each of categories ?? []) refuse('category', each, Object.keys(VOCABULARY));
  for (const each of types ?? []) refuse('type', each, Object.keys(EVENT_TYPES));
  for (const each of streams ?? []) {
    if (!/^[^-]+-./.test(each))
      throw new UsageError(`--stream ${each}: it must be the name of a stream, such as job-ID`);
  }
  return { streams, categories, types, from: pointOf(run, 'from', 'start'), to: pointOf(run, 'to', 'end') };
}

function refuse(option: string, given: string, known: readonly string[]): void {
  if (known.includes(given)) return;
  const alike = known.find((name) => name.toLowerCase() === given.toLowerCase());
  const hint = alike === undefined ? 'docs/events.md lists them' : `do you mean ${alike}?`;
  throw new UsageError(`--${option} ${given}: there is no such ${option}: ${hint}`);
}

export function numberOf({ values }: Pick<Run, 'values'>, option: string): number | null {
  const given = values[option];
  if (typeof given !== 'string') return null;
  if (!/^\d{1,15}$/.test(given)) throw new UsageError(`--${option} ${given}: it must be a number from 0`);
  return Number(given);
}

/** The value of an option that takes one of a few; the first one without it. */
export function oneOf<Each extends string>(
  { values }: Pick<Run, 'values'>,
  option: string,
  allowed: readonly [Each, ...Each[]],
): Each {
  const given = values[option] ?? allowed[0];
  const found = allowed.find((each) => each === given);
  if (found === undefined) throw new UsageError(`--${option} ${given}: it must be ${allowed.join(', ')}`);
  return found;
}

/** The log that the settings name, or the file of `--file`. */
export async function openEvents(run: Run): Promise<EventSource> {
  const { file, unseal } = run.values;
  if (typeof file === 'string') {
    if (unseal) throw new UsageError('--unseal: only the log has the keys, a file stays sealed');
    const path = resolve(run.folder, file);
    const kind = await kindOf(path);
    return kind === 'parquet' ? sourceOfParquet(path) : sourceOfEvents(path, kind);
  }
  const { log } = await openLogToRead(run);
  return sourceOfLog(unseal ? await unsealed(run, log) : log);
}

/** Says on standard error which events were of a later version. */
export function tellLater({ err }: Pick<Run, 'err'>, { later }: Pick<EventSource, 'later'>): void {
  if (later.text !== null) err.write(`${later.text}\n`);
}

/** The log with its personal data opened. Throws `UsageError` without a key. */
export async function unsealed(run: Pick<Run, 'env'>, log: EventStore): Promise<EventStore> {
  const key = await personalKeyOf(run);
  if (key === null)
    throw new UsageError('--unseal: it needs PERSONAL_DATA_KEY, or the DATA_DIR of the service with its key');
  return withReadingCodec(log, openPersonalKeys(log, key));
}
