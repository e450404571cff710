// Writes the models of the clients from the OpenAPI document of the public API: `node .ci/client-models.ts`. A test holds them to it.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openDocuments } from '../test/support/documents.ts';
import { type Schema, typeOf } from './schema-types.ts';

const schemas = Object.entries<Schema>(openDocuments().v2.components.schemas).sort(([a], [b]) => (a < b ? -1 : 1));

/** The text of each file, by its path in the project. */
export const MODELS: Readonly<Record<string, string>> = {
  'clients/typescript/models.ts': [
    '// Written by `node .ci/client-models.ts` from the OpenAPI document of the public API.',
    ...schemas.map(([name, schema]) => `export type ${name} = ${typeOf(schema)};`),
    '',
  ].join('\n'),
  'clients/python/url_checker_client/models.py': [
    '"""Written by `node .ci/client-models.ts` from the OpenAPI document of the public API."""',
    '',
    'from __future__ import annotations',
    '',
    'from typing import Any, Literal, NotRequired, TypedDict, Union',
    '',
    ...schemas.map(([name, schema]) => pythonOf(name, schema)),
    '',
  ].join('\n'),
};

function pythonOf(name: string, schema: Schema): string {
  const { properties, required = [] } = schema;
  if (!properties || Object.keys(properties).some((field) => !/^[a-z_]\w*$/i.test(field))) {
    return `${name} = ${hint(schema)}\n`;
  }
  const fields = Object.entries(properties).map(([field, one]) => {
    const type = hint(one);
    return `    ${field}: ${required.includes(field) ? type : `NotRequired[${type}]`}`;
  });
  return [`class ${name}(TypedDict):`, ...(fields.length === 0 ? ['    pass'] : fields), ''].join('\n');
}

/** Names of other models are in quotes: they may come later. */
function hint({ $ref, type, items, const: only, enum: values, ...schema }: Schema): string {
  if ($ref) return `"${$ref.split('/').at(-1)}"`;
  if (only !== undefined) return `Literal[${literal(only)}]`;
  if (values) return `Literal[${values.map(literal).join(', ')}]`;
  const union = schema.anyOf ?? schema.oneOf;
  if (union) return `Union[${union.map(hint).join(', ')}]`;
  if (type === 'array') return `list[${items ? hint(items) : 'Any'}]`;
  const simple: Readonly<Record<string, string>> = {
    ...{ string: 'str', integer: 'int', number: 'float', boolean: 'bool', null: 'None' },
  };
  if (type !== undefined && simple[type]) return simple[type];
  return type === 'object' ? 'dict[str, Any]' : 'Any';
}

function literal(value: unknown): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return JSON.stringify(value);
}

if (import.meta.main) {
  for (const [path, text] of Object.entries(MODELS)) {
    const file = join(import.meta.dirname, '..', path);
    if (existsSync(file) && readFileSync(file, 'utf8') === text) continue;
    writeFileSync(file, text);
    console.log(`clients: ${path} was not current and is written anew: look at it and commit it`);
    process.exitCode = 1;
  }
}
