// The stores of a service for commands that write to its log. They ask first whether the log is where the settings say: opening it would make a new one.
import { randomUUID } from 'node:crypto';
import { join, resolve } from 'node:path';
import { type Logger, pino } from 'pino';
import { isThere } from '../adapters/sqlite.ts';
import type { CommandContext } from '../commands/aggregate.ts';
import { type OpeningOptions, openStoredLog, openStores } from '../service/stores.ts';
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

/** Throws as `assertUsedLog` does. The stores close at the end of the block. */
export async function openUsedStores(config: Config, logger: Logger = pino({ level: 'silent' })) {
  const opening = { of: 'others', signal: AbortSignal.timeout(30_000), waiting: () => {} } as const;
  await assertUsedLog(config, logger, opening);
  return closing(await openStores(config, logger, opening));
}

/** The context of a command that an operator gives at the terminal; `by` names it in the log. */
export function operatorContext(by: string): CommandContext {
  const command_id = randomUUID();
  return { command_id, causation_id: command_id, actor: `admin:${by}`, now: Date.now() };
}
