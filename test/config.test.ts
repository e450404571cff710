import { globSync, readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import test from 'ava';
import { ConfigError, envExample, isLoopback, ROLES, readConfig, SETTINGS } from '../settings/config.ts';

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
  t.is(readFileSync(new URL('../.env.example', import.meta.url), 'utf8'), envExample(), how);
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
    t.true(message.includes(`${name} is ${JSON.stringify(value)}: it wants `), message);
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
  t.regex(wrong({ WEBHOOK_SIGNING_KEY: 'too-short-a-key' }), /at least 32 characters/);
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

test('readConfig refuses a planned setting, and says what happens instead', (t) => {
  t.regex(
    wrong({ BLOB_URL: 's3://bucket' }),
    /BLOB_URL is set, and this version does not read it: the service keeps uploaded files/,
  );
  t.regex(wrong({ SERVICE_URLS: 'billing=http://10.0.0.7:8080' }), /SERVICE_URLS is set/);
  t.notRegex(wrong({ PAYMENT_SECRET_KEY: 'sk_live_secret' }), /sk_live/);
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
  const root = new URL('..', import.meta.url).pathname;
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
  const compose = readFileSync(new URL('../docker-compose.yml', import.meta.url), 'utf8');
  const named = [...compose.matchAll(/^ {6}([A-Z_]+): \$\{/gm)].map(([, name]) => name!);
  t.true(named.length > 10);
  t.deepEqual(
    named.filter((name) => !(name in SETTINGS)),
    [],
  );
});
