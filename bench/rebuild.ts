// How long the projector takes to build all documents anew from the log of a fully checked job, and how large the stores are.
// node bench/rebuild.ts [--urls 1000000] [--hosts 5000]; MONGODB_URL names a server for the documents.
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { pino } from 'pino';
import { openMongoDocuments } from '../adapters/documents/mongodb/mongodb-documents.ts';
import { openSqliteDocuments } from '../adapters/documents/sqlite/sqlite-documents.ts';
import { openSqliteEventStore } from '../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { openCredits } from '../commands/credits.ts';
import { openJobs } from '../commands/job.ts';
import { identifyLog } from '../commands/log-identity.ts';
import { recordChecks } from '../commands/record-checks.ts';
import { openSubmitJob } from '../commands/submit-job.ts';
import type { Outcome } from '../events/checks.ts';
import type { EventStore } from '../events/event-store.ts';
import { batchSize } from '../events/job.ts';
import { ALL_PROJECTIONS } from '../projections/all.ts';
import { runProjector } from '../projections/projector.ts';
import { openLeases } from '../roles/leases.ts';

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
    await fill(log, urls, hosts);
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

async function fill(log: EventStore, count: number, hosts: number): Promise<void> {
  const job_id = randomUUID();
  const context = { command_id: randomUUID(), causation_id: randomUUID(), actor: 'bench', now: Date.now() };
  const [jobs, credits] = [openJobs(log), openCredits(log)];
  const lot = { transaction_type: 'purchase', reference_id: randomUUID(), amount: count, expires_at: null } as const;
  await credits.run('bench', { type: 'grant', ...lot }, context);
  const urlOf = (index: number) => `https://www.site-${index % hosts}.example/pages/page-${index}`;
  const urlsFrom = (from: number, length: number) => Array.from({ length }, (_, n) => urlOf(from + n));
  await openSubmitJob(
    log,
    jobs,
    credits,
  )(
    {
      ...{ job_id, owner_id: 'bench', owner_email: null, source: 'api', filename: null, blob_key: null },
      needs_credits: true,
      counts: () => ({ duplicates_removed: 0, invalid_urls_rejected: 0, blocked_urls_skipped: 0 }),
      pages: (async function* () {
        for (let from = 0; from < count; from += 1000) {
          yield { urls: urlsFrom(from, Math.min(1000, count - from)) };
        }
      })(),
    },
    { ...context, command_id: randomUUID() },
  );
  const batch_size = batchSize(count);
  const batches = Math.ceil(count / batch_size);
  for (let first = 0; first < batches; first += 100) {
    const some = Array.from({ length: Math.min(100, batches - first) }, (_, n) => first + n);
    await Promise.all(
      some.map((batch) => {
        const from_index = batch * batch_size;
        const urls = urlsFrom(from_index, Math.min(batch_size, count - from_index));
        const range = { job_id, batch, batch_from_index: from_index, from_index, urls };
        return recordChecks(log, range, urls.map(outcomeOf), { ...context, command_id: randomUUID() });
      }),
    );
  }
  await jobs.run(job_id, { type: 'cancel' }, { ...context, command_id: randomUUID() });
}

/** One in ten is broken, and one in fifty gives no answer. */
function outcomeOf(url: string, n: number): Outcome {
  const status_code = n % 50 === 7 ? null : n % 10 === 3 ? 404 : 200;
  const is_broken = status_code !== 200;
  return {
    status_code,
    final_url: status_code === null ? null : url,
    is_broken,
    is_soft_404: false,
    redirect_chain: [],
    response_time_ms: status_code === null ? null : 20 + ((n * 7919) % 700),
    content_type: status_code === null ? null : 'text/html; charset=utf-8',
    error_code: status_code === null ? 'dns_not_found' : null,
    verdict: status_code === null ? 'unreachable' : is_broken ? 'broken' : 'ok',
    protection: null,
    attempts: 1,
  };
}

export const rebuildTable = ({ urls, seconds, cpu_seconds, log_bytes, documents_bytes }: RebuildBench): string =>
  `Documents of ${urls} checked URLs built anew in ${seconds.toFixed(1)} s (${cpu_seconds.toFixed(1)} s of processor time); ` +
  `bytes a URL: log ${log_bytes.toFixed(0)}, documents ${documents_bytes?.toFixed(0) ?? 'on a server'}`;

if (import.meta.main) {
  const { values } = parseArgs({ options: { urls: { type: 'string' }, hosts: { type: 'string' } } });
  const numbers = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Number(value)]));
  console.log(rebuildTable(await benchRebuild({ ...numbers, mongodb_url: process.env.MONGODB_URL ?? '' })));
}
