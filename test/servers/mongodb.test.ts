// Documents in MongoDB: the port's promises, and what happens when the server is not there.
import { randomBytes } from 'node:crypto';
import test from 'ava';
import { MongoClient } from 'mongodb';
import { openMongoDocuments } from '../../adapters/documents/mongodb/mongodb-documents.ts';
import { openMongoRates } from '../../adapters/rate-counters/mongodb.ts';
import type { Documents } from '../../readmodels/documents.ts';
import { projectionState, projectionStates } from '../../readmodels/projection-state.ts';
import { openReadModels } from '../../readmodels/read-models.ts';
import { THINGS, type Thing } from '../contracts/documents/fixture.ts';
import { documentsContract, type Opened } from '../contracts/documents.ts';
import { exportContract } from '../contracts/exports.ts';
import { ledgerTreeContract } from '../contracts/ledger-tree.ts';
import { projectorContract } from '../contracts/projector.ts';
import { userListContract } from '../contracts/user-list.ts';
import { workerLogContract } from '../contracts/worker-log.ts';
import { serverSuite } from '../support/server-suites.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';

const url = await serverSuite('mongodb', {
  url_env: 'MONGODB_URL',
  container: {
    image: 'mongo:7',
    port: 27017,
    command: ['--replSet', 'rs0', '--bind_ip_all'],
    ready: /Waiting for connections/,
    url: (host, port) => `mongodb://${host}:${port}/?directConnection=true`,
    prepare: (container) =>
      container.exec([
        'mongosh',
        '--quiet',
        '--eval',
        'rs.initiate(); while (!db.hello().isWritablePrimary) sleep(100);',
      ]),
  },
});

const log = { debug() {}, warn() {} };
/** A busy machine is no server that is away. */
const PATIENTLY = { server_wait_ms: 60_000 };

if (url === null) test.todo('documents in MongoDB: left out by SERVER_SUITES');
else suite(url);

function suite(url: string): void {
  async function open(): Promise<Opened> {
    const database = `contract_${randomBytes(8).toString('hex')}`;
    const opened: Documents[] = [];
    const reopen = async () => {
      const documents = await openMongoDocuments({ url, database, log, ...PATIENTLY });
      opened.push(documents);
      return documents;
    };
    const close = async () => {
      await Promise.all(opened.map((documents) => documents.close()));
      await using client = new MongoClient(url);
      await client.db(database).dropDatabase();
    };
    return { documents: await reopen(), reopen, close };
  }

  documentsContract(test, 'documents in MongoDB', { open });
  projectorContract(test, 'projectors over MongoDB', { open });
  exportContract(test, 'exports from MongoDB', { open });
  userListContract(test, 'the list of users in MongoDB', { open });
  workerLogContract(test, 'the worker log in MongoDB', { open });
  ledgerTreeContract(test, "the ledger's tree in MongoDB", { open });

  test('documents in MongoDB: a read of a read model costs one command, and none of the catalogue', async (t) => {
    const database = `counted_${randomBytes(8).toString('hex')}`;
    const documents = await openMongoDocuments({ url, database, log, ...PATIENTLY });
    await using client = new MongoClient(url);
    try {
      const spec = { name: 'tallies', fields: { n: 'number' }, indexes: [{ fields: { n: 1 } }] } as const;
      await documents.collection<Thing>({ ...spec, name: 'tallies_1' });
      const state = { ...projectionState('tallies', null), version: 1, generation: 1, collections: ['tallies'] };
      await (await documents.collection(projectionStates)).write([{ insert: state }]);
      const readmodels = openReadModels(documents, { monotonic: () => 0 });
      const things = readmodels.collection<Thing>(spec);
      await things.get('a');
      // By the server's own count: the level 2 of its profiler keeps every command.
      const db = client.db(database);
      await db.command({ profile: 2 });
      for (let n = 0; n < 50; n++) await Promise.all([things.get('a'), things.find({ n }), things.count({ n })]);
      await db.command({ profile: 0 });
      const seen = await db
        .collection('system.profile')
        .find({ ns: { $ne: `${database}.system.profile` } })
        .toArray();
      const commands = seen.map(({ command }) => Object.keys(command)[0]).filter((name) => name !== 'profile');
      const counts = Object.fromEntries(
        Map.groupBy(commands, (name) => name)
          .entries()
          .map(([name, of]) => [name, of.length]),
      );
      t.deepEqual(counts, { find: 100, aggregate: 50 });
    } finally {
      await documents.close();
      await client.db(database).dropDatabase();
    }
  });

  /** Documents that are reached through a proxy, and the proxy. */
  async function openBehindProxy({ server_wait_ms } = PATIENTLY) {
    const [, host, port] = /^mongodb:\/\/(?:[^@/]*@)?([^:/,?]+)(?::(\d+))?/.exec(url)!;
    const proxy = new TcpProxy({ host: host!, port: Number(port ?? 27017) });
    await proxy.open();
    const database = `proxied_${randomBytes(8).toString('hex')}`;
    const documents = await openMongoDocuments({
      // Straight to the proxy: from the replica set the driver would learn the way round it.
      url: `mongodb://127.0.0.1:${proxy.port}/?directConnection=true`,
      database,
      log,
      server_wait_ms,
    });
    const close = async () => {
      await documents.close();
      await proxy.cut();
      await using client = new MongoClient(url);
      await client.db(database).dropDatabase();
    };
    return { documents, proxy, close };
  }

  test('documents in MongoDB: without a server every call fails as unavailable, in time, and works when it is back', async (t) => {
    const { documents, proxy, close } = await openBehindProxy({ server_wait_ms: 15_000 });
    try {
      const things = await documents.collection<Thing>(THINGS);
      await things.write([{ insert: { _id: 'a', n: 1 } }]);
      await proxy.cut();
      const unavailable = { code: 'unavailable' };
      const since = performance.now();
      await Promise.all([
        t.throwsAsync(things.get('a'), unavailable),
        t.throwsAsync(things.find({}), unavailable),
        t.throwsAsync(things.count({}), unavailable),
        t.throwsAsync(things.write([{ insert: { _id: 'b' } }]), unavailable),
        t.throwsAsync(things.write([{ insert: { _id: 'b' } }, { insert: { _id: 'c' } }]), unavailable),
        t.throwsAsync(
          documents.transaction(async (inside) => (await inside.collection<Thing>(THINGS)).get('a')),
          unavailable,
        ),
        t.throwsAsync(documents.collection<Thing>(THINGS), unavailable),
        t.throwsAsync(documents.names(), unavailable),
      ]);
      t.true(performance.now() - since < 90_000);
      await proxy.open();
      t.deepEqual(await things.find({}), [{ _id: 'a', n: 1 }]);
    } finally {
      await close();
    }
  });

  test('documents in MongoDB: opening reports an absent server', async (t) => {
    const { proxy, close } = await openBehindProxy();
    await close();
    const nowhere = `mongodb://127.0.0.1:${proxy.port}/?directConnection=true`;
    await t.throwsAsync(openMongoDocuments({ url: nowhere, log }), { code: 'unavailable' });
  });

  /** Breaks the first connection that sends the command, after the server got it and before its answer. */
  function cutOnce(proxy: TcpProxy, command: string): () => boolean {
    let cut = false;
    proxy.cutAfter = (sent) => !cut && (cut = sent.includes(`${command}\0`));
    return () => cut;
  }

  test('documents in MongoDB: a transaction survives a broken connection, and commits once', async (t) => {
    const { documents, proxy, close } = await openBehindProxy();
    try {
      const things = await documents.collection<Thing>(THINGS);
      await things.write([{ insert: { _id: 'counter', n: 0 } }]);
      for (const command of ['find', 'update', 'commitTransaction']) {
        const wasCut = cutOnce(proxy, command);
        await documents.transaction(async (inside) => {
          const counters = await inside.collection<Thing>(THINGS);
          const { n } = (await counters.get('counter'))!;
          await counters.write([{ update: 'counter', set: { $set: { n: (n as number) + 1 } } }]);
        });
        t.true(wasCut(), command);
      }
      const wasCut = cutOnce(proxy, 'update');
      await things.write([{ update: 'counter', set: { $inc: { n: 1 } } }]);
      t.true(wasCut());
      t.deepEqual(await things.get('counter'), { _id: 'counter', n: 4 });
    } finally {
      await close();
    }
  });

  test('documents in MongoDB: another client ends the transaction of one that ended in its middle', async (t) => {
    const { documents: ended, reopen, close } = await open();
    try {
      const others = await reopen();
      const things = await others.collection<Thing>(THINGS);
      await things.write([{ insert: { _id: 'a', n: 1 } }]);
      const written = Promise.withResolvers<void>();
      const ending = Promise.withResolvers<never>();
      const gone = ended.transaction(async (inside) => {
        await (await inside.collection<Thing>(THINGS)).write([{ update: 'a', set: { $set: { n: 2 } } }]);
        written.resolve();
        await ending.promise;
      });
      await written.promise;
      await others.endTransactionsOf(ended.client!);
      // Otherwise the server would keep this write waiting for a minute.
      const since = performance.now();
      await things.write([{ update: 'a', set: { $inc: { n: 10 } } }]);
      t.true(performance.now() - since < 30_000);
      ending.reject(new Error('the process has ended'));
      await t.throwsAsync(gone, { message: 'the process has ended' });
      t.deepEqual(await things.get('a'), { _id: 'a', n: 11 });
    } finally {
      await close();
    }
  });

  test('a bucket that another clock has counted in loses its requests by this one', async (t) => {
    const database = `rates_${randomBytes(8).toString('hex')}`;
    const rates = await openMongoRates({ url, database, log, ...PATIENTLY });
    await using client = new MongoClient(url);
    try {
      // Of a day, so that none leaves the bucket while the test runs.
      const bucket = rates.open({ name: 'requests', duration_s: 86_400 });
      for (const used of [1, 2]) t.is((await bucket.count('k', 60)).used, used);
      const hours = (count: number) => ({ $set: { counted_at: new Date(Date.now() + count * 3_600_000), level: 30 } });
      for (const [away, wanted] of [
        [24, 31],
        [-24, 1],
      ] as const) {
        await client.db(database).collection('rate_buckets').updateOne({}, hours(away));
        const { used, resets_in_ms } = await bucket.count('k', 60);
        t.is(used, wanted);
        t.true(resets_in_ms > 0 && resets_in_ms <= 86_400_000);
        t.is((await bucket.count('k', 60)).used, wanted + 1);
      }
    } finally {
      await rates.close();
      await client.db(database).dropDatabase();
    }
  });

  test('the index by which windows expire is made again with a collection that somebody has dropped', async (t) => {
    const database = `rates_${randomBytes(8).toString('hex')}`;
    const rates = await openMongoRates({ url, database, log, ...PATIENTLY, index_ms: 0 });
    await using client = new MongoClient(url);
    try {
      const minute = rates.open({ name: 'minute', duration_s: 60 });
      const windows = client.db(database).collection('rate_buckets');
      await minute.count('k', 1000);
      await windows.drop();
      t.is((await minute.count('k', 1000)).used, 1);
      t.is(
        (await windows.listIndexes().toArray()).filter(({ expireAfterSeconds }) => expireAfterSeconds === 0).length,
        1,
      );
    } finally {
      await rates.close();
      await client.db(database).dropDatabase();
    }
  });

  test('MongoDB counts requests for all processes together, and each process counts alone while it is away', async (t) => {
    const [, host, port] = /^mongodb:\/\/(?:[^@/]*@)?([^:/,?]+)(?::(\d+))?/.exec(url)!;
    const proxy = new TcpProxy({ host: host!, port: Number(port ?? 27017) });
    await proxy.open();
    const database = `rates_${randomBytes(8).toString('hex')}`;
    const behind = `mongodb://127.0.0.1:${proxy.port}/?directConnection=true`;
    const processes = await Promise.all([
      openMongoRates({ url, database, log, ...PATIENTLY }),
      openMongoRates({ url: behind, database, log, ...PATIENTLY }),
      // Its server is only asked for in vain, and it waits as long as the service does.
      openMongoRates({ url: behind, database, log }),
    ]);
    await using client = new MongoClient(url);
    try {
      const [here, there, cut_off] = processes.map((rates) => rates.open({ name: 'requests', duration_s: 86_400 }));
      const day = processes[0]!.open({ name: 'day', duration_s: 86_400 });
      const counts = await Promise.all(Array.from({ length: 40 }, (_, n) => [here!, there!][n % 2]!.count('k', 1000)));
      t.deepEqual(
        counts.map(({ used }) => used).toSorted((a, b) => a - b),
        Array.from({ length: 40 }, (_, n) => n + 1),
      );
      const { used, resets_in_ms } = await day.count('k', 1000);
      t.is(used, 1);
      // A thousandth of a day.
      t.true(resets_in_ms > 80_000 && resets_in_ms <= 86_400);
      await cut_off!.count('another', 1000);
      await proxy.cut();
      t.is((await cut_off!.count('k', 1000)).used, 1);
      t.is((await here!.count('k', 1000)).used, 41);
    } finally {
      await Promise.all(processes.map((rates) => rates.close()));
      await proxy.cut();
      await client.db(database).dropDatabase();
    }
  });
}
