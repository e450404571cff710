// A data folder with a log to read, and `npm run ops -- events …` over it.
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import type { EventStore, RecordedEvent, StoredLog } from '../../events/event-store.ts';
import { fillLedger } from './audited-ledger.ts';
import { opsHere } from './run-ops.ts';
import { codedOf } from './stores.ts';

export type Env = Record<string, string>;
export const ops = (env: Env, ...args: string[]) => opsHere(['events', ...args], env);

export async function lines(t: ExecutionContext, env: Env, ...args: string[]): Promise<RecordedEvent[]> {
  const { code, stdout, stderr } = await ops(env, ...args);
  t.is(code, 0, stderr);
  return stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
}

export const NAMED_AT = '2026-02-03T10:00:00.000Z';

export const named = (at = NAMED_AT, name = '=Dora') => ({
  ...{ id: randomUUID(), type: 'UserNamed', data: { name } },
  metadata: { command_id: 'c', causation_id: 'r', actor: 'user:dora', at },
});

/** A ledger, and a user with a name that the log holds sealed. */
export async function fill(log: EventStore, data_dir: string): Promise<void> {
  await fillLedger(log);
  await (await codedOf(log, data_dir)).append('user-dora', 'no_stream', [named()]);
}

export async function folder(t: ExecutionContext): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'events-'));
  t.teardown(() => rm(made, { recursive: true, force: true }));
  return made;
}

export async function filledFolder(t: ExecutionContext, also: (log: StoredLog) => Promise<unknown> = async () => {}) {
  const DATA_DIR = await folder(t);
  const log = await openSqliteEventStore({ path: join(DATA_DIR, 'events.db') });
  await fill(log, DATA_DIR);
  await also(log);
  await log.close();
  return DATA_DIR;
}
