// A rebuild of a log with large events takes as little memory as one with small events.
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import test, { type ExecutionContext } from 'ava';
import { openSqliteDocuments } from '../../../adapters/documents/sqlite/sqlite-documents.ts';
import { type RecordedEvent, sizeOf } from '../../../events/event-store.ts';
import { openUrlListing } from '../../../events/url-listing.ts';
import { domainHealthProjection } from '../../../projections/domain-health.ts';
import { withUrls } from '../../../projections/jobs/checked-urls.ts';
import { jobsProjection } from '../../../projections/jobs/jobs.ts';
import { BUILD_PART, LIVE_PART, partsOf } from '../../../projections/parts.ts';
import { domainHealth } from '../../../readmodels/domain-health.ts';
import { requestRebuild } from '../../../readmodels/projection-state.ts';
import { openReadModels } from '../../../readmodels/read-models.ts';
import { appendManyJobs } from '../../support/many-jobs.ts';
import { openFolderLog, project } from '../../support/stores.ts';

const JOBS = 150;
const HOSTS = 1000;

async function folderOf(t: ExecutionContext, jobs: number, is_domains_only: boolean): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'large-events-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const log = await openFolderLog(folder);
  await appendManyJobs(log, { jobs, hosts: HOSTS, all_hosts: 3 * HOSTS, owner_id: 'alice', is_domains_only });
  await log.close();
  return folder;
}

/** Events of 33 MB, which take five times as much once they are parsed. */
test('a build of events of 220 kB each fits a heap that holds few of them', async (t) => {
  t.timeout(300_000);
  const folder = await folderOf(t, JOBS, true);
  const documents = await openSqliteDocuments({ path: join(folder, 'documents.db') });
  t.teardown(() => documents.close());
  const log = await openFolderLog(folder);
  await project({ log, documents }, [domainHealthProjection]);
  await log.close();
  await requestRebuild(documents, 'domain_health');

  const thread = new Worker(new URL('../../support/rebuild-thread.ts', import.meta.url), {
    workerData: { folder, names: ['domain_health'] },
    resourceLimits: { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 24 },
  });
  const [message] = await once(thread, 'message');
  t.is(message, 'done');
  const counted = await openReadModels(documents).collection(domainHealth).find({}, { limit: 10_000 });
  t.is(
    counted.reduce((sum, { checks }) => sum + checks, 0),
    JOBS * HOSTS,
  );
});

test('a part has few bytes, few jobs and few events, whatever the log has', async (t) => {
  const folder = await folderOf(t, 3, false);
  const log = await openFolderLog(folder);
  t.teardown(() => log.close());
  const events = await Array.fromAsync(log.readAll({ filter: { types: jobsProjection.types } }));
  for (const limits of [LIVE_PART, BUILD_PART, { urls: 250, bytes: 60_000, jobs: 2, events: 7 }]) {
    const parts = [...partsOf({ events, position: 'end' }, [jobsProjection], limits)];
    t.deepEqual(
      parts.flatMap((part) => part.events),
      events,
    );
    t.is(parts.at(-1)!.position, 'end');
    for (const part of parts) {
      t.true(part.events.length <= limits.events);
      t.true(part.events.length === 1 || sum(part.events) <= limits.bytes);
      t.true(
        new Set(part.events.filter(isChecked).map(({ stream }) => stream.split('-', 6).join())).size <= limits.jobs,
      );
    }
  }
});

const isChecked = ({ type }: RecordedEvent) => type === 'URLChecked';
const sum = (events: readonly RecordedEvent[]) => events.reduce((bytes, event) => bytes + sizeOf(event), 0);

test('a part whose URLs are long is cut, and each event has its URLs', async (t) => {
  const folder = await folderOf(t, 3, false);
  const log = await openFolderLog(folder);
  t.teardown(() => log.close());
  const events = await Array.fromAsync(log.readAll({ filter: { types: ['URLChecked'] } }));
  const listing = openUrlListing(log);
  const long = { ...listing, rangeWithRows: longUrls };
  async function longUrls(job_id: string, from: number, to: number) {
    const { urls, rows } = await listing.rangeWithRows(job_id, from, to);
    return { rows, urls: urls.map((url) => url.padEnd(20_000, 'x')) };
  }
  const [whole] = await Array.fromAsync(withUrls(listing, { events, position: 'end' }));
  const cut = await Array.fromAsync(withUrls(long, { events, position: 'end' }));
  t.deepEqual(
    cut.flatMap((part) => part.events),
    events,
  );
  t.true(cut.length > 1);
  t.is(cut.at(-1)!.position, 'end');
  for (const part of cut)
    for (const event of part.events as never[])
      t.deepEqual(
        part.urls_of(event).urls.map((url) => url.replace(/x+$/, '')),
        whole!.urls_of(event).urls,
      );
});
