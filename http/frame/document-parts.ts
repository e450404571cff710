// The shared components of a document: schemas, error answers, headers and parameters. Operations refer to each by `$ref`.
import { isDeepStrictEqual } from 'node:util';
import type { TSchema } from '../../events/schema.ts';

export type Json = { [key: string]: unknown };

export type Section = 'schemas' | 'responses' | 'headers' | 'parameters';

export interface Components {
  /** Returns the schema as plain JSON. Each schema with an `$id` in it becomes a component of that name, and a reference to it. */
  plain(schema: TSchema | Json): Json;
  /** Stores the component and returns a reference to it. Throws when the name has another value. */
  share(section: Section, name: string, value: Json): Json;
  /** Returns all components by section. */
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
    if (typeof $id !== 'string') return plain;
    if (plain.enum === undefined) return share('schemas', $id, plain);
    // Several fields share the values of one list, and each says what they mean there.
    const { description, default: usual, ...values } = plain;
    const reference = share('schemas', $id, { type: 'string', ...values });
    return {
      ...reference,
      ...(description === undefined ? {} : { description }),
      ...(usual === undefined ? {} : { default: usual }),
    };
  }

  return { plain: (schema) => hoisted(JSON.parse(JSON.stringify(schema))) as Json, share, all: () => kept };
}
