// `npm run ops -- store compact`: no file has the bytes of what was deleted, whatever left them there.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test from 'ava';
import { openSqliteDocuments } from '../../adapters/documents/sqlite/sqlite-documents.ts';
import { openSqliteEventStore } from '../../adapters/eventstore/sqlite/sqlite-event-store.ts';
import { openJobs } from '../../commands/jobs/job.ts';
import { openCredits } from '../../commands/ledger/credits.ts';
import { purging } from '../../processes/purge.ts';
import { openRemovals } from '../../processes/removals.ts';
import { openReadModels } from '../../readmodels/read-models.ts';
import { occurrences } from '../support/bytes.ts';
import { fileBlobs } from '../support/file-blobs.ts';
import { assertExact } from '../support/ledger.ts';
import { passesOf } from '../support/manager-pass.ts';
import { opsHere } from '../support/run-ops.ts';
import { coded, commandContext, project } from '../support/stores.ts';
import { submitUpload } from '../support/submitted.ts';

const GONE = ['secret-page', 'forgotten-row'];

test("after it no file has a purged job's URLs, and the stores are as they were", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'compact-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const DATA_DIR = join(folder, 'data');
  const log = coded(await openSqliteEventStore({ path: join(DATA_DIR, 'events.db') }));
  const documents = await openSqliteDocuments({ path: join(DATA_DIR, 'documents.db') });
  const blobs = await fileBlobs(join(DATA_DIR, 'blobs'));
  const [job_commands, credits] = [openJobs(log), openCredits(log)];
  const grant = { transaction_type: 'purchase', reference_id: 'p', amount: 1000, expires_at: null } as const;
  await credits.run('alice', { type: 'grant', ...grant }, commandContext());
  for (const [job_id, page] of [
    ['gone', 'secret-page'],
    ['kept', 'page'],
  ] as const) {
    const urls = Array.from({ length: 200 }, (_, i) => `https://site-${i}.example/${page}`);
    const of = {
      job_id,
      owner_id: 'alice',
      owner_email: null,
      filename: 'urls.csv',
      urls,
      batch_size: 10,
      checked: 200,
    };
    await submitUpload({ log, blobs, job_commands, credits }, of);
    const counts = { completed_urls: 200, broken_urls: 0 };
    await job_commands.run(job_id, { type: 'complete', ...counts }, commandContext());
  }
  await job_commands.run('gone', { type: 'delete' }, commandContext());
  await project({ log, documents });
  const removing = { log, job_commands, blobs, removals: openRemovals(), context: () => commandContext() };
  const purger = passesOf(purging(removing), openReadModels(documents));
  while ((await purger.pass()) !== null) await project({ log, documents });

  const busy = await opsHere(['store', 'compact'], { DATA_DIR });
  t.is(busy.code, 2);
  t.regex(busy.stderr, /events\.db is in use: stop the service first/);
  await documents.close();
  await log.close();

  // As a version that overwrote nothing would have left it, in a table, and in the write-ahead log of a process that was killed.
  for (const name of ['events.db', 'documents.db']) {
    const db = new DatabaseSync(join(DATA_DIR, name));
    db.exec('PRAGMA secure_delete = OFF; CREATE TABLE old (text TEXT)');
    const insert = db.prepare('INSERT INTO old VALUES (?)');
    for (let n = 0; n < 500; n++) insert.run(`${n} ${GONE.join(' ')}`);
    db.exec('DROP TABLE old');
    db.close();
  }
  const before = await occurrences(DATA_DIR, GONE);
  t.true(Object.keys(before).length > 0, 'the bytes are there');

  const compacted = await opsHere(['store', 'compact', '--json'], { DATA_DIR });
  t.is(compacted.code, 0, compacted.stderr);
  const { files, advice } = JSON.parse(compacted.stdout);
  t.is(files.length, 2);
  for (const { before_bytes, after_bytes } of files) t.true(after_bytes < before_bytes);
  t.deepEqual(advice, []);
  t.deepEqual(await occurrences(DATA_DIR, GONE), {});
  t.true(Object.keys(await occurrences(DATA_DIR, ['site-7.example/page'])).length > 0);
  const again = await openSqliteEventStore({ path: join(DATA_DIR, 'events.db') });
  const kept = await openSqliteDocuments({ path: join(DATA_DIR, 'documents.db') });
  const empty = await openSqliteDocuments({ path: join(folder, 'empty.db') });
  await assertExact(t, coded(again), kept, empty);
  await Promise.all([again.close(), kept.close(), empty.close()]);
});

test('stores that are servers have a sentence each', async (t) => {
  const env = {
    ...{ DATA_DIR: join(tmpdir(), 'no-such-folder'), EVENTSTORE_URL: 'esdb://127.0.0.1:1' },
    ...{ MONGODB_URL: 'mongodb://127.0.0.1:1/x', NATS_URL: 'nats://127.0.0.1:1' },
  };
  const { code, stdout } = await opsHere(['store', 'compact'], env);
  t.is(code, 0);
  t.regex(stdout, /POST \/admin\/scavenge/);
  t.is(stdout.trim().split('\n').length, 3);
  t.regex((await opsHere(['store', 'compact'], { DATA_DIR: env.DATA_DIR })).stderr, /there is no store in/);
});
