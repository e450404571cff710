// The route table. A route is data (method, path, access, schemas) and a handler whose argument types come from the schemas.
// Validation, access rules, the OpenAPI documents and the access tests all derive from this data.
import type { Readable } from 'node:stream';
import type { Context } from 'koa';
import type { CommandContext, Refusal } from '../../commands/aggregate.ts';
import type { Position } from '../../events/event-store.ts';
import { type Static, type TObject, type TSchema, Type } from '../../events/schema.ts';
import type { Unchanged } from '../../events/unchanged.ts';
import type { JobDocument } from '../../readmodels/jobs/jobs.ts';
import type { Api } from './api.ts';
import type { Problem } from './errors.ts';
import { IN_PROGRESS, KEY, MAKING_KEY, MISMATCH, RETRY_AFTER } from './idempotency-key.ts';
import { closedInput } from './input/input-schemas.ts';
import type { Body, FileBody, JsonBody, ListBody, RawBody, StringList, UploadedFile } from './request-bodies.ts';
import type { Asked } from './within.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/**
 * The rule that admits a request. `none`: everybody. `user`: a caller with the credentials of the route's API. `owner`: the user who
 * owns the job. `admin`: an administrator. `signature`: the handler verifies the raw body. `shared-secret`: the frame compares a header.
 */
export type Access = 'none' | 'user' | 'owner' | 'owner-or-admin' | 'admin' | 'signature' | 'shared-secret';

export const isOfOwner = (access: Access) => access === 'owner' || access === 'owner-or-admin';
export const isOfCaller = (access: Access) => access === 'user' || access === 'admin' || isOfOwner(access);

/** The authenticated caller. */
export interface Caller {
  user_id: string;
  email: string | null;
  /** Absent where the credentials have no name. */
  name?: string;
  is_admin: boolean;
  kind: 'user' | 'key';
  /** The id of the API key, for kind `key`. */
  key_id?: string;
  /** The most credits that all jobs of the key together may use; absent without a limit. */
  credit_limit?: number;
  /** What the key may do; absent for everything. */
  scopes?: readonly string[];
}

export interface ResponseSpec {
  description: string;
  /** The schema of the JSON body, or of the text that `content_type` names. Without a schema the answer has no body. */
  schema?: TSchema;
  /** Default `application/json`. */
  content_type?: string;
  /** Content types that the request can choose instead. */
  other_content_types?: readonly string[];
  example?: unknown;
  /** Response headers with their meanings. */
  headers?: Readonly<Record<string, string>>;
}

/** The meaning of an error status of a route, with an example for each code. */
export interface ErrorSpec {
  description: string;
  examples: Readonly<Record<string, { message: string; details?: object; problem?: Problem }>>;
  /** Headers that some of these answers have, with their meanings. */
  headers?: Readonly<Record<string, string>>;
}

/** An error with one example. */
export const anError = (description: string, code: string, message: string, details?: object): ErrorSpec => ({
  description,
  examples: { [code]: { message, ...(details && { details }) } },
});
/** An error whose example is what is thrown, or what a command is refused with. */
export const asThrown = (description: string, { code, message }: Refusal): ErrorSpec =>
  anError(description, code, message);

export interface Reply {
  /** Default: the first success status that the route declares. */
  status?: number;
  /** An object is sent as JSON; text and bytes need a content-type header. */
  body?: object | string | Uint8Array | null;
  stream?: Readable;
  headers?: Readonly<Record<string, string>>;
  /** Whether what the answer has besides the route's `made_of` is still so. */
  unchanged?: Unchanged;
  /** The position of a command in the log. The frame waits until reads see it, then sends it in the answer. */
  position?: Position;
  /** Whether the frame sends the answer before reads see the position. */
  is_early?: boolean;
}

export interface RouteRequest<
  Params = unknown,
  Query = unknown,
  Headers = unknown,
  BodyValue = unknown,
  Who = unknown,
  Job = unknown,
> {
  route: Pick<Route, 'api' | 'method' | 'path'>;
  params: Params;
  query: Query;
  headers: Headers;
  body: BodyValue;
  caller: Who;
  /** The job that the path names, as the access rule read it; null when the path names none. */
  job: Job;
  request_id: string;
  /** 32 bytes that nobody can guess. A repeated request with an idempotency key gets the same for the same purpose. */
  secret(purpose: string): Buffer;
  /** Returns the context of a new command of the caller, with the current time. */
  command(): CommandContext;
  /** The client's address, also behind trusted proxies. */
  ip: string;
  /** Aborts when the client leaves before its answer ends. */
  signal: AbortSignal;
  /** Whether the credentials are still good: a handler asks again and again while its stream lasts. */
  isStillAdmitted(): Promise<boolean>;
  /** A heavy handler calls this before it only waits, so that another heavy request can run. */
  rest(): void;
  /**
   * Asks another route for the same caller, within this request, which counts as one. Throws what the route's frame throws, such as HttpError with 404.
   */
  ask(route: Pick<Route, 'method' | 'path'>, asked: Asked): Promise<Reply>;
  ctx: Context;
}

/** A route as the frame uses it, with all defaults. Its schemas validate the requests. */
export interface Route<Deps = unknown> {
  api: Api;
  /** The operation's name in the OpenAPI document, and of the function in generated clients: `createJob`. */
  id: string | null;
  method: Method;
  /** The whole path, with the prefix of the API. */
  path: string;
  access: Access;
  /** The path parameter that names a job. The job must exist, and the caller must own it when the access is `owner`. */
  job: string | null;
  /** The status of the answer for another user's job. */
  foreign: 403 | 404;
  summary: string;
  description?: string;
  /** The section of the documents, and the group that another deployment may serve. */
  tag: string;
  params: TObject;
  query: TObject;
  headers: TObject;
  body: Body | null;
  responses: Readonly<Record<number, ResponseSpec>>;
  /** Error statuses of this route, with their meanings, besides those that its access and input imply. */
  errors: Readonly<Record<number, string | ErrorSpec>>;
  /** Whether the frame logs requests at level debug. Probes are quiet, because they come every few seconds. */
  quiet: boolean;
  /** Whether the reply is a stream that lasts as long as the client listens, so that leaving is no failure. */
  lasting: boolean;
  /** Whether a read asks the log alone, so that it waits for no read model. */
  of_log: boolean;
  /** Whether the answer needs the results of the job, so that it is 410 once these have expired. */
  of_results: boolean;
  /**
   * What the answer is made of besides the request, its caller, and what `Reply.unchanged` asks: the job that the path names, or all that the
   * read models have. While that is as it was, the frame may send the answer again without asking the handler. Null: of more.
   */
  made_of: 'job' | 'read models' | null;
  /** Whether a request can take much work: any of them, or those with a large body. The frame bounds the heavy requests of each caller. */
  heavy: boolean | 'large body';
  /**
   * The route makes something, and takes an idempotency key; null for others. The log keeps the fields of the answer but `secrets`, which
   * `restore` adds again.
   */
  makes: {
    secrets: readonly string[];
    restore(body: object, request: RouteRequest, deps: Deps): object | Promise<object>;
  } | null;
  /** Whether maintenance mode leaves it open: who cannot sign in cannot end the mode either. */
  is_always_open: boolean;
  /** Throws `HttpError` for a request whose headers are enough to refuse it, before its body is read. */
  early?(header: (name: string) => string, deps: Deps): void;
  handler(request: RouteRequest, deps: Deps): Reply | Promise<Reply>;
}

type PathParams<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? { [Key in Name]: string } & PathParams<Rest>
  : unknown;
type Given<Schema, Otherwise> = Schema extends TObject ? Static<Schema> : Otherwise;
type BodyOf<Declared> =
  Declared extends JsonBody<infer Schema>
    ? Static<Schema>
    : Declared extends FileBody
      ? UploadedFile
      : Declared extends RawBody
        ? Buffer
        : Declared extends ListBody<infer Others>
          ? StringList<Static<TObject<Others>>>
          : undefined;
type CallerOf<Given extends Access> = Given extends 'none' | 'signature' | 'shared-secret' ? null : Caller;
/** The fields of a job that a change needs. The log may have a job before the read models do. */
export interface OwnedJob {
  _id: string;
  owner_id: string;
  results_expired_at?: string | null;
}
type JobOf<Verb extends Method, Who extends Access, Named> = Who extends 'owner' | 'owner-or-admin'
  ? Verb extends 'GET'
    ? JobDocument
    : OwnedJob
  : Named extends string
    ? JobDocument
    : null;
/** biome-ignore lint/complexity/noBannedTypes: the type of an object without properties */
type Nothing = {};

export interface RouteSpec<
  Deps,
  Verb extends Method,
  Path extends string,
  Who extends Access,
  Params extends TObject | undefined,
  Query extends TObject | undefined,
  Headers extends TObject | undefined,
  Declared extends Body | undefined,
  Named extends string | undefined,
> extends Pick<Route, 'summary' | 'description' | 'responses'>,
    Partial<
      Pick<
        Route,
        'foreign' | 'errors' | 'quiet' | 'lasting' | 'of_log' | 'of_results' | 'made_of' | 'heavy' | 'is_always_open'
      >
    > {
  /** Every route of the service has one; a test asks for it. */
  id?: string;
  method: Verb;
  /** The path below the prefix of the API, with parameters in braces: `/jobs/{job_id}`. */
  path: Path;
  access: Who;
  /** Default: `job_id` for routes with owner access, none for others. Only a GET may name a job without owner access. */
  job?: Named;
  params?: Params;
  /** Clients may omit a property with a default; the handler always gets it. */
  query?: Query;
  /** Names in lower case. */
  headers?: Headers;
  body?: Declared;
  /** True: the answer has no secret. */
  makes?: true | Route<Deps>['makes'];
  early?(header: (name: string) => string, deps: Deps): void;
  handler(
    request: RouteRequest<
      Given<Params, PathParams<Path>>,
      Given<Query, Nothing>,
      Given<Headers, Nothing>,
      BodyOf<Declared>,
      CallerOf<Who>,
      JobOf<Verb, Who, Named>
    >,
    deps: Deps,
  ): Reply | Promise<Reply>;
}

/**
 * Returns the `route` function of an API and a tag, for handlers with these dependencies. That function throws for a contradictory
 * route.
 * @example const route = routeOf<ReturnType<typeof wire>>(GATEWAY, 'jobs');
 */
export function routeOf<Deps>(api: Api, tag: string) {
  return function route<
    const Verb extends Method,
    const Path extends string,
    const Who extends Access,
    Params extends TObject | undefined = undefined,
    Query extends TObject | undefined = undefined,
    Headers extends TObject | undefined = undefined,
    Declared extends Body | undefined = undefined,
    Named extends string | undefined = undefined,
  >(spec: RouteSpec<Deps, Verb, Path, Who, Params, Query, Headers, Declared, Named>): Route<Deps> {
    const { params, query, headers, body, job, makes, ...rest } = spec;
    const names = [...spec.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!);
    const made: Route<Deps> = {
      ...{ api, tag, id: null, foreign: 404, errors: {}, quiet: false, lasting: false, of_log: false, heavy: false },
      ...{ is_always_open: false, of_results: false, made_of: null },
      ...rest,
      path: api.prefix + spec.path,
      job: job ?? (isOfOwner(spec.access) ? 'job_id' : null),
      params: params ?? Type.Object(Object.fromEntries(names.map((name) => [name, PathText]))),
      query: closedInput(query ?? Type.Object({})),
      headers: makes ? Type.Object({ ...headers?.properties, [KEY]: MAKING_KEY }) : (headers ?? Type.Object({})),
      ...(makes && { responses: replayed(spec.responses), errors: withConflicts(spec.errors) }),
      makes: makes === true ? NO_SECRETS : (makes ?? null),
      body: body ?? null,
      // The frame validates each request by the schemas that these types come from.
      handler: spec.handler as Route<Deps>['handler'],
    };
    assertWhole(made, names);
    return made;
  };
}

/** The same routes in another API as well: below its prefix, for its credentials, with its errors and its limits. */
export const alsoIn = <Deps>(api: Api, routes: readonly Route<Deps>[]): readonly Route<Deps>[] => [
  ...routes,
  ...routes.map((route) => ({ ...route, api, path: api.prefix + route.path.slice(route.api.prefix.length) })),
];

const NO_SECRETS = { secrets: [], restore: (body: object) => body };
const REPLAYED = { 'Idempotency-Replayed': '`true` when the service repeats the first answer to the key.' };
const replayed = (responses: Route['responses']): Route['responses'] =>
  Object.fromEntries(
    Object.entries(responses).map(([status, one]) => [status, { ...one, headers: { ...one.headers, ...REPLAYED } }]),
  );
/** A route's errors with those of its idempotency keys. */
function withConflicts(errors: Route['errors'] = {}): Route['errors'] {
  const own = errors[409];
  const { description = '', examples = {} } = typeof own === 'string' ? { description: own } : (own ?? {});
  const of_keys =
    'The idempotency key came with another request before (`idempotency_key_mismatch`), or its first request runs (`idempotency_in_progress`).';
  return {
    ...errors,
    409: {
      description: [description, of_keys].filter(Boolean).join(' '),
      examples: { ...examples, ...MISMATCH, ...IN_PROGRESS },
      headers: RETRY_AFTER,
    },
  };
}

const PathText = Type.String({ minLength: 1, maxLength: 255 });

/** Throws for an incomplete or contradictory route, so that the service does not start with it. */
function assertWhole(route: Route<never>, names: string[]): void {
  const fail = (what: string): never => {
    throw new Error(`route ${route.method} ${route.path}: ${what}`);
  };
  const declared = Object.keys(route.params.properties);
  if ([...declared].sort().join() !== [...names].sort().join()) fail(`params are ${declared}, the path has ${names}`);
  if (route.job !== null && !names.includes(route.job)) fail(`no path parameter ${route.job} to find the job by`);
  if (route.job !== null && !isOfOwner(route.access) && route.method !== 'GET') fail('nobody to own the job');
  if (Object.keys(route.headers.properties).some((name) => name !== name.toLowerCase())) fail('headers in lower case');
  if (route.method === 'GET' && route.body !== null) fail('GET has no body');
  if (route.access === 'signature' && route.body?.kind !== 'raw') fail('a signature is of the raw body');
  if (successStatus(route) === undefined) fail('no response that is a success');
}

/** The status of a reply that sets none. */
export const successStatus = (route: Pick<Route, 'responses'>): number | undefined =>
  Object.keys(route.responses)
    .map(Number)
    .find((status) => status >= 200 && status < 400);
