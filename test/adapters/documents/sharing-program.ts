// A program that shares a file of documents with others: it increments a counter, or writes batches for ever.
// Runs as a worker thread or as a process, with `path`, what to do and how often as arguments.
import { isMainThread, workerData } from 'node:worker_threads';
import { openSqliteDocuments } from '../../../adapters/documents/sqlite/sqlite-documents.ts';
import { BATCH, COUNTERS } from './counters.ts';

async function increment(path: string, times: number): Promise<void> {
  const documents = await openSqliteDocuments({ path });
  await documents.collection(COUNTERS);
  for (let n = 0; n < times; n += 1) {
    await documents.transaction(async (inside) => {
      const counters = await inside.collection(COUNTERS);
      const there = await counters.get('counter');
      await counters.write([{ replace: { _id: 'counter', n: (there?.n ?? 0) + 1 } }]);
    });
  }
  await documents.close();
}

/** Writes batches, each with the count of batches in the same transaction, and prints each commit. */
async function writeForEver(path: string): Promise<void> {
  const documents = await openSqliteDocuments({ path });
  const counters = await documents.collection(COUNTERS);
  for (let batch = 0; ; batch += 1) {
    const inserts = Array.from({ length: BATCH }, (_, n) => ({ insert: { _id: `${batch}/${n}`, n, batch } }));
    await counters.write([...inserts, { update: 'batches', set: { $inc: { n: 1 } }, upsert: true }]);
    process.send!(batch);
  }
}

const [path, what, times] = isMainThread ? process.argv.slice(2) : (workerData as string[]);
if (what === 'increment') await increment(path!, Number(times));
else await writeForEver(path!);
