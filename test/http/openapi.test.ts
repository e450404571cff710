import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import test, { type ExecutionContext } from 'ava';
import { Type } from 'typebox';
import { GATEWAY } from '../../http/apis/gateway.ts';
import { CODE_MEANINGS, PUBLIC, PUBLIC_CODES } from '../../http/apis/public.ts';
import { fileBody, jsonBody, rawBody } from '../../http/frame/request-bodies.ts';
import { type Route, routeOf } from '../../http/frame/route.ts';
import { openApi } from '../../http/openapi/document.ts';
import { startSample } from './sample-app.ts';

const route = routeOf<unknown>(GATEWAY, 'jobs');
const shareRoute = routeOf<unknown>(GATEWAY, 'shares');
const publicRoute = routeOf<unknown>(PUBLIC, 'jobs');
const Job = Type.Object({ job_id: Type.String(), status: Type.Enum(['processing', 'paused']) }, { $id: 'Job' });
const handler = () => ({});

const ROUTES: Route<unknown>[] = [
  route({
    method: 'GET',
    path: '/jobs',
    access: 'user',
    summary: 'List jobs',
    query: Type.Object({
      email: Type.String({ description: 'Whose.' }),
      limit: Type.Integer({ default: 50, minimum: 1 }),
      non_2xx: Type.Optional(Type.Boolean()),
    }),
    responses: {
      200: { description: 'A page.', schema: Type.Object({ items: Type.Array(Job) }), example: { items: [] } },
    },
    errors: { 403: 'Not your address.' },
    handler,
  }),
  route({
    method: 'POST',
    path: '/jobs',
    access: 'user',
    summary: 'Upload',
    body: fileBody('A CSV.'),
    responses: { 201: { description: 'The job.', schema: Job, headers: { Location: 'Where it is.' } } },
    handler,
  }),
  route({
    method: 'DELETE',
    path: '/jobs/{job_id}',
    access: 'owner-or-admin',
    foreign: 403,
    summary: 'Delete',
    responses: { 204: { description: 'Gone.' } },
    errors: { 409: 'It is running.' },
    handler,
  }),
  route({
    method: 'GET',
    path: '/jobs/{job_id}/export',
    access: 'owner',
    summary: 'Export',
    responses: { 200: { description: 'A file.', content_type: 'text/csv; charset=utf-8', schema: Type.String() } },
    handler,
  }),
  shareRoute({
    method: 'POST',
    path: '/jobs/{job_id}/share',
    access: 'owner',
    summary: 'Share',
    headers: Type.Object({ 'idempotency-key': Type.Optional(Type.String({ format: 'uuid' })) }),
    body: jsonBody(Type.Object({ hours: Type.Integer({ default: 24 }), name: Type.String() }), {
      optional: true,
      example: { name: 'a' },
    }),
    responses: { 201: { description: 'The token.', schema: Type.Object({ token: Type.String() }) } },
    handler,
  }),
  route({
    method: 'POST',
    path: '/admin/x',
    access: 'admin',
    summary: 'X',
    responses: { 200: { description: 'Done.' } },
    handler,
  }),
  route({
    method: 'POST',
    path: '/agency-events',
    access: 'shared-secret',
    summary: 'Y',
    responses: { 202: { description: 'Taken.' } },
    handler,
  }),
  route({
    method: 'POST',
    path: '/webhooks/payment',
    access: 'signature',
    summary: 'Z',
    body: rawBody(),
    responses: { 200: { description: 'Taken.' } },
    handler,
  }),
  publicRoute({
    method: 'POST',
    path: '/jobs',
    access: 'user',
    summary: 'Submit',
    body: jsonBody(Type.Object({ urls: Type.Array(Type.String()) })),
    responses: { 201: { description: 'The job.', schema: Job } },
    handler,
  }),
];

// biome-ignore lint/suspicious/noExplicitAny: the document is looked into by path
type Json = any;
const GATEWAY_ROUTES = ROUTES.slice(0, -1);
const { error_schemas } = GATEWAY.description;
const document: Json = openApi(GATEWAY_ROUTES, { title: 'T', version: '1.0.0', error_schemas });
const operation = (method: string, path: string): Json => document.paths[path][method];
/** What a reference leads to. */
const resolved = (value: Json, root = document): Json =>
  value.$ref === undefined
    ? value
    : value.$ref
        .slice(2)
        .split('/')
        .reduce((at: Json, key: string) => at[key], root);

test('the document has version 3.1.0 and its required fields', (t) => {
  t.is(document.openapi, '3.1.0');
  t.deepEqual(document.info, { title: 'T', version: '1.0.0' });
  t.deepEqual(document.tags, [{ name: 'jobs' }, { name: 'shares' }]);
  assertSound(t, document);
});

test('a parameter has its plain type, its default and whether it is required', (t) => {
  t.deepEqual(operation('get', '/jobs').parameters.slice(0, 3), [
    { name: 'email', in: 'query', required: true, description: 'Whose.', schema: { type: 'string' } },
    { name: 'limit', in: 'query', required: false, schema: { type: 'integer', default: 50, minimum: 1 } },
    { name: 'non_2xx', in: 'query', required: false, schema: { type: 'boolean' } },
  ]);
  const [job_id, key] = operation('post', '/jobs/{job_id}/share').parameters;
  t.like(job_id, { name: 'job_id', in: 'path', required: true });
  t.like(key, { name: 'Idempotency-Key', in: 'header', required: false, schema: { type: 'string', format: 'uuid' } });
});

test('an operation id derives from its method and path', (t) => {
  t.is(operation('delete', '/jobs/{job_id}').operationId, 'deleteJobsJobId');
});

test('the document describes bodies of each kind', (t) => {
  const form = operation('post', '/jobs').requestBody;
  t.true(form.required);
  t.deepEqual(form.content['multipart/form-data'].schema.required, ['file']);
  const share = operation('post', '/jobs/{job_id}/share').requestBody;
  t.false(share.required);
  const json = share.content['application/json'];
  t.deepEqual(json.schema.required, ['name']);
  t.false(json.schema.additionalProperties);
  t.deepEqual(json.example, { name: 'a' });
  t.truthy(operation('post', '/webhooks/payment').requestBody.content['application/json']);
});

test('reads of JSON have an ETag, and other answers have none', (t) => {
  const [, tag] = operation('get', '/jobs')
    .parameters.slice(3)
    .map((one: Json) => resolved(one));
  t.like(tag, { name: 'If-None-Match', in: 'header', required: false });
  const { 200: ok, 304: same } = Object.fromEntries(
    Object.entries(operation('get', '/jobs').responses).map(([status, one]) => [status, resolved(one)]),
  );
  t.truthy(ok.headers.ETag);
  t.truthy(same.headers.ETag);
  t.is(same.content, undefined);
  for (const [method, path] of [
    ['get', '/jobs/{job_id}/export'],
    ['post', '/jobs'],
    ['delete', '/jobs/{job_id}'],
  ] as const) {
    t.is(operation(method, path).responses[304], undefined, path);
    t.false(JSON.stringify(operation(method, path)).includes('If-None-Match'), path);
  }
});

test('a schema with an id becomes a component', (t) => {
  t.deepEqual(document.components.schemas.Job.required, ['job_id', 'status']);
  t.deepEqual(operation('post', '/jobs').responses[201].content['application/json'].schema, {
    $ref: '#/components/schemas/Job',
  });
});

test('replies have their content type, headers and example', (t) => {
  t.deepEqual(Object.keys(operation('get', '/jobs/{job_id}/export').responses[200].content), ['text/csv']);
  t.is(operation('post', '/jobs').responses[201].headers.Location.description, 'Where it is.');
  t.is(operation('delete', '/jobs/{job_id}').responses[204].content, undefined);
  t.deepEqual(operation('get', '/jobs').responses[200].content['application/json'].example, { items: [] });
});

const ERRORS: [method: string, path: string, statuses: string[]][] = [
  ['get', '/jobs', ['200', '304', '401', '403', '422', '429', '431', '500', '502', '503', '504']],
  ['post', '/jobs', ['201', '400', '401', '408', '413', '415', '422', '429', '431', '500', '502', '503', '504']],
  ['delete', '/jobs/{job_id}', ['204', '401', '403', '404', '409', '422', '429', '431', '500', '502', '503', '504']],
  ['get', '/jobs/{job_id}/export', ['200', '401', '404', '422', '429', '431', '500', '502', '503', '504']],
  ['post', '/admin/x', ['200', '401', '403', '422', '429', '431', '500', '502', '503', '504']],
  ['post', '/agency-events', ['202', '401', '422', '429', '431', '500', '502', '503', '504']],
  ['post', '/webhooks/payment', ['200', '401', '408', '413', '415', '422', '429', '431', '500', '502', '503', '504']],
];
for (const [method, path, statuses] of ERRORS) {
  test(`the errors of ${method} ${path} follow from its access and its input`, (t) => {
    t.deepEqual(Object.keys(operation(method, path).responses).sort(), statuses);
  });
}

test('access is a security scheme', (t) => {
  t.deepEqual(operation('get', '/jobs').security, [{ bearer: [] }]);
  t.deepEqual(operation('post', '/agency-events').security, [{ shared_secret: [] }]);
  t.deepEqual(operation('post', '/webhooks/payment').security, []);
  t.deepEqual(Object.keys(document.components.securitySchemes).sort(), ['bearer', 'shared_secret']);
});

test('the document refuses two schemas with one id, and an operation twice', (t) => {
  const other = route({
    method: 'GET',
    path: '/other',
    access: 'none',
    summary: 'Other',
    responses: { 200: { description: '', schema: Type.Object({}, { $id: 'Job' }) } },
    handler,
  });
  const info = { title: 'T', version: '1', error_schemas };
  t.throws(() => openApi([...GATEWAY_ROUTES, other], info), { message: /two schemas have the name Job/ });
  t.throws(() => openApi([...GATEWAY_ROUTES, ROUTES[0]!], info), { message: /operation id getJobs/ });
});

const DEFECTS: [what: string, spec: Partial<Parameters<typeof route>[0]>, message: RegExp][] = [
  ['params that are not in the path', { params: Type.Object({ id: Type.String() }) as never }, /params are id/],
  ['an owner of nothing', { access: 'owner' }, /no path parameter job_id/],
  ['a change of a job of nobody', { method: 'POST', job: 'x', path: '/a/{x}' }, /nobody to own/],
  ['GET with a body', { body: jsonBody(Type.Object({})) as never }, /GET has no body/],
  ['a signature without the raw body', { access: 'signature' }, /raw body/],
  ['no success', { responses: { 404: { description: '' } } }, /no response that is a success/],
  ['headers in capitals', { headers: Type.Object({ 'X-A': Type.String() }) as never }, /lower case/],
];
for (const [what, spec, message] of DEFECTS) {
  test(`the route function refuses a route with ${what}`, (t) => {
    const right = {
      method: 'GET',
      path: '/a',
      access: 'none',
      summary: '',
      responses: { 200: { description: '' } },
      handler,
    };
    t.throws(() => route({ ...right, ...spec } as never), { message });
  });
}

test('the service serves both documents, which describe their own routes and themselves', async (t) => {
  const sample = await startSample(ROUTES, undefined, { metrics_on_port: false });
  const gateway: Json = await (await sample.request('/openapi.json')).json();
  const v2: Json = await (await sample.request('/api/v2/openapi.json')).json();
  await sample.close();
  t.is(gateway.info.version, '1.0.0');
  t.truthy(gateway.paths['/jobs/{job_id}']);
  t.is(gateway.paths['/metrics'], undefined);
  for (const path of ['/healthz', '/readyz', '/openapi.json']) t.truthy(gateway.paths[path], path);
  t.false(Object.keys(gateway.paths).some((path) => path.startsWith('/api/v2')));
  t.deepEqual(Object.keys(v2.paths).sort(), ['/api/v2/jobs', '/api/v2/openapi.json']);
  t.deepEqual(v2.components.schemas.ApiError.required, ['error']);
  t.deepEqual(v2.paths['/api/v2/jobs'].post.security, [{ api_key: [] }]);
  assertSound(t, gateway);
  assertSound(t, v2);
});

/** References lead somewhere, schemas compile, operations have what the specification of OpenAPI asks of them. */
function assertSound(t: ExecutionContext, root: Json): void {
  const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false });
  addFormats.default(ajv);
  ajv.addVocabulary(['example', 'components']);
  ajv.addSchema({ $id: 'doc:', components: root.components });
  const ids = new Set<string>();
  for (const [path, item] of Object.entries<Json>(root.paths)) {
    for (const one of Object.values<Json>(item)) {
      t.false(ids.has(one.operationId), one.operationId);
      ids.add(one.operationId);
      const parameters = one.parameters.map((parameter: Json) => resolved(parameter, root));
      const in_path = parameters.filter((parameter: Json) => parameter.in === 'path');
      t.deepEqual(
        in_path.map(({ name }: Json) => `{${name}}`),
        path.match(/\{\w+\}/g) ?? [],
      );
      t.true(in_path.every(({ required }: Json) => required === true));
      t.true(Object.keys(one.responses).length > 0);
      for (const response of Object.values<Json>(one.responses))
        t.is(typeof resolved(response, root).description, 'string');
      for (const scheme of one.security.flatMap(Object.keys)) t.truthy(root.components.securitySchemes[scheme], scheme);
    }
  }
  for (const found of [...find(root, 'schema'), ...Object.values<Json>(root.components.schemas)]) {
    t.notThrows(() => ajv.compile(JSON.parse(JSON.stringify(found).replaceAll('"#/components', '"doc:#/components'))));
  }
  for (const reference of find(root, '$ref')) {
    const target = reference
      .slice(2)
      .split('/')
      .reduce((at: Json, key: string) => at?.[key], root);
    t.truthy(target, reference);
  }
}

/** Every value under this key, wherever it is. */
function find(at: Json, key: string): Json[] {
  if (typeof at !== 'object' || at === null) return [];
  return Object.entries(at).flatMap(([name, value]) => (name === key ? [value] : find(value, key)));
}

test('the list of codes has every code of the public API and no other', (t) => {
  t.deepEqual(Object.keys(CODE_MEANINGS).sort(), [...new Set(Object.values(PUBLIC_CODES).flat())].sort());
});
