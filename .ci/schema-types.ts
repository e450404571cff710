// Writes JSON Schemas as types of TypeScript.

export interface Schema {
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

export function typeOf(schema: Schema): string {
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

export function objectOf(properties: Record<string, Schema>, required: readonly string[]): string {
  const fields = Object.entries(properties).map(([name, schema]) => {
    const comment = schema.description
      ? `/** ${schema.description.replaceAll('*/', '* /').replaceAll('\n', ' ')} */ `
      : '';
    return `${comment}${JSON.stringify(name)}${required.includes(name) ? '' : '?'}: ${typeOf(schema)}`;
  });
  return fields.length === 0 ? '{}' : `{ ${fields.join('; ')} }`;
}
