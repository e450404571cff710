// Results that are older than the service keeps them, from outside: they are gone, and the service says so.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';
import { openSqliteDocuments } from '../../adapters/documents/sqlite/sqlite-documents.ts';
import { issueLocalToken } from '../../adapters/identity/index.ts';
import { openJobs } from '../../commands/jobs/job.ts';
import { retention } from '../../processes/retention.ts';
import { openReadModels } from '../../readmodels/read-models.ts';
import { until } from '../support/behind.ts';
import { occurrences } from '../support/bytes.ts';
import { assertExactFolder } from '../support/ledger.ts';
import { passesOf } from '../support/manager-pass.ts';
import { opsHere } from '../support/run-ops.ts';
import { runProgram } from '../support/run-program.ts';
import { answerOf, openTestClient, startTestService } from '../support/service.ts';
import { openSite, page } from '../support/sites.ts';
import { commandContext, openFolderLog, silent } from '../support/stores.ts';

const NONE = { has: () => false };
const TWO_DAYS_MS = 2 * 24 * 3_600_000;

test('results that have expired are gone from both APIs, links and files; the job and its statistics stay', async (t) => {
  const site = await openSite(page);
  t.teardown(site.close);
  const service = await startTestService({
    SIGNUP_CREDITS: '100',
    RESULTS_RETENTION_DAYS: '1',
    WEBHOOK_ALLOW_ADDRESSES: '127.0.0.0/8',
  });
  let is_stopped = false;
  t.teardown(async () => is_stopped || (await service.stop()));
  const client = await service.client('alice');
  const key = await service.keyHolder('alice');
  // Its event is delivered after its results are gone.
  const received: string[] = [];
  const receiver = createServer(async (request, response) => {
    received.push(JSON.parse(await text(request)).data.job_id);
    response.writeHead(received.length === 1 ? 500 : 200).end();
  }).listen(0, '127.0.0.1');
  t.teardown(() => receiver.close());
  await once(receiver, 'listening');
  const hook = { url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`, events: ['job.completed'] };
  t.is((await key.ask('POST', '/api/v2/webhooks/endpoints', hook)).status, 201);

  const check = async (name: string) => {
    const { body } = await client.upload(`${site.url}/${name}-a\n${site.url}/${name}-b\nno url`, '', `${name}.csv`);
    return (await client.ended(body.job_id)).job_id as string;
  };
  const old = await check('faded');
  await until(() => received.length > 0);
  const { url: share } = (await client.ask('POST', `/jobs/${old}/share`)).body;
  const { url: link } = (await client.ask('GET', `/jobs/${old}/download`)).body;
  const figures = async () => [
    (await client.ask('GET', `/jobs/${old}/stats`)).body,
    (await client.ask('GET', `/jobs/${old}/filter-options`)).body,
  ];
  const before = await figures();

  const log = await openFolderLog(service.data_dir);
  const documents = await openSqliteDocuments({ path: join(service.data_dir, 'documents.db') });
  const readmodels = openReadModels(documents);
  const of = { readmodels, job_commands: openJobs(log), days: 1, failed_purges: NONE, context: () => commandContext() };
  const expiry = passesOf(retention(of), readmodels, { logger: silent, now: () => Date.now() + TWO_DAYS_MS });
  // The last step that the processes owe the job may be under way.
  await until(async () => (await expiry.pass()) !== null);
  await until(async () => (await Array.fromAsync(log.readStream(`job-${old}`))).at(-1)!.type === 'ResultsRemoved');
  await Promise.all([log.close(), documents.close()]);
  await until(() => received.length > 1);
  t.deepEqual(new Set(received), new Set([old]));
  t.is((await opsHere(['store', 'compact'], { DATA_DIR: service.data_dir })).code, 2, 'the service uses the stores');
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
    const job_commands = ['ledger verify', 'fsck', 'projections diff --all', 'projections rebuild worker_log --verify'];
    for (const command of job_commands) {
      const { code, stdout, stderr } = await opsHere(command.split(' '), { DATA_DIR: data_dir });
      t.is(code, 0, `${command}: ${stdout}${stderr}`);
    }
    await assertExactFolder(t, data_dir);
    const found = await occurrences(data_dir, ['faded-a', 'faded-b']);
    t.deepEqual(
      Object.keys(found).filter((where) => !where.startsWith('replayed.db')),
      [],
    );
    await rm(join(data_dir, 'replayed.db'));
    await assertRestored(t, data_dir, { old, young });
  });
});

/** A backup has what was left of the log: restored into an empty folder, with documents whose building was killed, all is as it was. */
async function assertRestored(t: ExecutionContext, data_dir: string, { old, young }: Record<'old' | 'young', string>) {
  const DATA_DIR = await mkdtemp(join(tmpdir(), 'url-checker-restored-'));
  t.teardown(() => rm(DATA_DIR, { recursive: true, force: true }));
  await cp(join(data_dir, 'identity'), join(DATA_DIR, 'identity'), { recursive: true });
  const { stdout: backup, stderr } = await runProgram('backup', ['create'], { DATA_DIR: data_dir });
  const restored = await runProgram('backup', ['restore', join(data_dir, 'blobs', backup.trim())], { DATA_DIR });
  t.is(restored.code, 0, stderr + restored.stderr);

  const rebuild = [join(import.meta.dirname, '../../cli/ops.ts'), 'projections', 'rebuild', '--all'];
  const killed = spawn(process.execPath, rebuild, { env: { ...process.env, DATA_DIR }, stdio: 'ignore' });
  const exited = once(killed, 'exit');
  await until(() => existsSync(join(DATA_DIR, 'documents.db')));
  killed.kill('SIGKILL');
  await exited;
  for (const command of ['projections rebuild --all', 'ledger verify', 'fsck', 'projections diff --all']) {
    const { code, stdout, stderr } = await opsHere(command.split(' '), { DATA_DIR });
    t.is(code, 0, `${command}: ${stdout}${stderr}`);
  }
  const service = await startTestService({ DATA_DIR });
  try {
    const token = await issueLocalToken(DATA_DIR, { user_id: 'alice', email: null, is_admin: false, hours: 1 });
    const client = openTestClient(service.url, token);
    for (const [job_id, status] of [
      [old, 410],
      [young, 200],
    ] as const) {
      for (const read of ['results', 'export']) {
        t.is((await client.ask('GET', `/jobs/${job_id}/${read}`)).status, status, read);
      }
    }
  } finally {
    await service.stop();
  }
}
