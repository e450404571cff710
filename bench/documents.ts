// Measures the stores of documents: `node bench/documents.ts 1000000` in SQLite, and with MONGODB_URL in MongoDB as well.
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MongoClient } from 'mongodb';
import { openMongoDocuments } from '../adapters/documents/mongodb/mongodb-documents.ts';
import { openSqliteDocuments } from '../adapters/documents/sqlite/sqlite-documents.ts';
import type {
  Collection,
  CollectionSpec,
  Document,
  Documents,
  Filter,
  FindOptions,
  Write,
} from '../readmodels/documents.ts';

const BATCH = 500;
const SLICE = 10_000;
const REPEATS = 5;

interface Result extends Document {
  job_id: string;
  index: number;
  [name: string]: unknown;
}

/** A collection with the indexes of a job's results. */
const RESULTS: CollectionSpec<Result> = {
  name: 'results',
  fields: { job_id: 'string', index: 'number', url: 'string', status_code: 'number', is_broken: 'boolean' },
  identity: ['job_id', 'index'],
  indexes: [
    { fields: { job_id: 1, index: 1 } },
    { fields: { job_id: 1, index: 1, status_code: 1, is_broken: 1, url: 1 } },
    { fields: { job_id: 1, status_code: 1, index: 1 } },
  ],
};
const JOBS: CollectionSpec<Document> = { name: 'jobs', fields: {}, indexes: [] };

function result(job_id: string, index: number): Result {
  const status_code = index % 10 === 0 ? 404 : index % 37 === 0 ? null : 200;
  const url = `https://www.example${index % 997}.com/a/path/to/page/${index}?q=${index * 7}`;
  return {
    _id: `${job_id}:${String(index).padStart(7, '0')}`,
    job_id,
    index,
    url,
    status_code,
    final_url: url,
    is_broken: status_code !== 200,
    is_soft_404: false,
    redirect_chain: [],
    response_time_ms: index % 900,
    content_type: 'text/html',
    error_code: null,
    verdict: status_code === 200 ? 'ok' : 'broken',
  };
}

async function measure(name: string, documents: Documents, count: number): Promise<void> {
  const job_id = randomUUID();
  const results = await documents.collection(RESULTS);
  await documents.collection(JOBS);
  const rate = async (label: string, op: (result: Result) => Write<Result>) => {
    const since = performance.now();
    for (let first = 0; first < count; first += BATCH) {
      const length = Math.min(BATCH, count - first);
      const ops = Array.from({ length }, (_, place) => op(result(job_id, first + place)));
      await documents.transaction(async (inside) => {
        await (await inside.collection(RESULTS)).write(ops);
        const progress = { $inc: { completed: length }, $set: { checkpoint: first } };
        await (await inside.collection(JOBS)).write([{ update: job_id, set: progress, upsert: true }]);
      });
    }
    const per_second = (count / (performance.now() - since)) * 1_000;
    console.log(`${name}  ${label.padEnd(46)} ${Math.round(per_second).toLocaleString('en')} /s`);
  };
  await rate(`insert, ${BATCH} and an update a transaction`, (insert) => ({ insert }));
  await rate(`replace, ${BATCH} and an update a transaction`, (replace) => ({ replace }));
  for (const [label, run] of queries(results, job_id, count)) await time(name, label, run);
  let streamed = 0;
  const since = performance.now();
  for await (const _ of results.stream({ job_id }, { sort: { index: 1 } })) streamed += 1;
  const per_second = (streamed / (performance.now() - since)) * 1_000;
  console.log(`${name}  ${'stream of all'.padEnd(46)} ${Math.round(per_second).toLocaleString('en')} /s`);
  console.log(`${name}  ${'memory'.padEnd(46)} ${Math.round(process.memoryUsage.rss() / 2 ** 20)} MiB`);
  const remove = async () => {
    // In slices: MongoDB rolls back a transaction that is too large for its cache, at some 100,000 documents.
    for (let end = SLICE; end < count + SLICE; end += SLICE) {
      await results.write([{ deleteMany: { job_id, index: { $lt: end } } }]);
    }
  };
  await time(name, `delete of all, ${SLICE} at once`, remove, 1);
}

function queries(results: Collection<Result>, job_id: string, count: number): [string, () => Promise<unknown>][] {
  const page = (where: Filter, options: FindOptions = {}) => {
    const query: Filter = { job_id, ...where };
    return () => results.find(query, { sort: { index: 1 }, limit: 100, ...options });
  };
  const counted = (where: Filter) => () => results.count({ job_id, ...where });
  const last = result(job_id, count - 101);
  const some = { status_code: { $in: [404, 410] } };
  return [
    ['first page of 100', page({})],
    ['first page of 10,000', page({}, { limit: 10_000 })],
    ['keyset page at the end', page({}, { after: [last.index, last._id] })],
    ['page by skip at the end', page({}, { skip: count - 100 })],
    ['page of a status', page({ status_code: 404 })],
    ['page of two statuses', page(some)],
    ['page of two statuses, by skip at the end', page(some, { skip: Math.floor(count / 10) - 100 })],
    ['page of a status that no result has', page({ status_code: { $in: [500, 501] } })],
    ['page of broken ones, by skip at the end', page({ is_broken: true }, { skip: Math.floor(count / 10) })],
    ['page of URLs that contain a text', page({ url: { $contains: 'PAGE/99' } })],
    ['page of URLs that contain a text that none does', page({ url: { $contains: 'nowhere' } })],
    ['count', counted({})],
    ['count of two statuses', counted(some)],
    ['count of broken ones', counted({ is_broken: true })],
    ['count of URLs that contain a text', counted({ url: { $contains: 'PAGE/99' } })],
    ['one document', () => results.get(last._id)],
  ];
}

/** Median of the runs, after an uncounted warm-up run. */
async function time(name: string, label: string, run: () => Promise<unknown>, repeats = REPEATS): Promise<void> {
  if (repeats > 1) await run();
  const times: number[] = [];
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    const since = performance.now();
    await run();
    times.push(performance.now() - since);
  }
  const median = times.toSorted((a, b) => a - b)[repeats >> 1]!;
  console.log(`${name}  ${label.padEnd(46)} ${median.toFixed(2)} ms`);
}

const count = Number(process.argv[2] ?? 100_000);
if (!Number.isSafeInteger(count) || count < 1_000)
  throw new Error('usage: node bench/documents.ts COUNT (at least 1,000)');

const folder = await mkdtemp(join(tmpdir(), 'bench-documents-'));
try {
  const path = join(folder, 'documents.db');
  const sqlite = await openSqliteDocuments({ path });
  await measure('sqlite ', sqlite, count);
  await sqlite.close();
  console.log(`sqlite   ${'file'.padEnd(46)} ${Math.round((await stat(path)).size / 2 ** 20)} MiB`);
} finally {
  await rm(folder, { recursive: true });
}

const url = process.env.MONGODB_URL;
if (url) {
  const database = `bench_${randomBytes(8).toString('hex')}`;
  const log = { debug() {}, warn: console.warn };
  const mongo = await openMongoDocuments({ url, database, log });
  await measure('mongodb', mongo, count);
  await mongo.close();
  await using client = new MongoClient(url);
  await client.db(database).dropDatabase();
}
