// Results that are older than the service keeps them, from outside: they are gone, and the service says so.
import { join } from 'node:path';
import test from 'ava';
import { openSqliteDocuments } from '../adapters/documents/sqlite/sqlite-documents.ts';
import { openJobs } from '../commands/job.ts';
import { openRetention } from '../processes/retention.ts';
import { openReadModels } from '../readmodels/read-models.ts';
import { until } from './support/behind.ts';
import { occurrences } from './support/bytes.ts';
import { assertExactFolder } from './support/ledger.ts';
import { opsHere } from './support/run-ops.ts';
import { answerOf, startTestService } from './support/service.ts';
import { openSite, page } from './support/sites.ts';
import { commandContext, openFolderLog, silent } from './support/stores.ts';

const NONE = { count: () => 0 };
const TWO_DAYS_MS = 2 * 24 * 3_600_000;

test('results that have expired are gone from both APIs, links and files; the job and its statistics stay', async (t) => {
  const site = await openSite(page);
  t.teardown(site.close);
  const service = await startTestService({ SIGNUP_CREDITS: '100', RESULTS_RETENTION_DAYS: '1' });
  let is_stopped = false;
  t.teardown(async () => is_stopped || (await service.stop()));
  const client = await service.client('alice');
  const key = await service.keyHolder('alice');
  const check = async (name: string) => {
    const { body } = await client.upload(`${site.url}/${name}-a\n${site.url}/${name}-b\nno url`, '', `${name}.csv`);
    return (await client.ended(body.job_id)).job_id as string;
  };
  const old = await check('faded');
  const { url: share } = (await client.ask('POST', `/jobs/${old}/share`)).body;
  const { url: link } = (await client.ask('GET', `/jobs/${old}/download`)).body;
  const figures = async () => [
    (await client.ask('GET', `/jobs/${old}/stats`)).body,
    (await client.ask('GET', `/jobs/${old}/filter-options`)).body,
  ];
  const before = await figures();

  const log = await openFolderLog(service.data_dir);
  const documents = await openSqliteDocuments({ path: join(service.data_dir, 'documents.db') });
  const retention = openRetention({
    ...{ readmodels: openReadModels(documents), commands: openJobs(log), days: 1, failed_purges: NONE, logger: silent },
    ...{ context: () => commandContext(), now: () => Date.now() + TWO_DAYS_MS, monotonic: () => 0 },
  });
  // The last step that the processes owe the job may be under way.
  await until(async () => (await retention.expireSome(new AbortController().signal)).position !== null);
  await until(async () => (await Array.fromAsync(log.readStream(`job-${old}`))).at(-1)!.type === 'ResultsRemoved');
  await Promise.all([log.close(), documents.close()]);
  const young = await check('recent');

  const job = (await client.ask('GET', `/jobs/${old}`)).body;
  t.like(job, { status: 'completed', completed_urls: 2, filename: 'faded.csv' });
  t.truthy(job.results_expired_at);
  t.is((await key.ask('GET', `/api/v2/jobs/${old}`)).body.results_expired_at, job.results_expired_at);
  t.is((await client.ask('GET', `/jobs/${young}`)).body.results_expired_at, null);
  t.deepEqual(await figures(), before);

  const reads = [
    'results',
    'url-list',
    'export',
    'export?original=true',
    'download',
    'rejected',
    `changes?since=${young}`,
  ];
  for (const read of reads) {
    const { status, body } = await client.ask('GET', `/jobs/${old}/${read}`);
    t.like([status, body], [410, { code: 'results_expired' }], read);
  }
  t.is((await client.ask('GET', `/jobs/${young}/changes?since=${old}`)).status, 410);
  t.is((await client.ask('POST', `/jobs/${old}/share`)).status, 410);
  t.like(await key.ask('GET', `/api/v2/jobs/${old}/results?cursor=`), {
    status: 410,
    body: { error: { code: 'results_expired', details: { results_expired_at: job.results_expired_at } } },
  });
  t.is((await answerOf(await fetch(link))).status, 410);
  t.is((await answerOf(await fetch(share))).status, 410);
  const shown = await answerOf(await fetch(share, { headers: { accept: 'text/html' } }));
  t.is(shown.status, 410);
  t.regex(shown.body, /These results are no longer there/);
  const administrator = await service.client('root', { is_admin: true });
  t.is((await administrator.ask('GET', `/admin/jobs/${old}/input-csv`)).status, 410);

  is_stopped = true;
  await service.stop(async (data_dir) => {
    const commands = ['ledger verify', 'fsck', 'projections diff --all', 'projections rebuild worker_log --verify'];
    for (const command of commands) {
      const { code, stdout, stderr } = await opsHere(command.split(' '), { DATA_DIR: data_dir });
      t.is(code, 0, `${command}: ${stdout}${stderr}`);
    }
    await assertExactFolder(t, data_dir);
    const found = await occurrences(data_dir, ['faded-a', 'faded-b']);
    t.deepEqual(
      Object.keys(found).filter((where) => !where.startsWith('replayed.db')),
      [],
    );
  });
});
