// Asks whether the service's log is where the settings say, for commands that write to it: opening it would make a new one.
import { join, resolve } from 'node:path';
import type { Logger } from 'pino';
import { isThere } from '../adapters/sqlite.ts';
import { type OpeningOptions, openStoredLog } from '../service/stores.ts';
import type { Config } from '../settings/config.ts';
import { closing } from './closing.ts';

/** Throws when there is no log, or one in which no service has ever written, as where DATA_DIR or EVENTSTORE_URL is missing or misspelt. */
export async function assertUsedLog(config: Config, logger: Logger, opening: OpeningOptions): Promise<void> {
  const path = config.eventstore_url === null ? resolve(join(config.data_dir, 'events.db')) : null;
  if (path !== null && !isThere(path)) throw new Error(`there is no event log at ${path}`);
  await using log = closing(await openStoredLog(config, logger, opening));
  for await (const _ of log.readAll({ limit: 1 })) return;
  throw new Error(`the event log ${path ?? 'of EVENTSTORE_URL'} is empty: no service has written to it`);
}
