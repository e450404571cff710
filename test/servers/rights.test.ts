// Users of servers who may do less than the service needs.
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { MongoClient } from 'mongodb';
import { openMongoDocuments } from '../../adapters/documents/mongodb/mongodb-documents.ts';
import { openNatsQueue } from '../../adapters/queue/nats/nats-queue.ts';
import { findMongod, startMongod } from '../support/mongod.ts';
import { findNatsServer, startNatsServer } from '../support/nats-server.ts';
import { listedSuites } from '../support/server-suites.ts';
import { silent } from '../support/stores.ts';

const WRITER = { user: 'writer', pwd: 'w', roles: [{ role: 'readWrite', db: 'url_checker' }] };
const READER = { user: 'reader', pwd: 'r', roles: [{ role: 'read', db: 'url_checker' }] };
/** May make streams and consumers, and publish no work. */
const RIGHTS =
  'authorization { users: [{ user: u, password: p, permissions: { publish: { deny: ["urlchecker.work.>"] } } }] }';

const listed = listedSuites(process.env.SERVER_SUITES);
const nats_server = findNatsServer();

if (listed.includes('nats') && nats_server !== null) {
  test('what a user of NATS may not do is reported once, and fails', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'url-checker-rights-'));
    t.teardown(() => rm(folder, { recursive: true, force: true }));
    await writeFile(join(folder, 'config'), RIGHTS);
    const server = await startNatsServer(nats_server, '--config', join(folder, 'config'));
    t.teardown(() => server.remove());
    const errors: unknown[] = [];
    const log = { info() {}, warn() {}, error: (of: unknown) => errors.push(of) };
    const url = server.url.replace('://', '://u:p@');
    const queue = await openNatsQueue({ url, log: log as unknown as typeof silent, give_up_after_ms: 1_000 });
    t.teardown(() => queue.close());
    for (let n = 0; n < 2; n++) {
      const error = await t.throwsAsync(queue.publish('checks', [{ id: 'a', body: 1 }]), { code: 'unavailable' });
      t.regex(error.message, /Permissions Violation for Publish to "urlchecker\.work\.checks"/);
    }
    t.deepEqual(errors, [{ operation: 'publish', subject: 'urlchecker.work.checks' }]);
  });
} else test.todo('rights on NATS: left out by SERVER_SUITES');

if (listed.includes('mongodb')) {
  test('a user of MongoDB who may only read gets an error at the start', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'url-checker-rights-'));
    t.teardown(() => rm(folder, { recursive: true, force: true }));
    const key = join(folder, 'key');
    await writeFile(key, randomBytes(96).toString('base64'), { mode: 0o600 });
    const mongod = await startMongod(findMongod(), ['--auth', '--keyFile', key]);
    t.teardown(() => mongod.stop());
    // Until there is a user, whoever comes from the same machine may make the first one.
    await using first = new MongoClient(mongod.url);
    await first.db('admin').command({ createUser: 'root', pwd: 'root', roles: ['root'] });
    const as = (user: string, password: string) => mongod.url.replace('://', `://${user}:${password}@`);
    await using root = new MongoClient(as('root', 'root'));
    for (const { user, ...of } of [WRITER, READER]) await root.db('admin').command({ createUser: user, ...of });

    const open = ({ user, pwd }: typeof WRITER) =>
      openMongoDocuments({ url: as(user, pwd), log: silent, server_wait_ms: 60_000 });
    await t.throwsAsync(open(READER), {
      message: 'its user may not write: give it the role readWrite on its database',
    });
    const documents = await open(WRITER);
    await documents.close();
    t.deepEqual(await root.db('url_checker').listCollections().toArray(), []);
  });
} else test.todo('rights on MongoDB: left out by SERVER_SUITES');
