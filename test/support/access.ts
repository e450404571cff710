// Who gets in where: a table of routes by callers, from the access that each route declares to the statuses expected.
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { SignJWT, UnsecuredJWT } from 'jose';
import { type Access, isOfCaller, type Route } from '../../http/frame/route.ts';

export const CALLERS = [
  'none',
  'garbage',
  'basic',
  'alg_none',
  'other_issuer',
  'expired',
  'unknown_key',
  'user',
  'other_user',
  'admin',
  'api_key',
] as const;
export type CallerName = (typeof CALLERS)[number];

/** The Authorization header of each caller; none sends none. */
export type Credentials = Readonly<Record<CallerName, string | null>>;

/** Those that are good: the owner of the jobs that are asked for, another user, an administrator and the owner's API key. */
export interface GoodCredentials {
  user: string;
  other_user: string;
  admin: string;
  api_key: string;
  /** Right in all but its time. */
  expired: string;
}

export async function allCredentials(good: GoodCredentials): Promise<Credentials> {
  const bearer = (token: string) => `Bearer ${token}`;
  const claims = { sub: 'alice', role: 'admin', iss: 'url-checker-local', aud: 'url-checker' };
  const { privateKey } = generateKeyPairSync('ed25519');
  const elsewhere = new SignJWT(claims).setProtectedHeader({ alg: 'EdDSA', kid: 'x' }).setExpirationTime('1h');
  return {
    none: null,
    garbage: bearer('garbage'),
    basic: `Basic ${btoa('alice:secret')}`,
    alg_none: bearer(new UnsecuredJWT(claims).setExpirationTime('1h').encode()),
    other_issuer: bearer(await elsewhere.sign(privateKey)),
    expired: bearer(good.expired),
    unknown_key: bearer(`uc_live_${randomBytes(32).toString('base64url')}`),
    user: bearer(good.user),
    other_user: bearer(good.other_user),
    admin: bearer(good.admin),
    api_key: bearer(good.api_key),
  };
}

/** `in`: past the gate, whatever the handler answers then. */
export type Expected = 'in' | 401 | 403 | 404;

/** Who gets in, as the table has it of APIs that take keys: `api-key` or `key-or-token` for all of their routes that have a caller. */
export type Shown = Access | 'api-key' | 'key-or-token';
const SHOWN = { token: null, 'api-key': 'api-key', either: 'key-or-token' } as const;
export const accessOf = ({ access, api }: Pick<Route, 'access' | 'api'>): Shown =>
  (isOfCaller(access) ? SHOWN[api.credentials] : null) ?? access;

/** What each caller is answered by what a route declares, where the job of `job` is the user's. */
export function expectedAccess(
  route: Pick<Route, 'job' | 'foreign'> & { access: Shown },
): Record<CallerName, Expected> {
  const everybody = (one: Expected) =>
    Object.fromEntries(CALLERS.map((caller) => [caller, one])) as Record<CallerName, Expected>;
  const foreign = route.job === null ? 'in' : route.foreign;
  switch (route.access) {
    case 'none':
      return everybody('in');
    case 'signature':
    case 'shared-secret':
      return everybody(401);
    case 'user':
      return { ...everybody(401), user: 'in', other_user: foreign, admin: foreign };
    case 'owner':
      return { ...everybody(401), user: 'in', other_user: foreign, admin: foreign };
    case 'owner-or-admin':
      return { ...everybody(401), user: 'in', other_user: foreign, admin: 'in' };
    case 'admin':
      return { ...everybody(401), user: 403, other_user: 403, admin: 'in' };
    case 'key-or-token':
      return { ...everybody(401), user: 'in', other_user: 'in', admin: 'in', api_key: 'in' };
    case 'api-key':
      return { ...everybody(401), api_key: 'in' };
  }
}

/** Statuses by which a gate refuses. A route's handler may answer 403 or 404 too, for what its own rules are. */
const REFUSALS = [401, 403, 404];

/**
 * Asks every route as every caller and gives what differs from `expected`, a line each: none when all is right.
 * `params` fills in the paths; its job is the user's. `handler_statuses` allows handlers to answer as gates do.
 */
export async function accessDifferences(
  base_url: string,
  routes: readonly Route<never>[],
  credentials: Credentials,
  params: Readonly<Record<string, string>>,
  handler_statuses: (route: Route<never>) => readonly number[] = () => [],
): Promise<string[]> {
  const differences: string[] = [];
  for (const route of routes) {
    for (const [caller, expected] of Object.entries(expectedAccess({ ...route, access: accessOf(route) }))) {
      const status = await ask(base_url, route, credentials[caller as CallerName], params);
      const in_it = !REFUSALS.includes(status) || handler_statuses(route).includes(status);
      const right = expected === 'in' ? in_it : status === expected;
      if (!right) differences.push(`${route.method} ${route.path} as ${caller}: ${status}, not ${expected}`);
    }
  }
  return differences;
}

async function ask(
  base_url: string,
  route: Route<never>,
  authorization: string | null,
  params: Readonly<Record<string, string>>,
): Promise<number> {
  const path = route.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? 'unknown'));
  const response = await fetch(`${base_url}${path}?${requiredQuery(route)}`, {
    method: route.method,
    redirect: 'manual',
    headers: {
      ...(authorization === null ? {} : { authorization }),
      ...(route.method === 'GET' ? {} : { 'content-type': 'application/json' }),
    },
    ...(route.method === 'GET' ? {} : { body: '{}' }),
  });
  await response.arrayBuffer();
  return response.status;
}

/** The gate that asks whose a job is comes after the parameters are right. */
function requiredQuery(route: Route<never>): string {
  const values: Record<string, string> = { integer: '1', number: '1', boolean: 'true', string: 'x' };
  const query = new URLSearchParams();
  for (const name of (route.query.required as string[] | undefined) ?? []) {
    query.set(name, values[(route.query.properties[name] as { type: string }).type] ?? 'x');
  }
  return query.toString();
}
