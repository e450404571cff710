// Opens the log that the settings of the service name, for reading, and changes nothing.
import { randomBytes } from 'node:crypto';
import { join, resolve } from 'node:path';
import { type Logger, pino } from 'pino';
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { keyPath } from '../../adapters/identity/key-file.ts';
import { isThere } from '../../adapters/sqlite.ts';
import { withCodec } from '../../events/codec.ts';
import type { EventStore } from '../../events/event-store.ts';
import { openPersonalKeys } from '../../events/personal-keys.ts';
import { keyOf } from '../../service/local-key.ts';
import { tlsFilesOf } from '../../service/store-tls.ts';
import { readConfig } from '../../settings/config.ts';
import { type Run, UsageError } from './command.ts';

const NAME = 'personal-data-key';
const SILENT = pino({ level: 'silent' });

/** `path`: of the file, where the log is embedded. `notices`: where the store logs that its server is away. */
export async function openLogToRead(
  { env }: Pick<Run, 'env'>,
  notices: Logger = SILENT,
): Promise<{ log: EventStore; path: string | null }> {
  const config = readConfig(env);
  const { data_dir, eventstore_url: url } = config;
  if (url === null) {
    const path = resolve(join(data_dir, 'events.db'));
    return { log: await openSqliteEventStore({ path, read_only: true }), path };
  }
  const { openEventStoreDb } = await import('../../adapters/eventstore/eventstoredb/eventstoredb-event-store.ts');
  return { log: await openEventStoreDb({ url, tls: tlsFilesOf(config, 'EVENTSTORE'), log: notices }), path: null };
}

/**
 * The same for a command that judges what the log holds. An empty one breaks no rule, and is not the service's, which writes to its log at its
 * first start: EVENTSTORE_URL names another server, or that has lost its data.
 */
export async function openWrittenLog(run: Pick<Run, 'env'>): ReturnType<typeof openLogToRead> {
  const opened = await openLogToRead(run);
  for await (const _ of opened.log.readAll({ limit: 1 })) return opened;
  await opened.log.close();
  throw new UsageError(`the event log ${opened.path ?? 'of EVENTSTORE_URL'} is empty: no service has written to it`);
}

/** The log behind the codec: upcast, and with personal data. Its reads throw `WrongPersonalDataKey` without the service's key. */
export async function openDecodedLog(run: Pick<Run, 'env'>): Promise<EventStore> {
  const { log } = await openLogToRead(run);
  // Without the key, nothing that is sealed can be read.
  return withCodec(log, openPersonalKeys(log, (await personalKeyOf(run)) ?? randomBytes(32)));
}

/** The key of the service's personal data; null where there is none: reading makes no key. */
export async function personalKeyOf({ env }: Pick<Run, 'env'>): Promise<Buffer | null> {
  const { personal_data_key, data_dir } = readConfig(env);
  const has_key = personal_data_key !== null || isThere(keyPath(data_dir, NAME));
  return has_key ? keyOf(personal_data_key, data_dir, NAME) : null;
}
