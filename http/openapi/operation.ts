// Describes one route as an operation: its parameters, its body and all its answers.

import type { Components, Json } from '../frame/document-parts.ts';
import type { Body } from '../frame/request-bodies.ts';
import { isOfCaller, type ResponseSpec, type Route } from '../frame/route.ts';
import { errorsOf } from './errors.ts';
import { commonParameters, headerName, headersOf, isTagged, ownHeaders } from './headers.ts';

/** The name of the route's security scheme; undefined for a route without credentials. */
export function securityOf({ access, api }: Route<never>): string | undefined {
  if (access === 'shared-secret') return 'shared_secret';
  if (!isOfCaller(access)) return undefined;
  return api.credentials === 'api-key' ? 'api_key' : 'bearer';
}

export function operationOf(route: Route<never>, components: Components): Json {
  const scheme = securityOf(route);
  return {
    operationId: route.id ?? idOf(route),
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    tags: [route.tag],
    security: scheme === undefined ? [] : [{ [scheme]: [] }],
    parameters: [
      ...parameters('path', route.params, route, components),
      ...parameters('query', route.query, route, components),
      ...parameters('header', route.headers, route, components),
      ...commonParameters(route, components),
    ],
    // A page that is opened with parameters of others, or whose scripts read them: the document has no better word for it.
    ...('additionalProperties' in route.query && route.query.additionalProperties === true
      ? { 'x-any-query': true }
      : {}),
    ...(route.body === null ? {} : { requestBody: requestBody(route.body, components) }),
    responses: {
      ...errorsOf(route, components),
      ...Object.fromEntries(
        Object.entries(answers(route)).map(([status, spec]) => [
          status,
          response(route, Number(status), spec, components),
        ]),
      ),
    },
  };
}

/** The id of a route without one: for `GET /jobs/{job_id}/results` it is `getJobsJobIdResults`. */
const idOf = ({ method, path }: Route<never>) => {
  const [first, ...others] = `${method} ${path}`.toLowerCase().match(/[a-z0-9]+/g)!;
  return [first, ...others.map((word) => word[0]!.toUpperCase() + word.slice(1))].join('');
};

function parameters(
  place: 'path' | 'query' | 'header',
  schema: Route['query'],
  route: Route<never>,
  components: Components,
): Json[] {
  return Object.entries(schema.properties).map(([name, property]) => {
    const { description, examples, ...rest } = components.plain(property) as Json & { examples?: unknown[] };
    const known = place === 'path' ? pathParameter(route.path, name) : undefined;
    const said = description ?? known?.description;
    const value = examples?.[0] ?? known?.example;
    return {
      name: place === 'header' ? headerName(name) : name,
      in: place,
      required: (schema.required as string[] | undefined)?.includes(name) ?? false,
      ...(said === undefined ? {} : { description: said }),
      schema: rest,
      ...example(value),
    };
  });
}

const JOB = { description: 'The id of the job.', example: '2f1c9f2e-5d0c-4b7b-9a43-0c5c5f4b7d11' };
/** Descriptions of path parameters, by the segment before the parameter. */
const PATH_PARAMETERS: Readonly<Record<string, { description: string; example: string }>> = {
  proxies: { description: 'The id of a proxy, as the list shows it.', example: '7d9f3f0a-58a5-5a53-9d5e-0f6f1f3f7a10' },
  jobs: JOB,
  downloads: JOB,
  endpoints: { description: 'The id of the webhook endpoint.', example: '7d5f0a52-6a44-4b0f-9f0e-0d6f4f6f2a11' },
  deliveries: { description: 'The id of the delivery.', example: '0b0d3f9e-2a35-5f43-8f0d-6a0c1e0f7b21' },
  'api-keys': {
    description: 'The id of the API key, not the key itself.',
    example: '3f0c9a1be5d24c7f8a6b0d9e1c2f3a4b',
  },
  logs: { description: 'The `log_id` of the entry.', example: '3f2a8c1e-6b7d-4f15-9a53-0c8f7b1f3e10.17.1' },
  'user-activity': { description: 'The id of the user, as the identity provider has it.', example: 'alice' },
  'growth-notes': { description: 'The id of the note.', example: '5b2e6f4c-93a0-4d1c-b7c4-1d0f4b6a9e55' },
  blocked: { description: 'The domain, in any case or script.', example: 'example.com' },
  share: { description: 'The token of the share.', example: 'q1Zx0mB6tq3o2iN5v9c4hX8yJ7wE-Lk_aGfRsUdPzTA' },
};

const pathParameter = (path: string, name: string) =>
  PATH_PARAMETERS[
    path
      .slice(0, path.indexOf(`/{${name}}`))
      .split('/')
      .at(-1)!
  ];

function requestBody(body: Body, components: Components): Json {
  switch (body.kind) {
    case 'json':
    case 'list':
      return {
        required: body.kind === 'list' || !body.optional,
        content: { 'application/json': { schema: components.plain(body.schema), ...example(body.example) } },
      };
    case 'file': {
      const file = { type: 'string', contentMediaType: 'application/octet-stream', description: body.description };
      const form = { type: 'object', required: ['file'], properties: { file } };
      return { required: true, content: { 'multipart/form-data': { schema: form, ...example(EXAMPLE_FILE) } } };
    }
    case 'raw':
      return { required: true, content: { 'application/json': { schema: {}, ...example(body.example) } } };
  }
}
const EXAMPLE_FILE = { file: 'page,url\nHome,https://example.com/\nAbout,https://example.com/about\n' };

const example = (value: unknown) => (value === undefined ? {} : { example: value });

/** The success answers of a route, and 304 when its answers have an ETag. */
const answers = (route: Route<never>): Readonly<Record<number, ResponseSpec>> =>
  isTagged(route) ? { ...route.responses, 304: NOT_MODIFIED } : route.responses;
const NOT_MODIFIED: ResponseSpec = { description: 'Nothing has changed since the answer that `If-None-Match` names.' };

/** The content of files. */
const BYTES = { schema: { type: 'string', contentMediaType: 'application/octet-stream' }, example: '(bytes)' };

function response(route: Route<never>, status: number, spec: ResponseSpec, components: Components): Json {
  const [first, ...others] = [spec.content_type ?? 'application/json', ...(spec.other_content_types ?? [])].map(
    (type) => type.split(';')[0]!,
  );
  const value = {
    description: spec.description,
    headers: { ...headersOf(route, status, components), ...ownHeaders(spec) },
    ...(spec.schema === undefined && spec.content_type === undefined
      ? {}
      : {
          content: {
            [first!]: { schema: components.plain(spec.schema ?? {}), ...example(spec.example) },
            ...Object.fromEntries(others.map((type) => [type, BYTES])),
          },
        }),
  };
  return spec === NOT_MODIFIED
    ? components.share('responses', route.quiet ? 'NotModifiedOfProbe' : 'NotModified', value)
    : value;
}
