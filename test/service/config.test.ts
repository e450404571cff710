import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseEnv } from 'node:util';
import test from 'ava';
import { ALL_ROUTES } from '../../http/all-routes.ts';
import { ConfigError, envExample, isLoopback, ROLES, readConfig, SETTINGS } from '../../settings/config.ts';
import { SERVICE_GROUPS } from '../../settings/service-urls.ts';

const wrong = (env: Record<string, string>): string => {
  try {
    readConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error('nothing was wrong');
};

test('an empty environment gives every default', (t) => {
  const config = readConfig({});
  t.is(config.port, 8080);
  t.is(config.host, '127.0.0.1');
  t.is(config.public_url, 'http://127.0.0.1:8080');
  t.is(config.checker_timeout_ms, 15_000);
  t.is(config.max_file_bytes, 104_857_600);
  t.is(config.eventstore_url, null);
  t.deepEqual(config.roles, ROLES);
});

test('.env.example has the text of envExample', (t) => {
  const how =
    "write it again: node -e \"import('./settings/config.ts').then((c) => fs.writeFileSync('.env.example', c.envExample()))\"";
  t.is(readFileSync(new URL('../../.env.example', import.meta.url), 'utf8'), envExample(), how);
});

test('.env.example changes no default, and names every setting', (t) => {
  t.deepEqual(readConfig(parseEnv(envExample())), readConfig({}));
  for (const name of Object.keys(SETTINGS)) t.regex(envExample(), new RegExp(`^(# )?${name}=`, 'm'));
});

test('readConfig reads values of every kind', (t) => {
  const config = readConfig({
    PORT: ' 9000 ',
    ROLES: 'http, checker',
    TRUSTED_PROXIES: '10.0.0.0/8, ::1,192.168.1.7',
    MONGODB_URL: 'mongodb://a:27017,b:27017/db?replicaSet=rs0',
    PUBLIC_URL: 'https://check.example/',
    LOG_LEVEL: 'debug',
  });
  t.is(config.port, 9000);
  t.deepEqual(config.roles, ['http', 'checker']);
  t.deepEqual(config.trusted_proxies, ['10.0.0.0/8', '::1/128', '192.168.1.7/32']);
  t.is(config.mongodb_url, 'mongodb://a:27017,b:27017/db?replicaSet=rs0');
  t.is(config.public_url, 'https://check.example');
  t.is(config.log_level, 'debug');
});

test('an empty variable counts as unset', (t) => {
  t.deepEqual(readConfig({ PORT: '', SMTP_URL: '  ' }), readConfig({}));
});

test('a new account has 1,000,000 credits where people run the service for themselves, and 300 elsewhere', (t) => {
  const creditsOf = (env: Record<string, string>) => readConfig(env).signup_credits;
  const identity = { IDENTITY_JWKS_URL: 'https://id.example/jwks', IDENTITY_ISSUER: 'i', IDENTITY_AUDIENCE: 'a' };
  t.is(creditsOf({}), 1_000_000);
  t.is(creditsOf(identity), 300);
  t.is(creditsOf({ PAYMENT_SECRET_KEY: 'sk_test_1', PAYMENT_WEBHOOK_SECRET: 'whsec_12345' }), 300);
  t.is(creditsOf({ EVENTSTORE_URL: 'esdb://db:2113', WEBHOOK_SIGNING_KEY: 'k'.repeat(32) }), 300);
  t.is(creditsOf({ SIGNUP_CREDITS: '0' }), 0);
  t.is(creditsOf({ ...identity, SIGNUP_CREDITS: '7' }), 7);
});

const WRONG: Array<[name: string, value: string]> = [
  ['PORT', '65536'],
  ['PORT', '-1'],
  ['PORT', '1e3'],
  ['PORT', '0x50'],
  ['CHECKER_TIMEOUT_MS', '15s'],
  ['CHECKER_RETRIES', '1.5'],
  ['ROLES', 'http,web'],
  ['LOG_LEVEL', 'loud'],
  ['MONGODB_URL', 'localhost:27017'],
  ['IDENTITY_JWKS_URL', 'https://'],
  ['PUBLIC_URL', 'http://a b'],
  ['CHECKER_ALLOW_ADDRESSES', '10.0.0.0/33'],
  ['CHECKER_ALLOW_ADDRESSES', 'localhost'],
  ['CHECKER_ALLOW_ADDRESSES', '127.0.0.1,'],
  ['TRUSTED_PROXIES', '127.1/8'],
  ['CHECKER_USER_AGENT', 'a\nb'],
];
for (const [name, value] of WRONG) {
  test(`readConfig refuses ${name}=${JSON.stringify(value)} with the value and the valid ones`, (t) => {
    const message = wrong({ [name]: value });
    t.true(message.includes(`${name} is ${JSON.stringify(value)}: it must be `), message);
    const wants = (SETTINGS as Record<string, { wants: string }>)[name]!.wants;
    t.true(message.includes(wants), message);
  });
}

test('readConfig names all wrong settings at once', (t) => {
  t.deepEqual(wrong({ PORT: 'x', LOG_LEVEL: 'y', ROLES: 'z' }).match(/^ {2}\w+/gm), [
    '  PORT',
    '  ROLES',
    '  LOG_LEVEL',
  ]);
});

test('errors do not show secrets and passwords of URLs', (t) => {
  const message = wrong({ AGENCY_SECRET: 'hunter2', MONGODB_URL: 'mongo://root:hunter2@db/x' });
  t.notRegex(message, /hunter2/);
  t.regex(message, /AGENCY_SECRET is \(a secret of 7 characters\)/);
  t.regex(message, /mongo:\/\/\*\*\*@db/);
});

test('readConfig refuses the local issuer on an address that others can reach', (t) => {
  const message = wrong({ HOST: '0.0.0.0' });
  t.regex(message, /HOST is "0\.0\.0\.0"/);
  t.regex(message, /IDENTITY_JWKS_URL/);
  t.notThrows(() => readConfig({ HOST: '0.0.0.0', ROLES: 'checker' }));
  const identity = { IDENTITY_JWKS_URL: 'https://id.example/jwks', IDENTITY_ISSUER: 'i', IDENTITY_AUDIENCE: 'a' };
  t.notThrows(() => readConfig({ HOST: '0.0.0.0', ...identity }));
});

test('an identity provider needs an issuer and an audience', (t) => {
  const message = wrong({ IDENTITY_JWKS_URL: 'https://id.example/jwks' });
  t.regex(message, /IDENTITY_ISSUER is unset/);
  t.regex(message, /IDENTITY_AUDIENCE is unset/);
});

test('separate http and processes over servers need one webhook key', (t) => {
  const apart = { EVENTSTORE_URL: 'esdb://127.0.0.1:2113', ROLES: 'http' };
  for (const ROLES of ['http', 'processes, projector'])
    t.regex(wrong({ ...apart, ROLES }), /WEBHOOK_SIGNING_KEY is unset/);
  for (const ROLES of ['all', 'http, processes', 'checker', 'projector'])
    t.notThrows(() => readConfig({ ...apart, ROLES }));
  t.notThrows(() => readConfig({ ...apart, WEBHOOK_SIGNING_KEY: 'k'.repeat(32) }));
  // Over one folder they find the same one there.
  t.notThrows(() => readConfig({ ROLES: 'http' }));
});

test('a key has at least 32 characters', (t) => {
  const names = ['LINK_SIGNING_KEY', 'WEBHOOK_SIGNING_KEY', 'PERSONAL_DATA_KEY', 'LEDGER_SIGNING_KEY'];
  // The sandbox signs checkouts with it. A provider that takes money chooses its secret.
  for (const name of [...names, 'PAYMENT_WEBHOOK_SECRET']) {
    t.regex(wrong({ [name]: 'k'.repeat(31) }), /at least 32 characters/, name);
    t.notThrows(() => readConfig({ [name]: 'k'.repeat(32) }), name);
  }
  t.notThrows(() => readConfig({ PAYMENT_SECRET_KEY: 'sk_test_1', PAYMENT_WEBHOOK_SECRET: 'whsec_of_it' }));
});

test('isLoopback recognises loopback addresses', (t) => {
  for (const host of ['127.0.0.1', '127.8.9.1', 'localhost', '::1', '[::1]', '::ffff:127.0.0.1'])
    t.true(isLoopback(host), host);
  for (const host of ['0.0.0.0', '::', '10.0.0.1', 'example.com', '128.0.0.1', '127.0.0.1.nip.io'])
    t.false(isLoopback(host), host);
});

test('the public URL has brackets around an IPv6 host', (t) => {
  t.is(readConfig({ HOST: '::1', PORT: '81' }).public_url, 'http://[::1]:81');
});

test('BLOB_URL names a bucket, an endpoint with its region, or a folder', (t) => {
  const of = (BLOB_URL: string) => readConfig({ BLOB_URL }).blob_url;
  const amazon = {
    ...{ kind: 's3', bucket: 'my.bucket', prefix: '', endpoint: null, public_endpoint: null, region: null },
    ...{ path_style: false, credentials: null },
  };
  t.deepEqual(of('s3://my.bucket'), amazon as never);
  t.deepEqual(of('s3://my.bucket/a/b-1/?region=eu-west-1'), {
    ...amazon,
    prefix: 'a/b-1/',
    region: 'eu-west-1',
  } as never);
  t.like(of('s3://b0b?endpoint=http://minio:9000'), {
    endpoint: 'http://minio:9000',
    region: 'us-east-1',
    path_style: true,
  });
  t.like(of('s3://b0b?endpoint=https://r2.example&path_style=false&public_endpoint=https://cdn.example'), {
    ...{ path_style: false, public_endpoint: 'https://cdn.example' },
  });
  const credentials = { access_key_id: 'ID', secret_access_key: 's/e+c@r=t' };
  t.like(of('s3://ID:s%2Fe%2Bc%40r%3Dt@b0b/p'), { bucket: 'b0b', prefix: 'p/', credentials });
  t.deepEqual(of('file:///var/my%20files'), { kind: 'files', folder: '/var/my files' });
});

for (const value of [
  ...[
    's3://',
    's3:///prefix',
    's3://b',
    's3://-bucket',
    's3://bucket:9000',
    's3://bucket#a',
    'https://bucket',
    'bucket',
  ],
  ...['s3://bucket/a//b', 's3://bucket/ä', 's3://bucket/~', `s3://bucket/${'a'.repeat(201)}`],
  ...[
    's3://bucket?regoin=a',
    's3://bucket?region=a&region=b',
    's3://bucket?region=a%20b',
    's3://bucket?path_style=yes',
  ],
  ...['s3://bucket?endpoint=minio:9000', 's3://bucket?endpoint=http://a/b', 's3://bucket?endpoint=http://hunter2@a'],
  ...['s3://hunter2@bucket', 's3://:hunter2@bucket', 's3://ID:%E0hunter2@bucket', 's3://bucket?secret=hunter2'],
  ...['file://host/a', 'file:///a?b', 'file:///%00', 's3://ID:hunter2/secret@bucket'],
]) {
  test(`readConfig refuses BLOB_URL=${value}, and does not show it`, (t) => {
    const message = wrong({ BLOB_URL: value });
    t.regex(message, /BLOB_URL is \(a secret of \d+ characters\): it must be s3:/);
    t.notRegex(message, /hunter2/);
  });
}

test('SERVICE_URLS names groups of routes, each once, with the origin of another deployment', (t) => {
  const of = (SERVICE_URLS: string) => readConfig({ SERVICE_URLS }).service_urls;
  t.is(readConfig({}).service_urls, null);
  t.deepEqual(of('billing=http://10.0.0.7:8080, jobs=https://jobs.internal/'), {
    billing: 'http://10.0.0.7:8080',
    jobs: 'https://jobs.internal',
  });
  const urls = ['jobs', 'service=http://a', 'jobs=a', 'jobs=ftp://a', 'jobs=http://a/b', 'jobs=http://u:p@a'];
  for (const url of [...urls, 'jobs=http://a,jobs=http://b', 'jobs=http://a,']) {
    t.regex(wrong({ SERVICE_URLS: url }), /SERVICE_URLS is .*: it must be GROUP=http:/, url);
  }
  const tags = new Set(ALL_ROUTES.map((route) => route.tag));
  t.deepEqual([...SERVICE_GROUPS].sort(), [...tags].sort() as never);
});

test('a secret of a setting is not shown', (t) => {
  t.notRegex(wrong({ PAYMENT_SECRET_KEY: 'sk_live_secret' }), /sk_live/);
});

test('a certificate for a store wants its key, and TLS', (t) => {
  for (const store of ['EVENTSTORE', 'MONGODB', 'NATS']) {
    t.regex(wrong({ [`${store}_CERT_FILE`]: '/a' }), new RegExp(`${store}_KEY_FILE is unset`));
    t.regex(wrong({ [`${store}_KEY_FILE`]: '/a' }), new RegExp(`${store}_CERT_FILE is unset`));
    t.notThrows(() => readConfig({ [`${store}_CERT_FILE`]: '/a', [`${store}_KEY_FILE`]: '/b' }));
  }
  t.regex(wrong({ EVENTSTORE_URL: 'esdb://a?tls=false', EVENTSTORE_CA_FILE: '/a' }), /EVENTSTORE_URL has tls=false/);
  t.regex(wrong({ NATS_CA_FILE: '/a?b' }), /NATS_CA_FILE is "\/a\?b": it must be the path of a file/);
});

test('readConfig refuses a misspelt setting and suggests the right one', (t) => {
  t.regex(wrong({ CHECKER_CONCURENCY: '8' }), /CHECKER_CONCURENCY is no setting: did you mean CHECKER_CONCURRENCY\?/);
  t.regex(wrong({ MONGODB_URI: 'mongodb://a' }), /did you mean MONGODB_URL\?/);
  t.regex(wrong({ MAX_URL_CHAR: '100' }), /did you mean MAX_URL_CHARS\?/);
  t.regex(
    wrong({ RATE_LIMIT_PER_HOUR: '100' }),
    /RATE_LIMIT_PER_HOUR is no setting: did you mean RATE_LIMIT_PER_DAY\?/,
  );
});

test('readConfig ignores variables of platforms, of Node and of other programs', (t) => {
  const others = {
    ...{ NODE_ENV: 'production', HOME: '/', HOSTNAME: 'a', ROLE: 'x', PATH: '/bin', npm_config_cache: 'x', POST: '1' },
    ...{ CHECKER_SERVICE_HOST: '10.0.0.1', CHECKER_PORT: 'tcp://10.0.0.1:80', CHECKER_PORT_80_TCP_ADDR: '10.0.0.1' },
    ...{ NATS_PORT_4222_TCP: 'x', KUBERNETES_SERVICE_PORT_HTTPS: '443', CHECKER_CONCURENCY: '' },
    // Beside the setting itself it is no misspelling of it.
    ...{ MONGODB_URL: 'mongodb://a', MONGODB_URI: 'mongodb://a', MONGOD_BIN: '/usr/bin/mongod' },
  };
  t.deepEqual(readConfig(others), readConfig({ MONGODB_URL: 'mongodb://a' }));
});

test('the code reads every setting', (t) => {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const sources = globSync(
    '{*,{adapters,checkers,cli,commands,http,intake,processes,projections,readmodels,service}/**/*}.ts',
    {
      cwd: root,
    },
  )
    .filter((path) => path !== 'settings/config.ts')
    .map((path) => readFileSync(`${root}${path}`, 'utf8'));
  const unread = Object.keys(SETTINGS).filter((name) => {
    const field = new RegExp(`\\b${name.toLowerCase()}\\b`);
    return !sources.some((source) => field.test(source));
  });
  t.deepEqual(unread, []);
});

test('docker-compose.yml names only settings that exist', (t) => {
  const compose = readFileSync(new URL('../../docker-compose.yml', import.meta.url), 'utf8');
  const named = [...compose.matchAll(/^ {6}([A-Z_]+): \$\{/gm)].map(([, name]) => name!);
  t.true(named.length > 10);
  t.deepEqual(
    named.filter((name) => !(name in SETTINGS)),
    [],
  );
});

test('PROXY_LIST_URL names a server or a file, and an error does not show it', (t) => {
  for (const url of ['https://key:secret@lists.example/a?token=b', 'file:///etc/url-checker/proxies.txt']) {
    t.is(readConfig({ PROXY_LIST_URL: url }).proxy_list_url, url);
  }
  for (const wrong of ['file://', 'file:///', 'http://', 'ftp://secret.example/x', 'https://secret.example:99999/']) {
    const { message } = t.throws(() => readConfig({ PROXY_LIST_URL: wrong }))!;
    t.regex(message, /PROXY_LIST_URL is \(a secret of \d+ characters\): it must be a URL that starts with http/);
    t.notRegex(message, /secret\.example/);
  }
});
