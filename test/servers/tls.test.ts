// All three stores by TLS with an authority of their own, and a certificate of the service's that each of them asks for.
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import pino from 'pino';
import { openMongoDocuments } from '../../adapters/documents/mongodb/mongodb-documents.ts';
import { issueLocalToken } from '../../adapters/identity/index.ts';
import { openNatsQueue } from '../../adapters/queue/nats/nats-queue.ts';
import { openMongoRates } from '../../adapters/rate-counters/mongodb.ts';
import { type CertificateFiles, certificateFiles } from '../support/certificate-files.ts';
import { startEventStoreDbServer } from '../support/eventstoredb-server/eventstoredb-server.ts';
import { freePort } from '../support/free-port.ts';
import { runGuide } from '../support/guide.ts';
import { findMongod, initiate, startMongod } from '../support/mongod.ts';
import { findNatsServer, startNatsServer } from '../support/nats-server.ts';
import { opsHere } from '../support/run-ops.ts';
import { listedSuites } from '../support/server-suites.ts';
import { openTestClient } from '../support/service.ts';
import { startServiceProcess } from '../support/service-process.ts';
import { openSite } from '../support/sites.ts';
import { until } from '../support/until.ts';

const log = pino({ level: 'silent' });
const listed = listedSuites(process.env.SERVER_SUITES);
if (!listed.includes('nats') || !listed.includes('mongodb')) test.todo('TLS to the stores: left out by SERVER_SUITES');
else {
  test('NATS and MongoDB are trusted by their authority alone, and get the certificate that they ask for', async (t) => {
    t.timeout(300_000);
    const files = certificateFiles(t);
    const [nats_url, mongodb_url] = await Promise.all([startNats(t, files), startMongo(t, files)]);
    const own = { ca_file: files.ca, cert_file: files.cert, key_file: files.key };
    const wrong = [
      { ...own, ca_file: files.other_ca },
      { ...own, cert_file: null, key_file: null },
    ];
    const queue = await openNatsQueue({ url: nats_url, tls: own, log });
    await queue.publish('work', [{ id: 'a', body: 1 }]);
    t.is(await queue.depth('work'), 1);
    await queue.close();
    const documents = await openMongoDocuments({ url: mongodb_url, tls: own, log });
    t.deepEqual(await documents.names(), []);
    await documents.close();
    const rates = await openMongoRates({ url: mongodb_url, tls: own, log });
    await rates.close();
    for (const tls of wrong) {
      await t.throwsAsync(openNatsQueue({ url: nats_url, tls, log, give_up_after_ms: 1_000 }), {
        code: 'unavailable',
      });
      await t.throwsAsync(openMongoDocuments({ url: mongodb_url, tls, log, server_wait_ms: 1_500 }));
    }
  });

  test('the guide makes certificates and starts servers, and a service with its settings checks a job', async (t) => {
    t.timeout(400_000);
    const [tls, data_dir, programs] = await Promise.all([newFolder(t), newFolder(t), newFolder(t)]);
    await symlink(findNatsServer()!, join(programs, 'nats-server'));
    await symlink(findMongod(), join(programs, 'mongod'));
    const [mongodb_port, nats_port, probe_port] = await Promise.all([freePort(), freePort(), freePort()]);
    const here = { ':27017': `:${mongodb_port}`, ' 27017': ` ${mongodb_port}`, ' 4222': ` ${nats_port}` };
    const guided = runGuide('docs/guides/tls.md', {
      replace: { '/tmp/tls': tls, ...here, ':4222': `:${nats_port}`, ':8080': `:${probe_port}` },
      env: { PATH: `${programs}:${process.env.PATH}` },
    });
    const is_ended = guided.then((wrong) => t.is(wrong, null)).then(() => true);
    await Promise.race([is_ended, until(() => existsSync(join(tls, 'service.env')))]);
    const file = (name: string) => readFileSync(join(tls, name), 'utf8');
    const eventstore = await startEventStoreDbServer({
      tls: { cert: file('server.pem'), key: file('server.key'), client_ca: file('ca.pem') },
    });
    t.teardown(() => eventstore.close());
    const [tlsCAFile, tlsCertificateKeyFile] = [join(tls, 'ca.pem'), join(tls, 'server-both.pem')];
    await initiate(mongodb_port, { tls: true, tlsCAFile, tlsCertificateKeyFile });
    const settings = parseEnv(file('service.env')) as Record<string, string>;
    const of_test = { EVENTSTORE_URL: eventstore.url, DATA_DIR: data_dir, CHECKER_ALLOW_ADDRESSES: '127.0.0.0/8' };
    const env = { ...settings, ...of_test };
    const service = await startServiceProcess(env);
    t.teardown(() => service.kill());
    const site = await openSite();
    t.teardown(() => site.close());
    const user = { user_id: 'alice', email: 'alice@example.com', is_admin: false, hours: 1 };
    const alice = openTestClient(service.url, await issueLocalToken(data_dir, user));
    const { body: job } = await alice.upload([1, 2, 3].map((n) => `${site.url}/${n}`).join('\n'));
    t.like(await alice.ended(job.job_id), { status: 'completed', completed_urls: 3 });
    t.regex((await opsHere(['ledger', 'verify'], env)).stdout, /ok: every rule holds/);
    t.regex((await opsHere(['mails', 'list'], env)).stdout, /0 due, 0 sent, 0 dropped/);
    // From here on the guide sees the service, and ends the servers that it has started.
    const probes = createServer(async (_, response) =>
      response.end(await (await fetch(`${service.url}/readyz`)).text()),
    ).listen(probe_port, '127.0.0.1');
    t.teardown(() => probes.close());
    t.true(await is_ended);
  });
}

async function newFolder(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tls-'));
  t.teardown(() => rm(folder, { recursive: true }));
  return folder;
}

async function startNats(t: ExecutionContext, { ca, cert, key }: CertificateFiles): Promise<string> {
  const server = await startNatsServer(
    findNatsServer()!,
    ...['--tls', '--tlscert', cert, '--tlskey', key, '--tlsverify', '--tlscacert', ca],
  );
  t.teardown(() => server.remove());
  return server.url;
}

async function startMongo(t: ExecutionContext, { ca, both }: CertificateFiles): Promise<string> {
  const mongod = await startMongod(
    findMongod(),
    ['--tlsMode', 'requireTLS', '--tlsCertificateKeyFile', both, '--tlsCAFile', ca],
    { tls: true, tlsCAFile: ca, tlsCertificateKeyFile: both },
  );
  t.teardown(() => mongod.stop());
  return mongod.url;
}
