// Writes the types of the gateway's operations for the console, from the OpenAPI document: `web/api/gateway.d.ts`. They are not kept in
// git, because they follow from the routes. openapi-typescript would need a TypeScript with a compiler API, which version 7 has not.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type OpenApi, openDocuments } from '../test/support/documents.ts';
import { objectOf, type Schema, typeOf } from './schema-types.ts';

const TARGET = join(import.meta.dirname, '..', 'web', 'api', 'gateway.d.ts');

interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  schema: Schema;
}

const { gateway } = openDocuments();
writeFileSync(TARGET, written(gateway));

function written({ components, paths }: OpenApi): string {
  const schemas = Object.entries<Schema>(components.schemas).map(
    ([name, schema]) => `export type ${name} = ${typeOf(schema)};`,
  );
  const operations = Object.entries<Record<string, OpenApi>>(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, operation]) => `  '${method.toUpperCase()} ${path}': ${operationOf(operation)};`,
    ),
  );
  const lines = [
    '// Written by `npm run lint` from the OpenAPI document of the gateway.',
    ...schemas,
    '/** The operations by method and path. */',
    'export interface Operations {',
    ...operations,
    '}',
  ];
  return `${lines.join('\n')}\n`;
}

function operationOf({ parameters = [], requestBody, responses }: OpenApi): string {
  const given = (place: Parameter['in']) => {
    const named = (parameters as Parameter[]).filter((parameter) => parameter.in === place);
    return objectOf(
      Object.fromEntries(named.map(({ name, schema }) => [name, schema])),
      named.filter(({ required }) => required).map(({ name }) => name),
    );
  };
  const body: Schema | undefined = requestBody?.content['application/json']?.schema;
  const success = Object.keys(responses).find((status) => status.startsWith('2'));
  const answer: Schema | undefined = success && responses[success].content?.['application/json']?.schema;
  return `{ path: ${given('path')}; query: ${given('query')}; body: ${body ? typeOf(body) : 'undefined'}; answer: ${
    answer ? typeOf(answer) : 'undefined'
  } }`;
}
