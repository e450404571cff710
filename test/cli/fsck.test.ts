// `npm run ops -- fsck`: it names what the documents of jobs and ledgers hold otherwise than the log says, and nothing else.
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test from 'ava';
import type { EventStore } from '../../events/event-store.ts';
import { urlsStream } from '../../events/streams.ts';
import { ALL_PROJECTIONS } from '../../projections/all.ts';
import { balances, transactions } from '../../readmodels/billing/credits.ts';
import type { CollectionSpec, Document, Write } from '../../readmodels/documents.ts';
import { jobs } from '../../readmodels/jobs/jobs.ts';
import { projectionStates } from '../../readmodels/projection-state.ts';
import { resultId, results } from '../../readmodels/results/results.ts';
import { jobStats } from '../../readmodels/results/stats.ts';
import { fillAnalysed } from '../support/analysed-log.ts';
import { fillLedger, openFiller } from '../support/audited-ledger.ts';
import { openLive, projectedFolder, withDocuments } from '../support/projected-folder.ts';
import { opsHere } from '../support/run-ops.ts';
import { commandContext, openFolderLog } from '../support/stores.ts';
import { startProjector } from '../support/tallies.ts';

const fsck = (DATA_DIR: string, ...args: string[]) => opsHere(['fsck', ...args], { DATA_DIR });

/** A job with results in every batch but the last two. */
async function listedJob(log: EventStore): Promise<string> {
  const filler = openFiller(log);
  await filler.buy('carol', 'pi-carol', 100);
  const job_id = await filler.job('carol', 50, 30, 'running');
  const urls = Array.from({ length: 50 }, (_, n) => `https://a.example/${n}`);
  const { now: _, ...metadata } = { ...commandContext(), at: '2026-01-31T09:00:00Z' };
  const listed = { id: randomUUID(), type: 'UrlsListed', data: { job_id, from_index: 0, urls }, metadata };
  await log.append(urlsStream(job_id), 'no_stream', [listed]);
  return job_id;
}

test('fsck names each kind of difference, and a rebuild repairs all', async (t) => {
  t.timeout(300_000);
  let job_id = '';
  const DATA_DIR = await projectedFolder(t, async (log) => {
    await fillLedger(log);
    job_id = await listedJob(log);
  });
  const clean = await fsck(DATA_DIR, '--json');
  t.is(clean.code, 0, clean.stdout + clean.stderr);
  t.like(JSON.parse(clean.stdout), { jobs: 9, results: 124, accounts: 3, differing: 0, found: [] });

  await withDocuments(DATA_DIR, async (documents) => {
    const write = async <T extends Document>(of: string, spec: CollectionSpec<T>, ...ops: Write<T>[]) =>
      (await openLive(documents, of, spec)).write(ops);
    await write('jobs', jobs, { update: job_id, set: { $set: { status: 'failed' } } });
    await write('jobs', jobStats, { update: job_id, set: { $inc: { broken_urls: 2 } } });
    const result = (await (await openLive(documents, 'jobs', results)).get(resultId(job_id, 3)))!;
    await write(
      'jobs',
      results,
      { delete: resultId(job_id, 3) },
      { update: resultId(job_id, 12), set: { $set: { status_code: 599 } } },
      ...Array.from({ length: 10 }, (_, n) => ({ delete: resultId(job_id, 20 + n) })),
      { insert: { ...result, _id: 'other', job_id: 'nobody' } },
    );
    await write('credits', balances, { update: 'alice', set: { $inc: { balance: 5 } } });
    await write('credits', transactions, { delete: 'bob:4' });
  });
  const found = await fsck(DATA_DIR, '--json');
  t.is(found.code, 1, found.stderr);
  t.deepEqual(JSON.parse(found.stdout).found.sort(), [
    `job ${job_id}: status is "failed", the log has "processing"; broken_urls is 2, the log has 0`,
    'ledger of alice: balance is 831, the log has 826',
    `results 0 to 9 of job ${job_id}: there are 9, the log has 10`,
    `results 10 to 19 of job ${job_id}: they are not as the log has them`,
    `results 20 to 29 of job ${job_id}: there are 0, the log has 10`,
    'results of job nobody: the log has no such job',
    'transactions 0 to 499 of bob: there are 10, the log has 11',
  ]);
  t.regex((await fsck(DATA_DIR)).stdout, /\n7 differences\n$/);
  const rebuilt = await opsHere(['projections', 'rebuild', 'jobs', 'credits'], { DATA_DIR });
  t.is(rebuilt.code, 0, rebuilt.stderr);
  t.is((await fsck(DATA_DIR)).code, 0);
});

test('fsck finds nothing in documents that change while it reads them', async (t) => {
  const DATA_DIR = await projectedFolder(t);
  const log = await openFolderLog(DATA_DIR);
  const stop = new AbortController();
  const running = withDocuments(DATA_DIR, (documents) =>
    startProjector({ log, documents }, ALL_PROJECTIONS, stop.signal),
  );
  const checking = fsck(DATA_DIR).finally(() => stop.abort());
  const filler = openFiller(log);
  await filler.buy('alice', 'pi-more', 100_000);
  while (!stop.signal.aborted) await filler.job('alice', 20, 20, 'completed');
  await running;
  await log.close();
  const { code, stdout, stderr } = await checking;
  t.is(code, 0, stdout + stderr);
});

test('fsck audits the settlements of the log, and ends with 2 where it has no documents of its version', async (t) => {
  const DATA_DIR = await projectedFolder(t, async (log) => {
    const filler = openFiller(log);
    await filler.buy('dave', 'pi-dave', 100);
    await filler.job('dave', 40, 12, 'cancelled');
    await openFiller(log, Date.parse('2026-02-02T09:00:00Z')).buy('dave', 'pi-later', 1);
  });
  const { code, stdout } = await fsck(DATA_DIR);
  t.is(code, 1);
  t.regex(
    stdout,
    /^the log at position \d{16}: job .*: 40 allocated, 12 completed, 0 refunded: cancelled \(settlement\)$/m,
  );
  t.is((await fsck(DATA_DIR, '--grace', '100000')).code, 0);
  const bare = await projectedFolder(t, async () => {});
  await withDocuments(bare, (documents) => documents.drop('projector_states'));
  t.is((await fsck(bare)).code, 2);
});

test('fsck names a document that is missing of every collection, a parked event and an entry that was changed', async (t) => {
  t.timeout(300_000);
  const DATA_DIR = await projectedFolder(t, async (log) => {
    await fillAnalysed(log);
    await fillLedger(log);
  });
  const planted: string[] = [];
  await withDocuments(DATA_DIR, async (documents) => {
    for (const { name, collections } of ALL_PROJECTIONS) {
      for (const spec of collections as readonly CollectionSpec<Document>[]) {
        const live = await openLive(documents, name, spec);
        const [first] = await live.find({}, { limit: 1 });
        if (!first) continue;
        await live.write([{ delete: first._id }]);
        planted.push(`${spec.name} ${first._id}`);
      }
    }
    const states = await documents.collection(projectionStates);
    await states.write([{ update: 'shares', set: { $set: { parked: 1 } } }]);
  });
  const db = new DatabaseSync(join(DATA_DIR, 'events.db'));
  db.exec("UPDATE events SET data = replace(data, '\"amount\":-25', '\"amount\":-24') WHERE type = 'CreditsReserved'");
  db.close();
  t.true(planted.length >= 20, planted.join(', '));

  const { code, stdout, stderr } = await fsck(DATA_DIR, '--json');
  t.is(code, 1, stderr);
  const { found, not_compared } = JSON.parse(stdout) as { found: string[]; not_compared: string[] };
  t.deepEqual(not_compared, ['worker_log']);
  const isNamed = (document: string) => {
    const [collection, id] = document.split(' ') as [string, string];
    // Documents of jobs and ledgers are named by the job, the batch or the user.
    return found.some(
      (line) => line.includes(`${document} is missing`) || (OWN.test(collection) && line.includes(id.slice(0, 3))),
    );
  };
  t.deepEqual(
    planted.filter((document) => !isNamed(document)),
    [],
  );
  t.true(found.some((line) => /^shares: lacks 1 event that it could not take/.test(line)));
  t.true(
    found.some((line) => /: 1000 and -24 make 975 \(balance\)$/.test(line)),
    found.join('\n'),
  );
});

test('fsck goes on past events that cannot be read, and names each of them', async (t) => {
  t.timeout(300_000);
  let job_id = '';
  const DATA_DIR = await projectedFolder(t, async (log) => {
    await fillLedger(log);
    job_id = await listedJob(log);
  });
  const db = new DatabaseSync(join(DATA_DIR, 'events.db'));
  t.teardown(() => db.close());
  /** Changes the n-th event of the type, and returns its position. */
  const change = (type: string, n: number, set: string): string => {
    const of_type = db.prepare('SELECT position FROM events WHERE type = ? ORDER BY position LIMIT 1 OFFSET ?');
    const { position } = of_type.get(type, n)!;
    db.exec(`UPDATE events SET ${set} WHERE position = ${position}`);
    return String(position).padStart(16, '0');
  };
  const damaged = [
    change('JobCreated', 3, 'data = substr(data, 2)'),
    change('URLChecked', 0, "data = 'no JSON'"),
    change('CreditsReserved', 5, "metadata = '{'"),
    change('CreditsGranted', 0, "data = 'null'"),
  ];
  change('UrlsListed', 0, `data = '{"job_id":'`);
  const { code, stdout, stderr } = await fsck(DATA_DIR, '--json');
  t.is(code, 1, stderr);
  const { found } = JSON.parse(stdout) as { found: string[] };
  t.deepEqual(
    damaged.filter((position) => found.filter((line) => line.includes(`position ${position}: `)).length !== 1),
    [],
    found.join('\n'),
  );
  const of_listing = `results 0 to 9 of job ${job_id}: they are not as the log has them`;
  t.true(found.includes(of_listing), found.join('\n'));
});

test('fsck says how many events it cannot judge, and ends with 2', async (t) => {
  const DATA_DIR = await projectedFolder(t, async (log) => {
    const { now: _, ...metadata } = { ...commandContext(), at: '2026-01-31T09:00:00Z' };
    await log.append('job-later', 'no_stream', [{ id: randomUUID(), type: 'JobPondered', data: {}, metadata }]);
  });
  const { code, stdout } = await fsck(DATA_DIR, '--quick');
  t.regex(stdout, /^not judged: 1 event of a later version of the service, or of an unknown type$/m);
  t.is(code, 2, stdout);
});

const OWN = /^(?:jobs|job_stats|results|balances|transactions)$/;
