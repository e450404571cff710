// A connection that breaks in a transaction on MongoDB, when the driver gives its error no label: it does so once its pool is cleared.
import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import test from 'ava';
import { type MongoClient, MongoNetworkError, MongoServerError } from 'mongodb';
import { Transactions } from '../../../adapters/documents/mongodb/transactions.ts';
import { TransactionScope } from '../../../adapters/documents/transaction-scope.ts';
import { silent } from '../../support/stores.ts';

const broken = () => new MongoNetworkError('connection 1 closed');
const reset = () => Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
/** What the driver makes of the socket's own error in a commit. */
const unlabelled = () => new TypeError('error.hasErrorLabel is not a function');

/** A driver whose commits fail with these, one after the other. */
function transactionsWith(failures: Error[], retry_for_ms = 60_000) {
  const counts = { commits: 0, aborts: 0, sessions: 0 };
  let is_open = false;
  const session = {
    startTransaction: () => (is_open = true),
    inTransaction: () => is_open,
    async commitTransaction() {
      is_open = false;
      counts.commits += 1;
      const failure = failures.shift();
      if (failure) throw failure;
    },
    async abortTransaction() {
      is_open = false;
      counts.aborts += 1;
    },
    async endSession() {},
  };
  const startSession = () => {
    counts.sessions += 1;
    return session;
  };
  return { counts, transactions: new Transactions({ startSession } as unknown as MongoClient, silent, retry_for_ms) };
}

for (const failure of [broken, reset]) {
  test(`${failure().message} before the commit: the transaction runs again`, async (t) => {
    const { counts, transactions } = transactionsWith([]);
    const failures = [failure(), new Error('wrapped', { cause: failure() })];
    const result = await transactions.run({}, async () => {
      const error = failures.shift();
      if (error) throw error;
      return 'done';
    });
    t.is(result, 'done');
    t.deepEqual(counts, { commits: 1, aborts: 2, sessions: 3 });
  });
}

for (const failure of [broken, reset, unlabelled]) {
  test(`${failure().message} in the commit: the commit is repeated, the transaction is not`, async (t) => {
    const { counts, transactions } = transactionsWith([failure(), failure()]);
    let runs = 0;
    await transactions.run({}, async () => {
      runs += 1;
    });
    t.is(runs, 1);
    t.deepEqual(counts, { commits: 3, aborts: 0, sessions: 1 });
  });

  test(`${failure().message} in the commit for longer than it is retried: it is not run again`, async (t) => {
    const { counts, transactions } = transactionsWith([failure()], -1);
    let runs = 0;
    const failed = transactions.run({}, async () => {
      runs += 1;
    });
    await t.throwsAsync(failed, { message: 'it is not known whether the transaction was committed' });
    t.is(runs, 1);
    t.is(counts.commits, 1);
  });
}

test('one attempt that conflicts after longer than transactions are retried: a smaller one may succeed', async (t) => {
  const aborted = new MongoServerError({ code: 251, errmsg: 'Transaction has been aborted' });
  aborted.addErrorLabel('TransientTransactionError');
  const run = (retry_for_ms: number) => {
    let attempts = 0;
    return transactionsWith([], retry_for_ms).transactions.run({}, async () => {
      if (attempts++ > 0) await delay(retry_for_ms);
      throw aborted;
    });
  };
  await t.throwsAsync(run(-1), { code: 'transaction_too_large' });
  await t.throwsAsync(run(1_000), { code: 'write_conflict' });
});

test('a transaction that takes too long is rolled back', async (t) => {
  const scope = new TransactionScope({}, 1);
  await t.throwsAsync(
    scope.run(() => new Promise(() => {})),
    { code: 'transaction_too_large', message: 'the transaction took more than 1 ms and was rolled back' },
  );
  t.throws(() => scope.check());
});

test('work that takes longer than transactions are retried leaves the commit its own time', async (t) => {
  const { counts, transactions } = transactionsWith([broken()], 100);
  const since = performance.now();
  await transactions.run({}, async () => {
    while (performance.now() - since <= 100) await setImmediate();
  });
  t.deepEqual(counts, { commits: 2, aborts: 0, sessions: 1 });
});
