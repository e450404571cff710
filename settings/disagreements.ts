// What is wrong with settings together that are valid one by one.
import { isIn, parseAddress, parseRange } from '../net/cidr.ts';
import { MIN_KEY_CHARS } from './kinds.ts';
import type { Settings } from './table.ts';

/** What settings that are valid each say against each other, a sentence for each. */
export function disagreements(settings: Settings): string[] {
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
export function masked(given: string, is_secret = false): string {
  if (is_secret) return `(a secret of ${given.length} characters)`;
  return JSON.stringify(given.replace(/\/\/[^/]*@/, '//***@').slice(0, 200));
}
