// Reads the settings of the service from the environment, and checks them as a whole.
import { isIP } from 'node:net';
import { distance } from 'fastest-levenshtein';
import { isIn, parseAddress, parseRange } from '../net/cidr.ts';
import { MIN_KEY_CHARS, type Setting } from './kinds.ts';
import { usualCredits } from './own-service.ts';
import { ROLES, SETTINGS, type Settings } from './table.ts';

export { ROLES, type Role, SETTINGS } from './table.ts';

export type Config = Omit<Settings, 'public_url' | 'signup_credits'> & {
  readonly public_url: string;
  readonly signup_credits: number;
};

/** Invalid settings. The message has a line for each, with its value (secrets masked) and a valid one's description. */
export class ConfigError extends Error {
  readonly code = 'config';
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(`wrong settings:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
    this.problems = problems;
  }
}

/**
 * Reads the settings from the environment. Throws `ConfigError` with all problems, not only the first.
 * @example readConfig({ ROLES: 'http,projector' }).roles // ['http', 'projector']
 */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const problems: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, row] of Object.entries<Setting<unknown>>(SETTINGS)) {
    const given = env[name]?.trim() ?? '';
    const value = given === '' ? row.fallback : row.parse(given);
    values[name.toLowerCase()] = value;
    if (value === undefined) problems.push(`${name} is ${masked(given, row.secret)}: it must be ${row.wants}`);
  }
  problems.push(...misspelt(env, Object.keys(SETTINGS)));
  // Settings are compared with each other only when each is valid.
  if (problems.length === 0) problems.push(...disagreements(values as unknown as Settings));
  if (problems.length > 0) throw new ConfigError(problems);
  const settings = values as unknown as Settings;
  return {
    ...settings,
    signup_credits: settings.signup_credits ?? usualCredits(settings),
    public_url: (settings.public_url ?? baseUrl(settings.host, settings.port)).replace(/\/+$/, ''),
  };
}

function baseUrl(host: string, port: number): string {
  return `http://${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}

/** Returns the text of `.env.example`: each setting with its meaning, its valid values and its default. */
export function envExample(): string {
  const rows = Object.entries<Setting<unknown>>(SETTINGS).map(([name, row]) => {
    const fallback = shown(row.fallback);
    return `# ${row.means}\n# Must be ${row.wants}.\n${fallback === '' ? '# ' : ''}${name}=${fallback}\n`;
  });
  return `# The settings of the service; each is optional. A line that starts with # is unset.\n\n${rows.join('\n')}`;
}

function shown(fallback: unknown): string {
  if (fallback === ROLES) return 'all';
  return typeof fallback === 'string' || typeof fallback === 'number' ? String(fallback) : '';
}

// What is wrong with settings together that are valid one by one.

/** What settings that are valid each say against each other, a sentence for each. */
function disagreements(settings: Settings): string[] {
  const found: string[] = [];
  const { metrics_port } = settings;
  if (
    metrics_port !== null &&
    metrics_port !== 0 &&
    metrics_port === settings.port &&
    settings.roles.includes('http')
  ) {
    found.push(`METRICS_PORT is ${metrics_port}, and so is PORT: it must be another port`);
  }
  const { payment_secret_key, payment_webhook_secret } = settings;
  if (payment_secret_key !== null && payment_webhook_secret === null && settings.roles.includes('http')) {
    found.push(
      'PAYMENT_WEBHOOK_SECRET is unset: it must be set when PAYMENT_SECRET_KEY is set, or no payment would be known',
    );
  }
  if (payment_secret_key === null && (payment_webhook_secret?.length ?? MIN_KEY_CHARS) < MIN_KEY_CHARS) {
    found.push(
      `PAYMENT_WEBHOOK_SECRET is ${masked(payment_webhook_secret!, true)}: it must have at least ${MIN_KEY_CHARS} characters without ` +
        'PAYMENT_SECRET_KEY, because the sandbox signs checkouts with it',
    );
  }
  const { host, identity_jwks_url, roles: played, eventstore_url, webhook_signing_key } = settings;
  if (
    webhook_signing_key === null &&
    eventstore_url !== null &&
    played.includes('http') !== played.includes('processes')
  ) {
    found.push(
      'WEBHOOK_SIGNING_KEY is unset: it must be set when http and processes run in separate processes over EVENTSTORE_URL, or http ' +
        'would show other secrets than processes sign with',
    );
  }
  if (identity_jwks_url === null && played.includes('http') && !isLoopback(host)) {
    found.push(
      `HOST is ${masked(host)}, which others can reach, and IDENTITY_JWKS_URL is unset: the local issuer is for one ` +
        `machine. It wants HOST 127.0.0.1, or IDENTITY_JWKS_URL with IDENTITY_ISSUER and IDENTITY_AUDIENCE`,
    );
  }
  for (const name of ['IDENTITY_ISSUER', 'IDENTITY_AUDIENCE'] as const) {
    const value = settings[name.toLowerCase() as Lowercase<typeof name>];
    if (identity_jwks_url !== null && value === null) {
      found.push(
        `${name} is unset: it must be set when IDENTITY_JWKS_URL is set, or any token of that provider would pass`,
      );
    }
  }
  return [...found, ...tlsDisagreements(settings)];
}

const STORES = ['EVENTSTORE', 'MONGODB', 'NATS'] as const;

function tlsDisagreements(settings: Settings): string[] {
  const halves = STORES.flatMap((store) => {
    const [cert, key] = [`${store}_CERT_FILE`, `${store}_KEY_FILE`] as const;
    const is_set = [cert, key].map((name) => settings[name.toLowerCase() as Lowercase<typeof name>] !== null);
    if (is_set[0] === is_set[1]) return [];
    return [`${is_set[0] ? key : cert} is unset: a certificate wants its key, and a key its certificate`];
  });
  const { eventstore_url, eventstore_ca_file, eventstore_cert_file } = settings;
  if ((eventstore_ca_file ?? eventstore_cert_file) !== null && /[?&]tls=false\b/i.test(eventstore_url ?? ''))
    halves.push('EVENTSTORE_URL has tls=false: EVENTSTORE_CA_FILE and EVENTSTORE_CERT_FILE want TLS');
  return halves;
}

const LOOPBACK = ['127.0.0.0/8', '::1/128', '::ffff:127.0.0.0/104'].map(parseRange);

/** Whether only this machine can reach the host. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  if (bare === 'localhost') return true;
  return isIn(LOOPBACK, parseAddress(bare));
}

/** Returns the value for an error message: no secret, and no user and password of a URL. */
function masked(given: string, is_secret = false): string {
  if (is_secret) return `(a secret of ${given.length} characters)`;
  return JSON.stringify(given.replace(/\/\/[^/]*@/, '//***@').slice(0, 200));
}

// Finds misspelt settings in the environment, which also holds variables of other programs. A name counts as misspelt when it has
// a prefix of our own, or differs from a setting's name by at most two characters.

/** Prefixes that only this service uses. */
const FAMILIES = ['CHECKER_', 'IDENTITY_', 'PAYMENT_', 'WEBHOOK_', 'RATE_LIMIT_'];
/** Variables that Kubernetes and Docker set for a service of any name: `CHECKER_SERVICE_HOST`, `CHECKER_PORT_80_TCP_ADDR`. */
const OF_A_PLATFORM = /_SERVICE_(?:HOST|PORT)(?![A-Z0-9])|_PORT(?:$|_\d{1,5}_(?:TCP|UDP|SCTP))/;
/** Shorter names resemble too many others. */
const MIN_CHARS = 7;
const MAX_SLIPS = 2;
const MAX_NAME_CHARS = 64;

/** Returns a line for each misspelt variable, with the nearest setting. A setting that is set has no misspelt twin. */
function misspelt(env: Readonly<Record<string, string | undefined>>, known: readonly string[]): string[] {
  const missing = known.filter((name) => !env[name]?.trim());
  const problems: string[] = [];
  for (const [name, value] of Object.entries(env)) {
    if (!value?.trim() || known.includes(name)) continue;
    if (!/^[A-Z][A-Z0-9_]*$/.test(name) || name.length > MAX_NAME_CHARS || OF_A_PLATFORM.test(name)) continue;
    const meant = nearest(name, missing, MAX_SLIPS);
    if (meant !== null) problems.push(`${name} is no setting: did you mean ${meant}?`);
    else if (FAMILIES.some((family) => name.startsWith(family))) {
      const similar = nearest(name, known, Math.floor(name.length / 2));
      problems.push(`${name} is no setting${similar === null ? '' : `: did you mean ${similar}?`}`);
    }
  }
  return problems;
}

function nearest(name: string, names: readonly string[], max_slips: number): string | null {
  let found: string | null = null;
  let least = max_slips + 1;
  for (const one of names) {
    if (Math.min(one.length, name.length) < MIN_CHARS || Math.abs(one.length - name.length) >= least) continue;
    const slips = distance(name, one);
    if (slips < least) [found, least] = [one, slips];
  }
  return found;
}
