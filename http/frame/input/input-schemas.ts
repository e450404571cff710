// Derives the schemas that validate input: they refuse unknown fields, and clients may omit fields with a default.
import type { TSchema } from '../../../events/schema.ts';

interface Node {
  properties?: Record<string, Node>;
  required?: string[];
  additionalProperties?: unknown;
  items?: Node;
  anyOf?: Node[];
  default?: unknown;
}

/**
 * Returns a copy of the schema in which objects refuse unknown fields (unless `additionalProperties` says otherwise) and do not require
 * fields with a default. So a misspelt filter of a bulk delete is an error, and does not delete everything.
 */
export function closedInput<Schema extends TSchema>(schema: Schema): Schema {
  return closed(schema as Node) as Schema;
}

function closed(node: Node): Node {
  const { items, anyOf, properties } = node;
  return {
    ...node,
    ...(items === undefined ? {} : { items: closed(items) }),
    ...(anyOf === undefined ? {} : { anyOf: anyOf.map(closed) }),
    ...(properties === undefined ? {} : closedObject(node, properties)),
  };
}

function closedObject(node: Node, properties: Record<string, Node>): Node {
  const required = (node.required ?? []).filter((name) => properties[name]?.default === undefined);
  return {
    properties: Object.fromEntries(Object.entries(properties).map(([name, property]) => [name, closed(property)])),
    required,
    additionalProperties: node.additionalProperties ?? false,
  };
}
