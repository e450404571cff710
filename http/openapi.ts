// The OpenAPI 3.1 description of an API, made from its routes: what is described is what is validated.
import { isDeepStrictEqual } from 'node:util';
import type { TSchema } from 'typebox';
import { statusText, V2_CODES } from './errors.ts';
import type { Access, Body, ResponseSpec, Route } from './route.ts';

export interface Description {
  title: string;
  version: string;
  description?: string;
}

type Json = { [key: string]: unknown };

/** Throws when two routes would have one operation id, or two schemas one name: defects of the table. */
export function openApi(routes: readonly Route<never>[], info: Description, error_shape: 'gateway' | 'v2'): Json {
  const components = openComponents(error_shape);
  const paths: Record<string, Json> = {};
  const ids = new Set<string>();
  for (const route of routes) {
    const operation = operationOf(route, components);
    const id = operation.operationId as string;
    if (ids.has(id)) throw new Error(`two routes have the operation id ${id}`);
    ids.add(id);
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation };
  }
  const used = new Set(routes.flatMap((route) => SECURITY[route.access] ?? []));
  const securitySchemes = Object.fromEntries(Object.entries(SCHEMES).filter(([name]) => used.has(name)));
  return {
    openapi: '3.1.0',
    info,
    // Where the document is.
    servers: [{ url: '/' }],
    tags: [...new Set(routes.flatMap((route) => route.tags))].map((name) => ({ name })),
    paths,
    components: { schemas: components.schemas, headers: { 'X-Request-ID': REQUEST_ID }, securitySchemes },
  };
}

const SCHEMES: Readonly<Record<string, Json>> = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: "The identity provider's token of the user.",
  },
  api_key: { type: 'http', scheme: 'bearer', description: 'An API key: uc_live_…' },
  shared_secret: { type: 'apiKey', in: 'header', name: 'X-Agency-Secret', description: 'The configured secret.' },
};
const SECURITY: Readonly<Partial<Record<Access, string>>> = {
  user: 'bearer',
  owner: 'bearer',
  'owner-or-admin': 'bearer',
  admin: 'bearer',
  'api-key': 'api_key',
  'shared-secret': 'shared_secret',
};
const REQUEST_ID: Json = { description: 'The id of the request, in logs too.', schema: { type: 'string' } };

function operationOf(route: Route<never>, components: Components): Json {
  const scheme = SECURITY[route.access];
  return {
    operationId: operationId(route),
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    tags: route.tags,
    security: scheme === undefined ? [] : [{ [scheme]: [] }],
    parameters: [
      ...parameters('path', route.params, components),
      ...parameters('query', route.query, components),
      ...parameters('header', route.headers, components),
    ],
    ...(route.body === null ? {} : { requestBody: requestBody(route.body, components) }),
    responses: responses(route, components),
  };
}

/** `GET /jobs/{job_id}/results` is `get_jobs_job_id_results`. */
const operationId = ({ method, path }: Route<never>) =>
  `${method} ${path}`
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/_$/, '');

function parameters(place: 'path' | 'query' | 'header', schema: Route['query'], components: Components): Json[] {
  return Object.entries(schema.properties).map(([name, property]) => {
    const { description, ...rest } = components.plain(property);
    return {
      name,
      in: place,
      required: (schema.required as string[] | undefined)?.includes(name) ?? false,
      ...(description === undefined ? {} : { description }),
      schema: rest,
    };
  });
}

function requestBody(body: Body, components: Components): Json {
  switch (body.kind) {
    case 'json':
      return {
        required: !body.optional,
        content: { 'application/json': { schema: components.plain(body.schema), ...example(body.example) } },
      };
    case 'file': {
      const file = { type: 'string', contentMediaType: 'application/octet-stream', description: body.description };
      const form = { type: 'object', required: ['file'], properties: { file } };
      return { required: true, content: { 'multipart/form-data': { schema: form } } };
    }
    case 'raw':
      return { required: true, content: { 'application/json': { schema: {} } } };
  }
}

const example = (value: unknown) => (value === undefined ? {} : { example: value });

function responses(route: Route<never>, components: Components): Json {
  const errors = { ...impliedErrors(route), ...route.errors };
  return {
    ...Object.fromEntries(
      Object.entries(route.responses).map(([status, spec]) => [status, response(spec, components)]),
    ),
    ...Object.fromEntries(
      Object.entries(errors).map(([status, description]) => [
        status,
        { description, headers: HEADERS, content: jsonOf({ $ref: `#/components/schemas/${errorName(status)}` }) },
      ]),
    ),
  };
}

const HEADERS = { 'X-Request-ID': { $ref: '#/components/headers/X-Request-ID' } };
const errorName = (status: string) => (status === '422' ? 'HTTPValidationError' : 'Error');
const jsonOf = (schema: Json) => ({ 'application/json': { schema } });

function response(spec: ResponseSpec, components: Components): Json {
  const own = Object.entries(spec.headers ?? {}).map(([name, means]) => [
    name,
    { description: means, schema: { type: 'string' } },
  ]);
  const media_type = spec.content_type?.split(';')[0] ?? 'application/json';
  return {
    description: spec.description,
    headers: { ...HEADERS, ...Object.fromEntries(own) },
    ...(spec.schema === undefined && spec.content_type === undefined
      ? {}
      : { content: { [media_type]: { schema: components.plain(spec.schema ?? {}), ...example(spec.example) } } }),
  };
}

/** What a route can answer by what its access and its input are. */
function impliedErrors(route: Route<never>): Record<string, string> {
  const { access, body } = route;
  const errors: Record<string, string> = {};
  if (SECURITY[access] !== undefined && access !== 'shared-secret') errors[401] = 'No valid credentials.';
  if (access === 'signature') errors[401] = 'The signature is not valid.';
  if (access === 'admin') errors[403] = 'The caller is not an administrator.';
  if (access === 'shared-secret') errors[403] = 'The secret does not match, or none is configured.';
  if (route.owns !== null) {
    errors[404] = route.foreign === 404 ? "There is no such job, or it is not the caller's." : 'There is no such job.';
    if (route.foreign === 403) errors[403] = "The job is not the caller's.";
  }
  if (body !== null) errors[413] = 'The body is too large.';
  if (body !== null && body.kind !== 'raw') {
    errors[400] = 'The body cannot be read.';
    errors[415] = 'The body has another content type.';
  }
  // Of every route: parameters that it does not know are refused.
  errors[422] = 'The request is not valid.';
  errors[500] = statusText(500);
  errors[503] = 'A part of the service cannot be reached; the header Retry-After says when to try again.';
  return errors;
}

interface Components {
  schemas: Record<string, Json>;
  /** The schema as plain JSON; what has an `$id` in it becomes a reference to a component of that name. */
  plain(schema: TSchema | Json): Json;
}

function openComponents(error_shape: 'gateway' | 'v2'): Components {
  const schemas: Record<string, Json> = { ...ERROR_SCHEMAS[error_shape] };

  function hoisted(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(hoisted);
    if (typeof value !== 'object' || value === null) return value;
    const { $id, ...rest } = value as Json;
    const plain = Object.fromEntries(Object.entries(rest).map(([key, one]) => [key, hoisted(one)]));
    if (typeof $id !== 'string') return plain;
    if (schemas[$id] !== undefined && !isDeepStrictEqual(schemas[$id], plain))
      throw new Error(`two schemas have the id ${$id}`);
    schemas[$id] = plain;
    return { $ref: `#/components/schemas/${$id}` };
  }

  return { schemas, plain: (schema) => hoisted(JSON.parse(JSON.stringify(schema))) as Json };
}

const text = { type: 'string' };
const PROBLEM: Json = {
  type: 'object',
  required: ['loc', 'msg', 'type'],
  properties: {
    loc: {
      type: 'array',
      items: { type: ['string', 'integer'] },
      description: 'Where: body, query, path or header, then the way to it.',
    },
    msg: text,
    type: { ...text, description: 'A word for programs.' },
  },
  example: { loc: ['body', 'urls', 3], msg: 'must be string', type: 'string_type' },
};
const PROBLEMS: Json = { type: 'array', items: { $ref: '#/components/schemas/ValidationError' } };
const CODE: Json = { ...text, description: 'A word for programs.' };
const REASON: Json = { ...text, description: 'What exactly, where that is more than the code says.' };
const V2_ERROR = { code: { ...CODE, enum: [...new Set(Object.values(V2_CODES).flat())] }, message: text };

const ERROR_SCHEMAS: Readonly<Record<'gateway' | 'v2', Record<string, Json>>> = {
  gateway: {
    Error: {
      type: 'object',
      required: ['detail', 'code'],
      properties: { detail: text, code: CODE, details: { description: 'More, where there is more to say.' } },
    },
    ValidationError: PROBLEM,
    HTTPValidationError: { type: 'object', required: ['detail'], properties: { detail: PROBLEMS } },
  },
  v2: {
    Error: {
      type: 'object',
      required: ['error'],
      properties: {
        error: {
          type: 'object',
          required: ['code', 'message'],
          properties: {
            ...V2_ERROR,
            details: { type: 'object', properties: { reason: REASON }, additionalProperties: true },
          },
        },
      },
    },
    ValidationError: PROBLEM,
    HTTPValidationError: {
      type: 'object',
      required: ['error', 'detail'],
      properties: {
        error: {
          type: 'object',
          required: ['code', 'message', 'details'],
          properties: {
            ...V2_ERROR,
            details: { type: 'object', required: ['problems'], properties: { reason: REASON, problems: PROBLEMS } },
          },
        },
        detail: PROBLEMS,
      },
    },
  },
};
