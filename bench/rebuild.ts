// How long the projector takes to build all documents anew from the log of a fully checked job, and how large the stores are.
// node bench/rebuild.ts [--urls 1000000] [--hosts 5000]; MONGODB_URL names a server for the documents.
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { pino } from 'pino';
import { openMongoDocuments } from '../adapters/documents/mongodb/mongodb-documents.ts';
import { openSqliteDocuments } from '../adapters/documents/sqlite/sqlite-documents.ts';
import { openSqliteEventStore } from '../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { identifyLog } from '../commands/log-identity.ts';
import { ALL_PROJECTIONS } from '../projections/all.ts';
import { runProjector } from '../projections/projector/projector.ts';
import { openLeases } from '../roles/leases.ts';
import { appendCheckedJob } from '../test/support/checked-job.ts';

export interface RebuildBench {
  urls: number;
  seconds: number;
  cpu_seconds: number;
  /** Bytes for each URL of the log's file, and of the documents' file; null for documents on a server. */
  log_bytes: number;
  documents_bytes: number | null;
}

export async function benchRebuild({ urls = 1_000_000, hosts = 5000, mongodb_url = '' } = {}): Promise<RebuildBench> {
  const folder = await mkdtemp(join(tmpdir(), 'url-checker-rebuild-'));
  const [log_path, path] = [join(folder, 'events.db'), join(folder, 'documents.db')];
  const log = await openSqliteEventStore({ path: log_path });
  try {
    await appendCheckedJob(log, { urls, hosts, owner_id: 'bench' });
    const documents = mongodb_url
      ? await openMongoDocuments({
          url: mongodb_url,
          database: `rebuild_${Date.now()}`,
          log: pino({ level: 'silent' }),
        })
      : await openSqliteDocuments({ path });
    const end = await log.head();
    const done = new AbortController();
    const [began, cpu] = [performance.now(), process.cpuUsage()];
    await runProjector({
      log,
      documents,
      projections: ALL_PROJECTIONS,
      leases: await openLeases(documents),
      log_id: () => identifyLog(log, 'process:bench', Date.now()),
      logger: pino({ level: 'silent' }),
      signal: done.signal,
      advanced: (position, is_building) => position >= end && !is_building && done.abort(),
    });
    const seconds = (performance.now() - began) / 1000;
    const { user, system } = process.cpuUsage(cpu);
    await Promise.all([documents.close(), log.close()]);
    const bytes = async (file: string) => (await stat(file)).size / urls;
    return {
      urls,
      seconds,
      cpu_seconds: (user + system) / 1e6,
      log_bytes: await bytes(log_path),
      documents_bytes: mongodb_url ? null : await bytes(path),
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export const rebuildTable = ({ urls, seconds, cpu_seconds, log_bytes, documents_bytes }: RebuildBench): string =>
  `Documents of ${urls} checked URLs built anew in ${seconds.toFixed(1)} s (${cpu_seconds.toFixed(1)} s of processor time); ` +
  `bytes a URL: log ${log_bytes.toFixed(0)}, documents ${documents_bytes?.toFixed(0) ?? 'on a server'}`;

if (import.meta.main) {
  const { values } = parseArgs({ options: { urls: { type: 'string' }, hosts: { type: 'string' } } });
  const numbers = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Number(value)]));
  console.log(rebuildTable(await benchRebuild({ ...numbers, mongodb_url: process.env.MONGODB_URL ?? '' })));
}
