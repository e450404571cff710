// Whose certificates a role watches: of each server that it reaches by TLS, and of its own files.
import test from 'ava';
import { watchedCertificates } from '../../service/watched-certificates.ts';
import { type Role, readConfig } from '../../settings/config.ts';
import { certificateFiles } from '../support/certificate-files.ts';

async function watched(env: Record<string, string>, role: Role) {
  const found = await Promise.all(
    watchedCertificates(readConfig(env), role).map(async (one) =>
      'file' in one
        ? one.of
        : [one.of, (await one.servers()).map(({ host, port, opening }) => `${host}:${port} ${opening}`)],
    ),
  );
  return Object.fromEntries(found.map((one) => (typeof one === 'string' ? [one, 'file'] : one)));
}

test('a service without TLS watches nothing', async (t) => {
  const plain = {
    EVENTSTORE_URL: 'esdb://a?tls=false',
    MONGODB_URL: 'mongodb://a/x?replicaSet=rs0',
    NATS_URL: 'nats://a',
    PUBLIC_URL: 'http://a',
  };
  for (const role of ['http', 'projector', 'processes', 'checker'] as const) {
    t.deepEqual(await watched({}, role), {});
    t.deepEqual(await watched(plain, role), {});
  }
});

test('each role watches the servers that it reaches by TLS, all of their hosts', async (t) => {
  const { ca, cert, key } = certificateFiles(t);
  const env = {
    EVENTSTORE_URL: 'esdb://u:p@one:2114,two',
    MONGODB_URL: 'mongodb://one,[::1]:27018/x?tls=true',
    NATS_URL: 'nats://one:4222,two',
    ...{ NATS_CA_FILE: ca, NATS_CERT_FILE: cert, NATS_KEY_FILE: key },
    SMTP_URL: 'smtp://u:p@mail.example:587',
    PUBLIC_URL: 'https://checker.example.com/app',
    ...{ IDENTITY_JWKS_URL: 'https://id.example:8443/keys', IDENTITY_ISSUER: 'i', IDENTITY_AUDIENCE: 'a' },
    WEBHOOK_SIGNING_KEY: 'k'.repeat(32),
  };
  const stores = { event_log: ['one:2114 none', 'two:2113 none'], documents: ['one:27017 none', '::1:27018 none'] };
  const queue = { queue: ['one:4222 nats', 'two:4222 nats'], NATS_CA_FILE: 'file', NATS_CERT_FILE: 'file' };
  t.deepEqual(await watched(env, 'processes'), { ...stores, ...queue, mail: ['mail.example:587 smtp'] });
  t.deepEqual(await watched(env, 'projector'), stores);
  t.deepEqual(await watched(env, 'checker'), { ...stores, ...queue });
  t.deepEqual(await watched(env, 'http'), {
    ...stores,
    identity_provider: ['id.example:8443 none'],
    public_url: ['checker.example.com:443 none'],
  });
  t.deepEqual((await watched({ SMTP_URL: 'smtps://mail.example' }, 'processes')).mail, ['mail.example:465 none']);
});
