// Writes the types of the gateway's operations for the console, from the OpenAPI document: `web/api/gateway.d.ts`. They are not kept in
// git, because they follow from the routes. openapi-typescript would need a TypeScript with a compiler API, which version 7 has not.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type OpenApi, openDocuments } from '../test/support/documents.ts';

const TARGET = join(import.meta.dirname, '..', 'web', 'api', 'gateway.d.ts');

interface Schema {
  $ref?: string;
  type?: string;
  enum?: unknown[];
  const?: unknown;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  additionalProperties?: Schema | boolean;
  patternProperties?: Record<string, Schema>;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  description?: string;
  default?: unknown;
}
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

function typeOf(schema: Schema): string {
  const { $ref, type, properties, required, items, additionalProperties, patternProperties } = schema;
  if ($ref) return $ref.split('/').at(-1)!;
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  const union = schema.anyOf ?? schema.oneOf;
  if (union) return `(${union.map(typeOf).join(' | ')})`;
  if (schema.allOf) return `(${schema.allOf.map(typeOf).join(' & ')})`;
  if (type === 'array') return items ? `readonly (${typeOf(items)})[]` : 'readonly unknown[]';
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'string' || type === 'boolean' || type === 'null') return type;
  const values = patternProperties
    ? Object.values(patternProperties)[0]
    : typeof additionalProperties === 'object' && additionalProperties;
  if (values) return `Readonly<Record<string, ${typeOf(values)}>>`;
  if (properties) return objectOf(properties, required ?? []);
  return 'unknown';
}

function objectOf(properties: Record<string, Schema>, required: readonly string[]): string {
  const fields = Object.entries(properties).map(([name, schema]) => {
    const comment = schema.description
      ? `/** ${schema.description.replaceAll('*/', '* /').replaceAll('\n', ' ')} */ `
      : '';
    return `${comment}${JSON.stringify(name)}${required.includes(name) ? '' : '?'}: ${typeOf(schema)}`;
  });
  return fields.length === 0 ? '{}' : `{ ${fields.join('; ')} }`;
}
