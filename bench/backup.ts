// How long a backup, its verification and its restore take, and how much memory they use. Each step is a process of its own.
// node bench/backup.ts [--events 1000000]
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openFileBlobs } from '../adapters/blobs/files/file-blobs.ts';
import { openSqliteEventStore } from '../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { verifyBackup } from '../backups/read-backup.ts';
import { restoreBackup } from '../backups/restore-backup.ts';
import { writeBackup } from '../backups/write-backup.ts';

const KEY = 'backups/bench/file.ndjson.zst';
const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '1000000' },
    folder: { type: 'string' },
    step: { type: 'string' },
  },
});
const events = Number(values.events);
const STEPS: Record<string, (folder: string) => Promise<void>> = { fill, write, verify, restore };

async function runAll(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-backup-'));
  try {
    for (const step of Object.keys(STEPS)) {
      const parts = [import.meta.filename, '--events', `${events}`, '--folder', folder, '--step', step];
      const { seconds, most_mb } = JSON.parse(execFileSync(process.execPath, parts, { encoding: 'utf8' }));
      const rate = (events / seconds / 1000).toFixed(0);
      console.log(
        `${step.padEnd(8)} ${seconds.toFixed(1)} s, ${rate} k events/s, ${most_mb.toFixed(0)} MB at the most`,
      );
    }
    const [log, backup] = await Promise.all([stat(join(folder, 'events.db')), stat(join(folder, 'blobs', KEY))]);
    console.log(
      `${(log.size / events).toFixed(0)} bytes an event in the log, ${(backup.size / events).toFixed(0)} in the backup`,
    );
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function measure(step: (folder: string) => Promise<void>, folder: string): Promise<void> {
  const began = performance.now();
  await step(folder);
  const seconds = (performance.now() - began) / 1000;
  console.log(JSON.stringify({ seconds, most_mb: process.resourceUsage().maxRSS / 1024 }));
}

const openLog = (folder: string, name = 'events.db') => openSqliteEventStore({ path: join(folder, name) });
const openBlobs = (folder: string, name = 'blobs') => openFileBlobs({ folder: join(folder, name), sign: () => '' });

/** Streams of ten events, each of 600 bytes, as an API with many small jobs makes them. */
async function fill(folder: string): Promise<void> {
  const log = await openLog(folder);
  for (let stream = 0; stream < events / 10; stream += 500) {
    await Promise.all(
      Array.from({ length: Math.min(500, events / 10 - stream) }, (_, n) => {
        const command_id = randomUUID();
        const metadata = { command_id, causation_id: command_id, actor: 'user:alice', at: new Date().toISOString() };
        const made = Array.from({ length: 10 }, (__, place) => ({
          ...{ id: randomUUID(), type: 'JobCreated', metadata },
          data: { job_id: randomUUID(), owner_id: 'alice', note: randomUUID().repeat(6), place },
        }));
        return log.append(`job-${stream + n}`, 'no_stream', made);
      }),
    );
  }
  await log.close();
}

async function write(folder: string): Promise<void> {
  const log = await openLog(folder);
  const { signal } = new AbortController();
  const blobs = await openBlobs(folder);
  await writeBackup({ backup_id: 'bench', log, blobs, key: KEY, now: Date.now(), signal });
  await log.close();
}

const open = (folder: string) => async () => createReadStream(join(folder, 'blobs', KEY));

async function verify(folder: string): Promise<void> {
  await verifyBackup(open(folder));
}

async function restore(folder: string): Promise<void> {
  const log = await openLog(folder, 'restored.db');
  const into = async () => ({ log, blobs: await openBlobs(folder, 'restored') });
  await restoreBackup({ open: open(folder), into });
  await log.close();
}

if (values.step) await measure(STEPS[values.step]!, values.folder!);
else await runAll();
