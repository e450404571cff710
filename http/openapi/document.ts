// Builds the OpenAPI 3.1 document of an API from its routes, whose schemas also validate requests. Decision 19 says why.
import type { Description } from '../frame/api.ts';
import { type Components, type Json, openComponents } from '../frame/document-parts.ts';
import type { Route } from '../frame/route.ts';
import { operationOf, securityOf } from './operation.ts';

/**
 * `base_path` is the path of `PUBLIC_URL`, such as `/checker`. Throws when two routes have the same operation id, or two different
 * schemas the same name.
 * @example openApi(ALL_ROUTES.filter(({ api }) => api === PUBLIC), PUBLIC.description)
 */
export function openApi(routes: readonly Route<never>[], description: Description, base_path = ''): Json {
  const { tags = {}, callbacks, error_schemas, ...info } = description;
  const components = openComponents(error_schemas);
  const paths: Record<string, Json> = {};
  const ids = new Set<string>();
  for (const route of routes) {
    const operation = operationOf(route, components);
    const id = operation.operationId as string;
    if (ids.has(id)) throw new Error(`two routes have the operation id ${id}`);
    ids.add(id);
    if (callbacks?.of === id) operation.callbacks = callbacksOf(callbacks, components);
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation };
  }
  const used = new Set(routes.map(securityOf));
  const { schemas, ...shared } = components.all();
  return {
    openapi: '3.1.0',
    info,
    servers: [{ url: base_path || '/', description: 'The host that served this document.' }],
    tags: tagsOf(routes, tags),
    paths,
    components: {
      schemas,
      ...Object.fromEntries(Object.entries(shared).filter(([, section]) => Object.keys(section).length > 0)),
      securitySchemes: Object.fromEntries(Object.entries(SCHEMES).filter(([name]) => used.has(name))),
    },
  };
}

/** The requests that the service sends to the URL of a request, by event type. */
function callbacksOf({ url, requests }: NonNullable<Description['callbacks']>, components: Components): Json {
  const sent = Object.entries(requests).map(([name, { operation, body }]) => {
    const content = { 'application/json': { schema: components.plain(body.schema), example: body.example } };
    return [name, { [url]: { post: { ...operation, requestBody: { required: true, content } } } }];
  });
  return Object.fromEntries(sent);
}

function tagsOf(routes: readonly Route<never>[], tags: Readonly<Record<string, string>>): Json[] {
  const used = new Set(routes.map(({ tag }) => tag));
  const in_order = [...Object.keys(tags).filter((name) => used.has(name)), ...used];
  return [...new Set(in_order)].map((name) => {
    const description = tags[name];
    return description === undefined ? { name } : { name, description };
  });
}

const SCHEMES: Readonly<Record<string, Json>> = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: "The user's token from the identity provider.",
  },
  api_key: {
    type: 'http',
    scheme: 'bearer',
    description: 'An API key: `uc_live_` and 43 characters. Create one with `POST /users/me/api-keys` of the gateway.',
  },
  shared_secret: { type: 'apiKey', in: 'header', name: 'X-Agency-Secret', description: 'The configured secret.' },
};
