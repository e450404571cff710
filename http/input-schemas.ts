// The schemas that input is held to: closed, and with what has a default left out by clients at will.
import type { TSchema } from '../events/schema.ts';

interface Node {
  properties?: Record<string, Node>;
  required?: string[];
  additionalProperties?: unknown;
  items?: Node;
  anyOf?: Node[];
  default?: unknown;
}

/**
 * The same schema, in which objects refuse fields that they do not name (unless they say otherwise) and do not require
 * those that have a default. A misspelt filter of a bulk delete is then an error, not a delete of everything.
 */
export function closedInput<Schema extends TSchema>(schema: Schema): Schema {
  return closed(schema as Node) as Schema;
}

function closed(node: Node): Node {
  const { items, anyOf, properties } = node;
  return {
    // Symbols and hidden marks of the schema library are of no use to validators and documents.
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
