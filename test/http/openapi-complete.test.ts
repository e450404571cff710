// What it means that a document is complete, over both documents of the service.
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import test from 'ava';
import { ALL_ROUTES } from '../../http/all-routes.ts';
import { openDocuments } from '../support/documents.ts';

// biome-ignore lint/suspicious/noExplicitAny: the documents are looked into by path
type Json = any;

const WORDS = /\w+ \w+/;
/** With these, what may be written there goes without saying. */
const hasValues = (schema: Json) =>
  ['default', 'enum', 'const'].some((key) => key in schema) || schema.type === 'boolean';

for (const [name, root] of Object.entries<Json>(openDocuments())) {
  const resolved = (value: Json): Json =>
    value.$ref === undefined
      ? value
      : value.$ref
          .slice(2)
          .split('/')
          .reduce((at: Json, key: string) => at[key], root);
  const operations = Object.entries<Json>(root.paths).flatMap(([path, item]) =>
    Object.entries<Json>(item).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      ...operation,
      method,
      path,
      parameters: operation.parameters.map(resolved),
      responses: Object.entries<Json>(operation.responses).map(([status, one]) => ({ status, ...resolved(one) })),
    })),
  );
  const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false });
  addFormats.default(ajv);
  ajv.addVocabulary(['example', 'components']);
  ajv.addSchema({ $id: 'doc:', components: root.components });
  const mismatch = (schema: Json, value: unknown): string | null => {
    const own = JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"doc:#/components'));
    return ajv.validate(own, value) ? null : ajv.errorsText();
  };
  /** Of a media type: what it gives an example of. */
  const examplesOf = ({ example, examples }: Json): Json[] =>
    examples ? Object.values<Json>(examples).map(({ value }) => value) : example === undefined ? [] : [example];

  test(`${name}: the document has a title, a server, a licence and the conventions`, (t) => {
    t.is(root.openapi, '3.1.0');
    t.is(root.info.version, '1.0.0');
    t.is(root.info.license.identifier, 'MIT');
    for (const heading of ['Errors', 'Requests and answers'])
      t.regex(root.info.description, new RegExp(`## ${heading}`));
    t.is(root.servers.length, 1);
  });

  test(`${name}: every operation has a unique id, a summary and a described tag`, (t) => {
    const ids = operations.map(({ operationId }) => operationId);
    t.deepEqual(ids, [...new Set(ids)]);
    const tags = Object.fromEntries(root.tags.map((tag: Json) => [tag.name, tag.description]));
    for (const operation of operations) {
      t.regex(operation.operationId, /^[a-z]+[A-Z][A-Za-z]+$/);
      t.regex(operation.summary, WORDS, operation.name);
      t.is(operation.tags.length, 1, operation.name);
      t.regex(operation.path.replaceAll(/\{\w+\}/g, 'x'), /^[/a-z0-9.-]+$/, 'kebab case');
      t.regex(tags[operation.tags[0]] ?? '', WORDS, `the tag of ${operation.name}`);
    }
    t.deepEqual(Object.keys(tags).sort(), [...new Set(operations.flatMap((one) => one.tags))].sort());
    // openapi-generator makes a module of them that Python does not load.
    t.is(root.webhooks, undefined);
  });

  test(`${name}: every parameter has a description, and an example unless its values are obvious`, (t) => {
    for (const operation of operations) {
      for (const parameter of operation.parameters) {
        const what = `${operation.name}: ${parameter.in} ${parameter.name}`;
        t.regex(parameter.description ?? '', WORDS, what);
        // The documents' page fills in examples, and each submission wants a key of its own.
        if (parameter.name === 'Idempotency-Key') t.is(parameter.example, undefined, what);
        else if (!hasValues(resolved(parameter.schema))) t.not(parameter.example, undefined, `${what} has no example`);
        if (parameter.example !== undefined) t.is(mismatch(parameter.schema, parameter.example), null, what);
      }
    }
  });

  test(`${name}: every body has an example that fits its schema`, (t) => {
    for (const { name, requestBody } of operations) {
      for (const media of Object.values<Json>(requestBody?.content ?? {})) {
        t.true(examplesOf(media).length > 0, name);
        for (const value of examplesOf(media)) t.is(mismatch(media.schema, value), null, name);
      }
    }
  });

  test(`${name}: every answer has a description and its id, and every body a schema and an example`, (t) => {
    for (const { name, responses } of operations) {
      for (const { status, description, headers, content } of responses) {
        const what = `${name}: ${status}`;
        t.regex(description, WORDS, what);
        t.truthy(headers['X-Request-ID'], what);
        for (const header of Object.values<Json>(headers)) t.regex(resolved(header).description, WORDS, what);
        t.is(content === undefined, ['204', '304'].includes(status), what);
        for (const media of Object.values<Json>(content ?? {})) {
          t.true(Object.keys(media.schema).length > 0, what);
          t.true(examplesOf(media).length > 0, `${what} has no example`);
          for (const value of examplesOf(media)) t.is(mismatch(media.schema, value), null, what);
        }
      }
    }
  });

  test(`${name}: every operation lists its errors with their headers`, (t) => {
    for (const { name, method, security, responses, requestBody } of operations) {
      const by_status = Object.fromEntries(responses.map((response: Json) => [response.status, response]));
      const wanted = [
        '422',
        '431',
        '500',
        '503',
        ...(security.length > 0 ? ['401'] : []),
        ...(requestBody ? ['413'] : []),
      ];
      // Without credentials a shared secret is 403.
      const missing = wanted.filter((status) => !(status in by_status) && !(status === '401' && '403' in by_status));
      t.deepEqual(missing, [], name);
      t.truthy(by_status[503].headers['Retry-After'], name);
      if (by_status[429]) t.truthy(by_status[429].headers['Retry-After'], name);
      if (by_status[401]) t.truthy(by_status[401].headers['WWW-Authenticate'], name);
      if (by_status[304]) t.truthy(by_status[200].headers.ETag && method === 'get', name);
    }
  });
}

test('every route names its operation', (t) => {
  // Without `id` in its route, an operation is called by its method and path.
  t.deepEqual(
    ALL_ROUTES.filter(({ id }) => id === null).map(({ method, path }) => `${method} ${path}`),
    [],
  );
});

const { gateway, v2 } = openDocuments() as Record<string, Json>;

test('the public API: every answer but a 503 has the rate limits, and every error a code of the list', (t) => {
  const limits = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'];
  for (const [path, item] of Object.entries<Json>(v2.paths)) {
    for (const operation of Object.values<Json>(item)) {
      t.truthy(operation.responses[429], path);
      for (const [status, one] of Object.entries<Json>(operation.responses)) {
        const name = one.$ref?.split('/').at(-1);
        const { headers } = name === undefined ? one : v2.components.responses[name];
        const has = limits.filter((limit) => headers[limit] !== undefined);
        t.deepEqual(has, ['431', '503'].includes(status) ? [] : limits, `${path} ${status}`);
      }
    }
  }
  t.true(v2.components.schemas.ErrorCode.enum.length > 10);
});

test('the public API: no request holds a union, for which each generator would write a type of its own', (t) => {
  const unionsOf = (schema: Json, at: string): string[] => {
    if (typeof schema !== 'object' || schema === null) return [];
    if (schema.$ref !== undefined) return unionsOf(v2.components.schemas[schema.$ref.split('/').at(-1)], at);
    const kinds = (schema.anyOf ?? schema.oneOf ?? []).filter(({ type }: Json) => type !== 'null');
    const below = Object.entries<Json>(schema).flatMap(([key, one]) => unionsOf(one, `${at}.${key}`));
    return kinds.length > 1 ? [at, ...below] : below;
  };
  for (const [path, item] of Object.entries<Json>(v2.paths)) {
    for (const { requestBody } of Object.values<Json>(item)) {
      t.deepEqual(unionsOf(requestBody?.content['application/json']?.schema, path), []);
    }
  }
});

test('the documents describe idempotency keys', (t) => {
  for (const { post } of [v2.paths['/api/v2/jobs'], v2.paths['/api/v2/jobs/wait'], gateway.paths['/jobs']]) {
    t.truthy(post.parameters.find(({ name }: Json) => name === 'Idempotency-Key'));
    t.truthy(post.responses[201].headers['Idempotency-Replayed']);
    t.truthy(post.responses[409].content['application/json'].examples.idempotency_key_mismatch);
    t.truthy(post.responses[409].headers['Retry-After']);
  }
});

test('the public API: the document describes webhooks', (t) => {
  const types = ['job.completed', 'job.paused', 'job.failed', 'job.cancelled', 'endpoint.test'];
  const { callbacks } = v2.paths['/api/v2/webhooks/endpoints'].post;
  t.deepEqual(Object.keys(callbacks), types);
  const sent = (type: string) => callbacks[type]['{$request.body#/url}'].post;
  for (const type of types) t.is(sent(type).requestBody.content['application/json'].example.type, type);
  const post = sent('job.completed');
  t.deepEqual(
    post.parameters.map(({ name }: Json) => name),
    ['Service-Signature', 'Service-Event-Id', 'Service-Event-Type', 'Service-Delivery-Id'],
  );
  t.deepEqual(post.requestBody.content['application/json'].schema, {
    $ref: '#/components/schemas/JobCompletedWebhook',
  });
});

test('operations share their common answers', (t) => {
  for (const name of [
    'Job',
    'JobResults',
    'UrlResult',
    'WebhookEndpoint',
    'WebhookDelivery',
    'WebhookEvent',
    'ApiError',
  ])
    t.truthy(v2.components.schemas[name], name);
  for (const name of ['Job', 'UrlResult', 'CreditTransaction', 'ApiKey', 'Share', 'BlockedDomain', 'ApiError'])
    t.truthy(openDocuments().gateway.components.schemas[name], name);
});
