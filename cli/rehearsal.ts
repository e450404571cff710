// A rehearsal of a restore: a backup is restored into an empty folder, its ledger is verified there, and the folder goes. The log of the service
// keeps a mark of it, so that operators are told when none was made for long.
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import type { Logger } from 'pino';
import type { Line } from '../backups/lines.ts';
import type { OpenBackup, VerifiedBackup } from '../backups/read-backup.ts';
import { restoreBackup } from '../backups/restore-backup.ts';
import { openBackups } from '../commands/backups.ts';
import { assertOpens } from '../events/personal-keys.ts';
import { personalKeyStream } from '../events/streams.ts';
import { type OpeningOptions, openBlobs, openStoredLog, openStores } from '../service/stores.ts';
import type { Config } from '../settings/config.ts';
import { closing } from './closing.ts';
import { EXIT } from './ops/command.ts';
import { runOps } from './ops/run-ops.ts';
import { assertUsedLog } from './used-log.ts';

const SERVICE_KEY = personalKeyStream('service');

/**
 * Finds the key of the service's personal data among the lines of a backup.
 * `assert` throws when the given key does not open it, and does nothing where the backup has none.
 */
export function keyInBackup() {
  let found: unknown = null;
  return {
    look(line: Line) {
      if (line.kind === 'event' && line.line.stream === SERVICE_KEY) found = line.line.data;
    },
    async assert(personalDataKey: () => Promise<Uint8Array>) {
      if (found !== null) assertOpens(await personalDataKey(), SERVICE_KEY, found);
    },
  };
}

export interface RehearsalOptions {
  config: Config;
  logger: Logger;
  opening: OpeningOptions;
  open: OpenBackup;
  personalDataKey: () => Promise<Uint8Array>;
  restored: (events: number) => void;
}

/** Throws where the backup is damaged, cannot be restored, has no ledger that holds, or the mark cannot be kept. */
export async function rehearse(options: RehearsalOptions): Promise<VerifiedBackup> {
  const { config, logger, opening } = options;
  await assertUsedLog(config, logger, opening);
  const began_at = performance.now();
  const folder = join(config.data_dir, 'rehearsal');
  // What a rehearsal that was killed has left.
  await rm(folder, { recursive: true, force: true });
  try {
    const backup = await restoreInto(folder, options);
    await assertLedgerHolds(folder);
    await using stores = closing(await openStores(config, logger, opening));
    const command_id = randomUUID();
    const mark = { events: backup.events, files: backup.files, duration_ms: Math.round(performance.now() - began_at) };
    await openBackups(stores.log).run(
      backup.backup_id,
      { type: 'rehearse', ...mark },
      { command_id, causation_id: command_id, actor: 'admin:backup', now: Date.now() },
    );
    return backup;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function restoreInto(folder: string, options: RehearsalOptions): Promise<VerifiedBackup> {
  const { config, logger, opening, open, personalDataKey, restored } = options;
  const there = { ...config, data_dir: folder, eventstore_url: null, blob_url: null };
  await using opened = new AsyncDisposableStack();
  const key = keyInBackup();
  return await restoreBackup({
    ...{ open, look: key.look, restored },
    async into() {
      await key.assert(personalDataKey);
      const blobs = opened.use(closing(await openBlobs(there, logger, opening)));
      return { log: opened.use(closing(await openStoredLog(there, logger, opening))), blobs };
    },
  });
}

async function assertLedgerHolds(folder: string): Promise<void> {
  let said = '';
  const out = new Writable({
    write(chunk, _encoding, done) {
      said += chunk;
      done();
    },
  });
  const env = { DATA_DIR: folder, PERSONAL_DATA_KEY: 'x'.repeat(32) };
  const code = await runOps(['ledger', 'verify'], { env, folder, in: Readable.from([]), out, err: out } as never);
  if (code === EXIT.violation) throw new Error(`the ledger of the restored log breaks rules:\n${said}`);
  if (code !== EXIT.clean) throw new Error(`not all of the ledger of the restored log is proved:\n${said}`);
}
