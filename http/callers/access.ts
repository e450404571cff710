// Access rules: authenticates the caller of a request, finds the job that its path names, and refuses everybody else.
import type { Jobs } from '../../commands/jobs/job.ts';
import type { Position } from '../../events/event-store.ts';
import { jobStream } from '../../events/streams.ts';
import type { JobDocument } from '../../readmodels/jobs/jobs.ts';
import type { LiveCollection } from '../../readmodels/read-models.ts';
import { BEHIND, HttpError, jobNotFound, notYours, retryLater } from '../frame/errors.ts';
import { type Caller, isOfOwner, type OwnedJob, type Route } from '../frame/route.ts';
import { sameText } from '../frame/same-text.ts';
import type { Identity } from './identity.ts';

/** Finds the job that a path names. The first two methods return null when there is none. */
export type JobFinder = ReturnType<typeof openJobFinder>;

export interface AccessOptions {
  identity: Identity;
  /** Returns the caller of a browser's session by the cookies of a request, or null without a session that is open. */
  session?(cookies: string): Promise<Caller | null>;
  /** Returns the caller of an API key, or null for an unknown or revoked key. */
  api_key(plaintext: string): Promise<Caller | null>;
  jobs: JobFinder;
  /** The URL of the metadata that name the identity provider; absent where no provider is set. */
  resource_metadata?: () => string;
  /** The secret of `shared-secret` routes; null closes these routes. `header` is in lower case. */
  shared_secret: { header: string; value: string } | null;
}

/** Followed by 32 random bytes in base64url. */
const API_KEY_PREFIX = /^uc_(?:live|test)_/;
const API_KEY = /^uc_(?:live|test)_[A-Za-z0-9_-]{43}$/;
/** A JSON Web Token begins with the base64url of `{"` and has dots. */
const TOKEN = /^eyJ[A-Za-z0-9_-]*[.]/;

/** Returns the caller, or null when the route needs none. Throws HttpError with 401 or 403. */
export async function authenticate(
  route: Pick<Route, 'access' | 'api' | 'method'>,
  header: (name: string) => string,
  options: AccessOptions,
): Promise<Caller | null> {
  switch (route.access) {
    case 'none':
    case 'signature':
      return null;
    case 'shared-secret':
      assertSecret(header, options.shared_secret);
      return null;
    default: {
      const authorization = header('authorization');
      const user = await CALLERS[route.api.credentials](authorization, route, header, options);
      if (route.access === 'admin' && !user.is_admin) throw notAdministrator();
      return user;
    }
  }
}

/**
 * Returns the job that the path names. Throws 404 when there is none, and the route's `foreign` status for another user's job. A read
 * waits for a job that is in the log and not in the read models yet: who asks may know no position to wait for. It throws 503 when they
 * stay behind.
 */
export async function findJob(
  route: Pick<Route, 'access' | 'foreign' | 'method'>,
  job_id: string,
  caller: Caller | null,
  jobs: JobFinder,
): Promise<OwnedJob> {
  const shown = route.method === 'GET' ? await jobs.shown(job_id) : null;
  const job = shown ?? (await jobs.owned(job_id));
  if (!job) throw jobNotFound();
  const is_allowed =
    !isOfOwner(route.access) ||
    job.owner_id === caller?.user_id ||
    (route.access === 'owner-or-admin' && caller?.is_admin === true);
  if (!is_allowed) throw route.foreign === 403 ? notYours() : jobNotFound();
  if (route.method !== 'GET' || shown) return job;
  const awaited = await jobs.awaited(job_id);
  if (!awaited) throw retryLater(503, 'unavailable', BEHIND, 1);
  return awaited;
}

const JOB_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function openJobFinder(
  documents: Pick<LiveCollection<JobDocument>, 'get'>,
  jobs: Jobs,
  passed: (position: Position) => Promise<boolean>,
) {
  return {
    /** Reads the job from the read models. */
    shown: (job_id: string) => documents.get(job_id),
    /** Reads the log for a job that the read models do not have yet. */
    async owned(job_id: string): Promise<OwnedJob | null> {
      const job = await documents.get(job_id);
      if (job || !JOB_ID.test(job_id)) return job;
      const { status, owner_id } = (await jobs.aggregate.read(jobStream(job_id))).state;
      return status === 'none' || status === 'deleted' ? null : { _id: job_id, owner_id };
    },
    /** Reads the job from the read models once they have what the log has of it; null when they stay behind. */
    async awaited(job_id: string): Promise<JobDocument | null> {
      const { position } = await jobs.aggregate.read(jobStream(job_id));
      return (await passed(position)) ? await documents.get(job_id) : null;
    },
  };
}

type Callers = (
  authorization: string,
  route: Pick<Route, 'method'>,
  header: (name: string) => string,
  options: AccessOptions,
) => Promise<Caller>;
const CALLERS: Readonly<Record<Route['api']['credentials'], Callers>> = {
  token: (_, ...more) => signedIn(...more),
  'api-key': (authorization, _route, _header, options) => keyHolder(authorization, options),
  either: (authorization, _route, _header, options) => keyOrTokenHolder(authorization, options),
};

async function signedIn(
  { method }: Pick<Route, 'method'>,
  header: (name: string) => string,
  { identity, session }: Pick<AccessOptions, 'identity' | 'session'>,
): Promise<Caller> {
  const [authorization, cookies] = [header('authorization'), header('cookie')];
  if (authorization === '' && cookies !== '' && session) {
    const user = await session(cookies);
    if (!user) throw notSignedIn();
    // Browsers send cookies with what any site makes them send. Only pages of this service can send the header.
    if (method !== 'GET' && header('x-console') === '') throw fromElsewhere();
    return user;
  }
  const token = bearer(authorization, 'Sign in: the header Authorization must be "Bearer" and a token.');
  if (API_KEY_PREFIX.test(token)) throw keyOnGateway();
  const user = await identity.verify(token);
  if (!user) throw invalidToken();
  return { ...user, kind: 'user' };
}

async function keyHolder(authorization: string, options: AccessOptions): Promise<Caller> {
  const key = bearer(authorization, 'The header Authorization must be "Bearer" and an API key.');
  if (TOKEN.test(key)) throw tokenOnPublicApi();
  const caller = API_KEY.test(key) ? await options.api_key(key) : null;
  if (!caller) throw invalidApiKey();
  return caller;
}

/** Whoever authorises a client at the identity provider finds it by the metadata that the challenge names (RFC 9728, 5.1). */
async function keyOrTokenHolder(authorization: string, options: AccessOptions): Promise<Caller> {
  const { identity, resource_metadata: url } = options;
  try {
    const token = bearer(authorization, 'The header Authorization must be "Bearer" and an API key or a token.');
    if (!TOKEN.test(token)) return await keyHolder(authorization, options);
    const user = await identity.verify(token);
    if (!user) throw invalidToken();
    return { ...user, kind: 'user' };
  } catch (error) {
    if (!(error instanceof HttpError) || error.status !== 401 || !url) throw error;
    const challenge = `${error.headers['www-authenticate']}, resource_metadata="${url()}"`;
    throw new HttpError(401, error.code, error.message, error.details, { 'www-authenticate': challenge });
  }
}

function bearer(authorization: string, message: string): string {
  const credentials = /^bearer +(\S+) *$/i.exec(authorization)?.[1];
  if (credentials !== undefined) return credentials;
  // The client presented no credentials, so the challenge has no error code (RFC 6750, 3.1).
  throw new HttpError(401, 'unauthenticated', message, undefined, { 'www-authenticate': 'Bearer realm="url-checker"' });
}

/** Who had a session gets the same answer as who never had one. */
const notSignedIn = () =>
  new HttpError(401, 'unauthenticated', 'You are not signed in, or your session has ended.', undefined, {
    'www-authenticate': 'Bearer realm="url-checker"',
  });
const fromElsewhere = () =>
  new HttpError(403, 'cross_site', 'A session needs the header X-Console with a request that changes something.');
export const notAdministrator = () => new HttpError(403, 'forbidden', 'Only administrators may do this.');
export const invalidToken = () => refused('invalid_token', 'The token is not valid, or has expired.');
export const invalidApiKey = () => refused('invalid_api_key', 'The API key is not valid, or its user revoked it.');

/** The caller has taken one kind of credentials for the other. */
export const keyOnGateway = () =>
  refused(
    'api_key_on_gateway',
    'This is an API key, which works under /api/v2 only. The gateway takes a token of the identity provider.',
  );
export const tokenOnPublicApi = () =>
  refused(
    'token_on_public_api',
    'This is a token of the identity provider, which works on the gateway only. Under /api/v2 send an API key: create one with ' +
      'POST /users/me/api-keys.',
  );

function refused(code: string, message: string): HttpError {
  const challenge = 'Bearer realm="url-checker", error="invalid_token"';
  return new HttpError(401, code, message, undefined, { 'www-authenticate': challenge });
}

function assertSecret(header: (name: string) => string, secret: AccessOptions['shared_secret']): void {
  if (secret === null) throw closed();
  if (!sameText(header(secret.header), secret.value)) throw wrongSecret(secret.header);
}

/** The route's secret is not set, so nobody gets in. */
export const closed = () => new HttpError(401, 'closed', 'This route is closed: the operator has set no secret.');
export const wrongSecret = (header: string) =>
  new HttpError(401, 'invalid_secret', `The header ${header} does not hold the secret.`);
export const wrongSignature = () => new HttpError(401, 'invalid_signature', 'The signature is not valid.');
