// Builds JSON Schemas with TypeBox's types. TypeBox itself would load hundreds of modules in each thread, so only its types are
// imported, and the builders make the same schemas.
import type { TSchema, Type as TypeBox } from 'typebox';

export type { Static, TObject, TProperties, TSchema } from 'typebox';

type Builders =
  | ('String' | 'Integer' | 'Number' | 'Boolean' | 'Null' | 'Unknown' | 'Literal' | 'Enum')
  | ('Array' | 'Object' | 'Record' | 'Union' | 'Optional' | 'Partial' | 'Pick');

type Schema = TSchema & { properties: Record<string, TSchema>; pattern?: string };
type Options = object | undefined;

/** The properties that an object may lack. A symbol, so that documents of the schemas do not show it. */
const OPTIONAL = Symbol('optional');

const of = (type: string) => (options: Options) => ({ type, ...options });

function object(properties: Schema['properties'], options?: Options) {
  const required = Object.keys(properties).filter((name) => !Object.hasOwn(properties[name]!, OPTIONAL));
  return { type: 'object', ...(required.length === 0 ? {} : { required }), properties, ...options };
}

const optional = (schema: TSchema) => ({ ...schema, [OPTIONAL]: true });

export const Type = {
  String: of('string'),
  Integer: of('integer'),
  Number: of('number'),
  Boolean: of('boolean'),
  Null: of('null'),
  Unknown: (options: Options) => ({ ...options }),
  Literal: (value: string | number | boolean, options: Options) => ({ type: typeof value, const: value, ...options }),
  Enum: (values: readonly unknown[], options: Options) => ({ enum: values, ...options }),
  Array: (items: Schema, options: Options) => ({ type: 'array', items, ...options }),
  Object: object,
  Record: (names: Schema, value: Schema, options: Options) => ({
    type: 'object',
    patternProperties: { [names.pattern ?? '^.*$']: value },
    ...options,
  }),
  Union: (schemas: readonly Schema[], options: Options) => ({ anyOf: schemas, ...options }),
  Optional: optional,
  Partial: ({ properties }: Schema, options: Options) =>
    object(Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, optional(schema)])), options),
  Pick: ({ properties }: Schema, names: readonly string[]) =>
    object(Object.fromEntries(Object.entries(properties).filter(([name]) => names.includes(name)))),
} as unknown as Pick<typeof TypeBox, Builders>;

// A schema that also allows null. The events and the API's answers share it.
export const Nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Union([schema, Type.Null()]);

// Says in words what a pattern of a schema wants, because people read the messages about texts that it refuses.
const WORDS = new Map<string, string>();

/**
 * Keeps the words of the message about a text that the pattern refuses, and returns the pattern.
 * @example inWords('^[a-z]+$', 'must be small letters') // '^[a-z]+$'
 */
export function inWords(pattern: string, words: string): string {
  WORDS.set(pattern, words);
  return pattern;
}

/** @example wordsOf('[0-9]') // undefined */
export const wordsOf = (pattern: string): string | undefined => WORDS.get(pattern);
