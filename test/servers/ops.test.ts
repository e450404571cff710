// The operators' programs over EventStoreDB's protocol and a real MongoDB: documents are made, compared and rebuilt as on one machine.
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { MongoClient } from 'mongodb';
import { openEventStoreDb } from '../../adapters/eventstore/eventstoredb/eventstoredb-event-store.ts';
import { fillLedger } from '../support/audited-ledger.ts';
import { startEventStoreDbServer } from '../support/eventstoredb-server/eventstoredb-server.ts';
import { runProgram } from '../support/run-program.ts';
import { listedSuites } from '../support/server-suites.ts';
import { silent } from '../support/stores.ts';

const title = 'projections are built, listed, compared and mended over EventStoreDB and MongoDB';
if (!listedSuites(process.env.SERVER_SUITES).includes('mongodb')) test.todo(`${title}: left out by SERVER_SUITES`);
else
  test(title, async (t) => {
    t.timeout(300_000);
    const url = new URL(process.env.MONGODB_URL!);
    url.pathname = `/ops_${randomBytes(6).toString('hex')}`;
    const DATA_DIR = await mkdtemp(join(tmpdir(), 'ops-'));
    const [client, server] = [new MongoClient(url.href), await startEventStoreDbServer()];
    const log = await openEventStoreDb({ url: server.url, log: silent });
    const env = { DATA_DIR, EVENTSTORE_URL: server.url, MONGODB_URL: url.href };
    const ops = (...args: string[]) => runProgram('ops', args, env);
    try {
      await fillLedger(log);
      const none = await ops('park', 'list');
      t.deepEqual([none.code, none.stdout], [2, '']);
      t.regex(none.stderr, /^there are no documents in the database of MONGODB_URL/);
      const built = await ops('projections', 'rebuild', '--all');
      t.is(built.code, 0, built.stderr);
      const listed = JSON.parse((await ops('projections', 'list', '--json')).stdout).projections;
      // Its lag may be the head of the ledger that was just signed.
      t.deepEqual([...new Set(listed.map(({ state }: { state: string }) => state))], ['live']);
      for (const command of [['projections', 'diff', '--all'], ['fsck'], ['park', 'list']]) {
        const { code, stdout, stderr } = await ops(...command);
        t.is(code, 0, stdout + stderr);
      }
      const generation = (await client
        .db()
        .collection('projection_states')
        .findOne({ _id: 'credits' as never }))!.generation;
      await client
        .db()
        .collection(`balances_${generation}`)
        .updateOne({ _id: 'alice' as never }, { $inc: { balance: 1 } });
      t.regex((await ops('fsck')).stdout, /ledger of alice: balance is 827, the log has 826/);
      t.regex((await ops('projections', 'diff', 'credits')).stdout, /balances alice: balance/);
      const mended = await ops('projections', 'rebuild', 'credits', '--verify');
      t.deepEqual([mended.code, /balances alice: balance/.test(mended.stdout)], [1, true], mended.stderr);
      t.is((await ops('fsck')).code, 0);
    } finally {
      await client.db().dropDatabase();
      await Promise.all([client.close(), log.close(), server.close()]);
      await rm(DATA_DIR, { recursive: true, force: true });
    }
  });
