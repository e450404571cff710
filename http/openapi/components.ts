// What the operations of a document share: schemas, error answers, headers and parameters, each written once and referred to.
import { isDeepStrictEqual } from 'node:util';
import type { TSchema } from '../../events/schema.ts';

export type Json = { [key: string]: unknown };

export type Section = 'schemas' | 'responses' | 'headers' | 'parameters';

export interface Components {
  /** The schema as plain JSON; what has an `$id` in it becomes a reference to a component of that name. */
  plain(schema: TSchema | Json): Json;
  /** A reference to what is kept under this name. Throws when something else is. */
  share(section: Section, name: string, value: Json): Json;
  /** All that was shared. */
  all(): Record<Section, Record<string, Json>>;
}

export function openComponents(schemas: Record<string, Json>): Components {
  const kept: Record<Section, Record<string, Json>> = {
    schemas: { ...schemas },
    responses: {},
    headers: {},
    parameters: {},
  };

  function share(section: Section, name: string, value: Json): Json {
    const there = kept[section][name];
    if (there !== undefined && !isDeepStrictEqual(there, value))
      throw new Error(`two ${section} have the name ${name}`);
    kept[section][name] = value;
    return { $ref: `#/components/${section}/${name}` };
  }

  function hoisted(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(hoisted);
    if (typeof value !== 'object' || value === null) return value;
    const { $id, ...rest } = value as Json;
    const plain = Object.fromEntries(Object.entries(rest).map(([key, one]) => [key, hoisted(one)]));
    return typeof $id === 'string' ? share('schemas', $id, plain) : plain;
  }

  return { plain: (schema) => hoisted(JSON.parse(JSON.stringify(schema))) as Json, share, all: () => kept };
}
