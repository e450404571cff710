// The log's random id, which a restored copy has of its own. The documents store it, so that the projector notices when the log is another one.
import { randomUUID } from 'node:crypto';
import type { EventStore } from '../events/event-store.ts';
import type { LogForked, LogIdentified } from '../events/service.ts';
import { LOG_IDENTITY_STREAM } from '../events/streams.ts';
import { metadataOf } from './aggregate.ts';

/**
 * Returns the log's id, and gives the log one when it has none. Each call reads the log, which may have been replaced. `actor`
 * is the event's actor, `now` is in milliseconds since the epoch.
 */
export async function identifyLog(log: EventStore, actor: string, now: number): Promise<string> {
  const known = await logId(log);
  if (known !== null) return known;
  const data: LogIdentified = { log_id: randomUUID() };
  const metadata = metadataOf({ command_id: randomUUID(), causation_id: data.log_id, actor, now });
  const event = { id: data.log_id, type: 'LogIdentified', data, metadata };
  const { ok } = await log.append(LOG_IDENTITY_STREAM, 'no_stream', [event]);
  const given = ok ? data.log_id : await logId(log);
  if (given === null) throw new Error(`another process wrote ${LOG_IDENTITY_STREAM}, but its event cannot be read`);
  return given;
}

/** Null where the log has none yet. The last event's id is the log's, so that damaged data changes nothing. */
export async function logId(log: Pick<EventStore, 'readStream'>): Promise<string | null> {
  for await (const { id } of log.readStream(LOG_IDENTITY_STREAM, { direction: 'backwards', limit: 1 })) return id;
  return null;
}

/**
 * Gives a restored log an id of its own, once for each restore: signed heads name the log, and the one that was backed up may have signed
 * others since. `revision`: of the last event of `LOG_IDENTITY_STREAM`. Returns false when that is another one.
 */
export async function forkLog(
  log: Pick<EventStore, 'append'>,
  revision: number,
  fork: Omit<LogForked, 'log_id'>,
  now: number,
): Promise<boolean> {
  const log_id = randomUUID();
  const metadata = metadataOf({ command_id: randomUUID(), causation_id: log_id, actor: 'admin:backup', now });
  const event = { id: log_id, type: 'LogForked', data: { log_id, ...fork } satisfies LogForked, metadata };
  return (await log.append(LOG_IDENTITY_STREAM, revision, [event])).ok;
}
