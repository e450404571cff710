// The table of the service's settings.
import { DEFAULT_SETTINGS as ENGINE } from '../checkers/engine/limits.ts';
import { DEFAULT_LIMITS } from '../intake/limits.ts';
import { BLOB_URL_WANTS, type BlobBucket, type BlobFolder, parseBlobUrl } from './blob-url.ts';
import {
  amount,
  cidrs,
  days,
  file,
  integer,
  key,
  list,
  port,
  type Setting,
  secret,
  setting,
  text,
  url,
  webhookSecret,
  word,
} from './kinds.ts';
import { SIGNUP_CREDITS_MEAN } from './own-service.ts';
import { parseServiceUrls, SERVICE_URLS_WANTS, type ServiceUrls } from './service-urls.ts';

/** The roles that a process can play. */
export const ROLES = ['http', 'projector', 'processes', 'checker'] as const;
export type Role = (typeof ROLES)[number];

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

const roles = (means: string) =>
  setting<readonly Role[]>(ROLES, means, `all, or some of ${ROLES.join(', ')}, with commas between`, (given) => {
    if (given === 'all') return ROLES;
    const named = given.split(',').map((part) => ROLES.find((role) => role === part.trim()));
    return named.every((role) => role !== undefined) ? [...new Set(named)] : undefined;
  });

const GiB = 1024 ** 3;
const HTTP = ['http', 'https'];
const MOST = 1_000_000;
const OF_ADDRESS = 'of one address (IPv6: a /64; a /48 has four times as many)';
const OR_MORE = 'or RATE_LIMIT_PER_MINUTE, if that is more';

const caOf = (server: string) =>
  `The authorities that the certificates of ${server} come from, in PEM; the connection is by TLS. Unset: those that Node knows.`;
const certificateFor = (server: string) => `The certificate that the service shows to ${server}, in PEM; unset: none.`;
const KEY_OF_IT = 'The key of that certificate, in PEM.';

/** All settings by environment variable. A field of `Config` is the variable in lower case. */
export const SETTINGS = {
  PORT: integer(8080, 0, 65535, 'The port of the HTTP server; with 0 the system picks one.'),
  HOST: text('127.0.0.1', 'The address of the HTTP server. An address that is not loopback needs IDENTITY_JWKS_URL.'),
  METRICS_PORT: port(
    'A port for /healthz, /readyz and /metrics, which a process of any role serves, on a thread of its own; unset: PORT serves the first two.',
  ),
  METRICS_ON_PORT: word('off', 'Whether PORT, which clients reach, serves /metrics to everybody.', ['off', 'on']),
  PUBLIC_URL: url('The base URL that clients use, which the service puts into links; unset: http://HOST:PORT.', HTTP),
  TRUSTED_PROXIES: cidrs('The proxies whose X-Forwarded-For and X-Real-Client-IP the service trusts.'),
  SERVICE_URLS: setting<ServiceUrls | null>(
    null,
    'The groups of routes that other deployments of the service serve, and where they are; unset: all are served here.',
    SERVICE_URLS_WANTS,
    parseServiceUrls,
  ),
  DATA_DIR: text('./data', 'The folder of the embedded stores, of uploads and of the local signing key.'),
  DISK_RESERVE_MB: amount(
    0,
    10_000_000,
    'The megabytes of disk space that rebuilds, exports and copies leave free for users; unset: 5% of the disk, at most 1 GiB.',
  ),
  ROLES: roles('The roles of this process.'),
  LOG_FILE: text(null, 'The file that the service appends log lines to; unset: standard output.'),
  LOG_LEVEL: word('info', 'The level of the least severe log lines.', LOG_LEVELS),

  EVENTSTORE_URL: url('The event log, EventStoreDB 24.10.5 or later; unset: SQLite in DATA_DIR.', [
    'esdb',
    'esdb+discover',
    'kurrentdb',
    'kurrentdb+discover',
  ]),
  EVENT_LOG_MAX_MB: amount(
    1,
    100_000_000,
    "The megabytes that the event log may have, by its server's disk or by the plan of who hosts it; unset: what its store can hold. Metrics, an alert and the doctor measure the log by it.",
  ),
  EVENTSTORE_CA_FILE: file(caOf('EventStoreDB')),
  EVENTSTORE_CERT_FILE: file(certificateFor('EventStoreDB')),
  EVENTSTORE_KEY_FILE: file(KEY_OF_IT),
  MONGODB_URL: url("The read models' store; unset: SQLite in DATA_DIR.", ['mongodb', 'mongodb+srv']),
  MONGODB_CA_FILE: file(caOf('MongoDB')),
  MONGODB_CERT_FILE: file(certificateFor('MongoDB')),
  MONGODB_KEY_FILE: file(KEY_OF_IT),
  BLOB_URL: setting<BlobFolder | BlobBucket | null>(
    null,
    'Where uploaded files are kept: a bucket that all machines share, or a folder; unset: the folder blobs in DATA_DIR.',
    BLOB_URL_WANTS,
    parseBlobUrl,
    // It may hold a secret anywhere when it is malformed.
    true,
  ),
  NATS_URL: url('The work queue; unset: SQLite in DATA_DIR.', ['nats', 'tls', 'ws', 'wss']),
  NATS_CA_FILE: file(caOf('NATS')),
  NATS_CERT_FILE: file(certificateFor('NATS')),
  NATS_KEY_FILE: file(KEY_OF_IT),
  NATS_REPLICAS: amount(
    1,
    5,
    'The number of NATS servers that keep each message; unset: 3 in a cluster of 3 or more, else 1. A queue with fewer is raised to it.',
  ),

  BACKUP_KEEP: integer(7, 1, 1000, 'The most backups that are kept; a new one removes the oldest.'),
  BACKUP_KEEP_DAYS: days('The days for which a backup is kept, save the newest one; unset: any number.'),
  RESULTS_RETENTION_DAYS: days(
    'The days after which the results and the file of an ended job are removed for good; unset: never. The job and its statistics stay.',
  ),

  IDENTITY_JWKS_URL: url("The URL of the identity provider's keys; unset: a local issuer, on loopback only.", HTTP),
  IDENTITY_ISSUER: text(null, 'The `iss` that every token must carry.'),
  IDENTITY_AUDIENCE: text(null, 'The `aud` that every token must carry.'),
  IDENTITY_USER_CLAIM: text('sub', "The claim of a token that is the user's id; dots lead into objects."),
  IDENTITY_EMAIL_CLAIM: text('email', "The claim that is the user's e-mail address."),
  IDENTITY_ADMIN_CLAIM: text('role', 'The claim that makes an administrator, such as realm_access.roles.'),
  IDENTITY_ADMIN_VALUE: text('admin', "The administrators' value of that claim, or one of its values."),
  IDENTITY_CLIENT_ID: text(
    null,
    "The console's client at the identity provider; unset: browsers cannot sign in there.",
  ),
  IDENTITY_CLIENT_SECRET: secret('The secret of that client; unset: it is a public client.'),
  IDENTITY_CLIENT_SCOPE: text('openid profile email', 'The scopes that a sign-in asks the provider for.'),
  IDENTITY_WEBHOOK_SECRET: webhookSecret(
    "The secret of the identity provider's webhook to /internal/identity-webhook; unset: the service closes the route.",
  ),

  LINK_SIGNING_KEY: key(
    'The secret that the keys of links, cursors and sessions derive from, the same on all machines; unset: made and kept in DATA_DIR.',
  ),
  WEBHOOK_SIGNING_KEY: key(
    "The secret that webhook endpoints' own derive from, the same for http and processes; unset: made and kept in DATA_DIR.",
  ),
  PERSONAL_DATA_KEY: key(
    'The key under which the log holds the keys of personal data, one for all processes; unset: made and kept in DATA_DIR.',
  ),
  LEDGER_SIGNING_KEY: key(
    'The secret from which the key derives that signs the heads of the ledger, one for all processes; unset: made and kept in DATA_DIR.',
  ),
  LEDGER_HEAD_MINUTES: integer(
    60,
    1,
    10_080,
    'Minutes between two signed heads of the ledger, while there are new entries.',
  ),
  LEDGER_AUDIT_HOURS: integer(
    24,
    1,
    8760,
    'Hours between two audits of the whole ledger; what is new is audited at once.',
  ),
  LEDGER_SIGN_COMMAND: text(
    null,
    'A command that signs each head of the ledger with a key outside of this machine: it reads the text of the note, and prints signature lines. Heads wait for it; unset: the own key alone signs.',
  ),
  LEDGER_SIGN_KEY: setting<string | null>(
    null,
    'The public key of that command, which each of its signatures must be of; unset: any.',
    'a key as in c2sp.org/signed-note: NAME+ID+BASE64',
    (given) => (/^[^\s+]{1,500}\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44}$/.test(given) ? given : undefined),
  ),
  LEDGER_WITNESS: {
    ...list(
      'Where each head of the ledger is kept outside of this machine: files that grow, servers that take it by POST, and mailboxes; unset: nowhere.',
      'URLs that start with file:///, http://, https:// or mailto:, with commas between',
      (given) =>
        /^(file:\/\/\/[^\s/]|https?:\/\/[^\s/]|mailto:[^\s@?#%]+@[^\s@?#%]+$)\S*$/.test(given) && URL.canParse(given)
          ? given
          : undefined,
    ),
    // A path or query may be a key.
    secret: true,
  },
  PAYMENT_SECRET_KEY: secret('The secret key of Stripe, which takes payments; unset: see PAYMENT_SANDBOX.'),
  PAYMENT_API_URL: url("The address of Stripe's API, for tests; unset: Stripe's own.", HTTP),
  PAYMENT_WEBHOOK_SECRET: secret(
    "The secret that the payment provider's events are signed with; unset: the sandbox makes one in DATA_DIR.",
  ),
  PAYMENT_AUTOMATIC_TAX: word(
    'off',
    "Whether Stripe adds the tax of the customer's address at checkouts, and takes tax ids. It wants Stripe Tax set up there.",
    ['on', 'off'],
  ),
  PAYMENT_INVOICES: word(
    'off',
    'Whether Stripe makes an invoice with a number for a package of credits too; plans always have one.',
    ['on', 'off'],
  ),
  PAYMENT_PROMOTION_CODES: word('off', 'Whether checkouts take the promotion codes of Stripe.', ['on', 'off']),
  PAYMENT_SANDBOX: word(
    'local',
    'Whether a sandbox that moves no money sells credits: local, by the API and with the local issuer only; on, to everybody and in the console; off, never.',
    ['local', 'on', 'off'],
  ),
  PAYMENT_RETURN_ORIGINS: list(
    'The origins besides that of PUBLIC_URL to which a checkout may lead back.',
    'origins such as https://app.example.com, with commas between',
    (given) => (URL.parse(given)?.origin === given && /^https?:/.test(given) ? given : undefined),
  ),
  CORS_ORIGINS: list(
    'The origins whose pages may read the answers of both APIs; unset: none. The public figures, prices and documents are for all.',
    'origins such as https://app.example.com, with commas between',
    (given) => (URL.parse(given)?.origin === given && /^https?:/.test(given) ? given : undefined),
  ),
  AGENCY_SECRET: secret('The secret that agencies send as X-Agency-Secret; unset: the service closes their route.'),
  SMTP_URL: url('The mail server; unset: mails are files in the folder outbox of DATA_DIR.', ['smtp', 'smtps']),
  MAIL_FROM: text('URL checker <noreply@localhost>', 'The sender of mails.'),

  OTEL_EXPORTER_OTLP_ENDPOINT: url(
    'The base URL of a receiver of OpenTelemetry traces by OTLP over HTTP; unset: nothing is traced.',
    HTTP,
  ),
  OTEL_TRACES_SAMPLER_ARG: setting<number>(
    1,
    'The share of traces that is kept, whatever a caller sends as a traceparent.',
    'a number from 0 to 1',
    (given) => (/^(0|1|0?\.\d{1,9})$/.test(given) ? Number(given) : undefined),
  ),

  CHECKER_CONCURRENCY: amount(
    1,
    10_000,
    'The most URLs in flight in one checker; unset: as many as its machine allows.',
  ),
  CHECKER_CONCURRENCY_LIMIT: integer(
    ENGINE.concurrency_limit,
    1,
    65_536,
    'The most URLs in flight in one checker while CHECKER_CONCURRENCY is unset.',
  ),
  CHECKER_PER_HOST: integer(ENGINE.per_host, 1, 1000, 'The most URLs in flight to one host, over all checkers.'),
  CHECKER_HOST_GAP_MS: integer(
    ENGINE.host_gap_ms,
    0,
    60_000,
    'The least time between two requests to one host, in milliseconds.',
  ),
  CHECKER_TIMEOUT_MS: integer(ENGINE.timeout_ms, 100, 300_000, 'The longest time of one attempt, in milliseconds.'),
  CHECKER_RETRIES: integer(ENGINE.retries, 0, 10, 'How often the checker tries a failed URL again.'),
  CHECKER_ACK_WAIT_MS: integer(
    15_000,
    1000,
    600_000,
    'Milliseconds of silence after which another checker gets the batch.',
  ),
  CHECKER_ALLOW_ADDRESSES: cidrs(
    'Private addresses that the checker may request, for http and checkers: http refuses the others in the URLs of a job.',
  ),
  CHECKER_USER_AGENT: text(ENGINE.user_agent, 'The User-Agent of the checker.'),
  CHECKER_ACCEPT_LANGUAGE: text(ENGINE.accept_language, 'The Accept-Language of the checker.'),
  PROXY_LIST_URL: setting<string | null>(
    null,
    'The list of proxies, text with one proxy a line or JSON, for http and checkers; unset: no proxies.',
    'a URL that starts with http://, https:// or file:///',
    (given) => (/^(https?:\/\/[^\s/]|file:\/\/\/[^\s/])\S*$/.test(given) && URL.canParse(given) ? given : undefined),
    // Its path or query may be a key.
    true,
  ),
  CHECKER_PER_PROXY: integer(100, 1, 10_000, 'The most connections through one proxy.'),
  WEBHOOK_ALLOW_ADDRESSES: cidrs('Private addresses that webhooks may reach, also by plain http.'),

  RATE_LIMIT_PER_MINUTE: integer(60, 1, 1_000_000, 'The most requests of one API key a minute that are no GET.'),
  RATE_LIMIT_PER_DAY: integer(10_000, 1, 1_000_000_000, 'The most of these a day.'),
  RATE_LIMIT_READS_PER_MINUTE: integer(600, 1, 1_000_000, `The most GETs of one API key a minute; ${OR_MORE}.`),
  HEAVY_REQUESTS_PER_CALLER: integer(
    16,
    1,
    10_000,
    'The most large requests (uploads, lists, filtered results, exports) in flight from one user or address.',
  ),
  HEAVY_REQUESTS_AT_ONCE: integer(8, 1, 1000, 'The most large requests in progress, half of one caller; others wait.'),
  REQUEST_WAIT_MS: integer(
    1000,
    100,
    60_000,
    'How long a request may wait for its turn before it gets 503, in milliseconds.',
  ),
  USER_LIMIT_PER_MINUTE: integer(3000, 1, MOST, `The most requests of one user to the gateway a minute; ${OR_MORE}.`),
  USER_CHANGES_PER_MINUTE: integer(240, 1, MOST, `The most of these that are no GET; ${OR_MORE}.`),
  ADDRESS_LIMIT_PER_MINUTE: integer(6000, 1, MOST, `The most gateway requests ${OF_ADDRESS} a minute; ${OR_MORE}.`),
  EVENT_STREAMS_PER_USER: integer(20, 1, MOST, 'The most open streams of events of one user.'),
  EVENT_STREAMS_PER_ADDRESS: integer(500, 1, MOST, `The most open streams of events ${OF_ADDRESS}.`),
  MAX_EVENT_STREAMS: integer(1000, 1, MOST, 'The most open streams of events.'),
  MAX_UNREAD_BYTES: integer(
    64 * 1024 * 1024,
    1024 * 1024,
    10 * GiB,
    'The most bytes of answers that clients have not read, half of them for one address; the slowest clients are cut off.',
  ),
  CONNECTIONS_PER_ADDRESS: integer(2000, 1, MOST, `The most connections ${OF_ADDRESS}.`),
  MAX_CONNECTIONS: integer(10_000, 16, 1_000_000, 'The most connections; the limit of open files may allow fewer.'),
  SIGNUP_CREDITS: amount(0, 1_000_000, SIGNUP_CREDITS_MEAN),
  TRIAL_CREDITS: integer(
    50_000,
    0,
    10_000_000,
    'The credits of the month that the first completed job of an API key begins; with 0 it begins none.',
  ),
  EXPIRING_CREDITS_DAYS: integer(7, 1, 90, 'How many days before credits expire their user gets a mail.'),
  WORKER_LOG_ENTRIES: integer(
    1_000_000,
    1,
    10_000_000,
    'The newest attempts that the worker log keeps; an http process holds them in memory, 20 to 40 bytes each.',
  ),
  WORKER_LOG_DAYS: integer(30, 1, 3650, 'The days that the worker log keeps attempts.'),
  MAX_URLS_PER_JOB: integer(DEFAULT_LIMITS.max_urls, 1, 10_000_000, 'The most URLs in one job.'),
  MAX_FILE_BYTES: integer(DEFAULT_LIMITS.max_file_bytes, 1, 10 * GiB, 'The largest uploaded file, in bytes.'),
  MAX_INFLATED_BYTES: integer(
    DEFAULT_LIMITS.max_inflated_bytes,
    1,
    100 * GiB,
    'The largest decompressed XLSX, in bytes.',
  ),
  MAX_URL_CHARS: integer(DEFAULT_LIMITS.max_url_chars, 16, 65_536, 'The most characters in a URL.'),
} as const satisfies Readonly<Record<string, Setting<unknown>>>;

type Table = typeof SETTINGS;
type ValueOf<Row> = Row extends Setting<infer Value> ? Value : never;
export type Settings = { readonly [Env in keyof Table as Lowercase<Env>]: ValueOf<Table[Env]> };
