// Backups from a terminal: npm run backup -- create | list | verify FILE | restore FILE
import '../service/private-files.ts';
import { randomUUID } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { keyPath } from '../adapters/identity/key-file.ts';
import { backupsPrefix } from '../backups/keys.ts';
import { type OpenBackup, type VerifiedBackup, verifyBackup } from '../backups/read-backup.ts';
import { restoreBackup } from '../backups/restore-backup.ts';
import type { CommandContext } from '../commands/aggregate.ts';
import { openBackups } from '../commands/backups.ts';
import type { Blobs } from '../commands/blobs.ts';
import { isKey } from '../commands/blobs.ts';
import { storeFaultOf } from '../events/store-faults.ts';
import { performBackup } from '../processes/backups.ts';
import { openRemovals } from '../processes/removals.ts';
import { openBackupProgress } from '../readmodels/operations/backups.ts';
import { whileHeld } from '../roles/holding.ts';
import { openLeases } from '../roles/leases.ts';
import { embeddedStores } from '../service/data-dir.ts';
import { openLogger } from '../service/logger.ts';
import { openBlobs, openStoredLog, openStores, type Waiting } from '../service/stores.ts';
import { type Config, readConfig } from '../settings/config.ts';
import { pause } from '../time/pause.ts';
import { closing, errorOfBlock } from './closing.ts';
import { keyInBackup, rehearse } from './rehearsal.ts';
import { readWords } from './usage.ts';
import { assertUsedLog } from './used-log.ts';
import { userFolder } from './user-folder.ts';

const USAGE = `usage: npm run backup -- create          writes a backup among the stored files
       npm run backup -- list            lists the backups there
       npm run backup -- verify FILE     proves that a backup is whole
       npm run backup -- rehearse [FILE] restores the newest one, or FILE, into an empty folder, verifies its ledger, and removes the folder
       npm run backup -- restore FILE    restores one into an empty event log
FILE is a path, or a key that \`list\` prints. The settings say where the log and the stored files are.`;

const LOOK_MS = 300;
const config = readSettings();
// Standard output is for the answer.
const logger = openLogger({ ...config, log_level: config.log_file ? config.log_level : 'silent' });
const waiting = (for_what: Waiting | null) => for_what && console.error(for_what.reason);
const { signal } = new AbortController();
const opening = { of: 'others', signal, waiting } as const;

/**
 * Asks for a backup, or finds the one that runs, and waits until it has ended. It is written by the service's processes if they run, and
 * else by this one.
 */
async function create(): Promise<void> {
  await assertUsedLog(config, logger, opening);
  await using stores = closing(await openStores(config, logger, opening));
  await using blobs = closing(await openBlobs(config, logger, opening));
  const backups = openBackups(stores.log);
  const progress = openBackupProgress(stores.documents);
  const causation_id = randomUUID();
  const context = (): CommandContext => {
    return { command_id: randomUUID(), causation_id, actor: 'admin:backup', now: Date.now() };
  };
  const started = await backups.start(causation_id, context());
  const backup_id = started.ok ? causation_id : started.refused.backup_id;
  if (!started.ok) console.error(`${started.refused.message} This command waits for it.`);
  const ended = new AbortController();
  const writing = {
    stored_log: stores.stored_log,
    blobs,
    backups,
    progress,
    removals: openRemovals(),
    logger,
    context,
  };
  const clocks = { now: Date.now, monotonic: () => performance.now() };
  const leases = await openLeases(stores.documents);
  const held = whileHeld(leases, 'processes', ended.signal, (lease) =>
    performBackup(backup_id, { ...writing, ...clocks }, lease).then(() => ended.abort()),
  );
  held.catch(() => ended.abort());
  while (!ended.signal.aborted) {
    if ((await backups.read(backup_id)).status !== 'running') ended.abort();
    const [written] = await progress.read([backup_id]);
    if (written && process.stderr.isTTY)
      process.stderr.write(`\r${written.events} events, ${megabytes(written.size_bytes)} `);
    await pause(LOOK_MS, ended.signal);
  }
  await held;
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
  const backup = await backups.read(backup_id);
  if (backup.status !== 'completed') throw new Error('the backup failed: GET /admin/backups and the log say why');
  console.log(backup.key);
  if (backup.missing_files > 0)
    console.error(`It lacks the uploads of ${backup.missing_files} jobs, which are not among the stored files.`);
}

async function list(blobs: Blobs): Promise<void> {
  for await (const { key, size_bytes } of blobs.list(backupsPrefix())) {
    console.log(`${megabytes(size_bytes).padStart(12)}  ${key}`);
  }
}

async function verify(open: OpenBackup): Promise<void> {
  print(await verifyBackup(open));
}

async function restore(open: OpenBackup, openedBlobs: () => Promise<Blobs>): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const key = keyInBackup();
  let is_writing = false;
  const restored = await restoreBackup({
    open,
    look: key.look,
    async into() {
      await key.assert(personalDataKey);
      const blobs = await openedBlobs();
      const log = opened.use(closing(await openStoredLog(config, logger, opening)));
      is_writing = true;
      return { log, blobs };
    },
    restored: showEvents,
  }).catch((cause: Error) => {
    if (!is_writing || storeFaultOf(cause) === null) throw cause;
    throw new Error(`${cause.message}\nThe restore was cut off. Start it again: it continues where it stopped.`, {
      cause,
    });
  });
  // Checkers would record the work of a log that is lost, for jobs that this one does not have, and http would show its documents
  // until the projector compares them with this one.
  for (const path of embeddedStores(config).filter((path) => basename(path) !== 'events.db'))
    for (const end of ['', '-wal', '-shm']) await rm(`${path}${end}`, { force: true });
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
  print(restored);
  console.log(`Repeat each erasure made after ${restored.began_at}: npm run erase -- --user ID`);
}

/** The key of the newest backup among the stored files. */
async function newest(blobs: Blobs): Promise<string> {
  const keys = (await Array.fromAsync(blobs.list(backupsPrefix()))).map(({ key }) => key);
  const [found] = keys.sort((a, b) => (basename(a) < basename(b) ? 1 : -1));
  if (found === undefined) throw new Error('there is no backup among the stored files: name a file');
  return found;
}

async function rehearseOne(open: OpenBackup): Promise<void> {
  const backup = await rehearse({ config, logger, opening, open, personalDataKey, restored: showEvents });
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
  print(backup);
  console.log('It was restored into an empty folder, its ledger holds, and the log has a mark of that.');
}

function showEvents(events: number): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${events} events `);
}

function readSettings(): Config {
  try {
    return readConfig(process.env);
  } catch (error) {
    console.error((error as Error).message);
    process.exit(2);
  }
}

/** The key under which the log holds the keys of personal data. None is made: a new one would open nothing. */
async function personalDataKey(): Promise<Uint8Array> {
  if (config.personal_data_key !== null) return Buffer.from(config.personal_data_key);
  const path = keyPath(config.data_dir, 'personal-data-key');
  return readFile(path).catch(() => {
    throw new Error(
      `PERSONAL_DATA_KEY is unset and there is no ${path}: give the one of the service that made the backup`,
    );
  });
}

function print({ backup_id, began_at, events, files, deleted_streams, size_bytes, sha256 }: VerifiedBackup): void {
  console.log(`backup   ${backup_id}, begun ${began_at}
events   ${events}, and ${deleted_streams} deleted streams
files    ${files}
size     ${size_bytes} bytes
sha256   ${sha256}`);
}

const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;

/** A file of this machine, or else one of the stored files. */
function opener(name: string, openedBlobs: () => Promise<Blobs>): OpenBackup {
  const path = resolve(userFolder(), name);
  return async () => {
    if (existsSync(path)) return createReadStream(path);
    const stored = name.startsWith(backupsPrefix()) && isKey(name) ? await (await openedBlobs()).get(name) : null;
    if (stored === null) throw new Error(`there is no file ${path}, and no stored file ${name}`);
    return stored;
  };
}

try {
  const { positionals } = readWords({ allowPositionals: true }, USAGE);
  const [command, file] = positionals;
  const takes = { create: [1], list: [1], verify: [2], restore: [2], rehearse: [1, 2] }[command ?? ''] ?? [];
  if (!takes.includes(positionals.length)) throw new Error(USAGE);
  if (command === 'create') await create();
  else {
    await using opened = new AsyncDisposableStack();
    let blobs: Promise<Blobs> | undefined;
    // Opening them makes their folder, which a backup that is refused must not leave behind.
    const openedBlobs = () => (blobs ??= openBlobs(config, logger, opening).then((each) => opened.use(closing(each))));
    if (command === 'list') await list(await openedBlobs());
    else if (command === 'rehearse')
      await rehearseOne(opener(file ?? (await newest(await openedBlobs())), openedBlobs));
    else if (command === 'verify') await verify(opener(file!, openedBlobs));
    else await restore(opener(file!, openedBlobs), openedBlobs);
  }
} catch (thrown) {
  const error = errorOfBlock(thrown);
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
