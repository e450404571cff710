// From a JSON Schema to values that it takes and to values that it refuses, for the part of JSON Schema that requests use.
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import fc, { type Arbitrary } from 'fast-check';

export interface Schema {
  type?: string;
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean;
  items?: Schema;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  format?: string;
  minimum?: number;
  maximum?: number;
}

/** Better values for a field than its schema knows of, by its name; they are good by the schema all the same. */
export type Hints = Readonly<Record<string, Arbitrary<unknown>>>;

const ajv = addFormats.default(new Ajv2020({ strict: false }));
const compiled = new Map<string, (value: unknown) => boolean>();
export function accepts(schema: Schema, value: unknown): boolean {
  const text = JSON.stringify(schema);
  const validate = compiled.get(text) ?? ajv.compile(schema);
  compiled.set(text, validate as (value: unknown) => boolean);
  return validate(value) as boolean;
}

/** Longer lists say nothing new. */
const MAX_ITEMS = 6;
const ODD_TEXTS = [
  '',
  ' ',
  '0',
  'null',
  '__proto__',
  'ünïcödé',
  '日本語',
  '🧨\u200d',
  '\u202etxt',
  "' OR 1=1",
  '../..',
  'a\nb',
];

export function valid(schema: Schema, hints: Hints, name = ''): Arbitrary<unknown> {
  const hint = hints[name];
  if (!hint) return plain(schema, hints);
  // A number that is hinted at has a reason to be no other.
  return schema.type === 'string'
    ? fc.oneof({ weight: 3, arbitrary: hint }, { weight: 1, arbitrary: text(schema) })
    : hint;
}

function plain(schema: Schema, hints: Hints): Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map((one) => plain(one, hints)));
  switch (schema.type) {
    case 'boolean':
      return fc.boolean();
    case 'integer':
    case 'number': {
      const { minimum: min = -1000, maximum: max = 1000 } = schema;
      return fc.oneof(fc.constantFrom(min, max), fc.integer({ min, max }));
    }
    case 'string':
      return text(schema);
    case 'array': {
      const { items = {}, minItems: minLength = 0, maxItems = MAX_ITEMS, uniqueItems } = schema;
      const maxLength = Math.max(minLength, Math.min(maxItems, MAX_ITEMS));
      const one = valid(items, hints, 'item');
      return uniqueItems
        ? fc.uniqueArray(one, { minLength, maxLength: Math.min(maxLength, items.enum?.length ?? maxLength) })
        : fc.array(one, { minLength, maxLength });
    }
    case 'object': {
      const { properties = {}, required = [] } = schema;
      const fields = Object.entries(properties).map(([name, one]) => [
        name,
        one.type === 'array' && hints[name]
          ? fc.array(hints[name], { minLength: one.minItems ?? 0, maxLength: MAX_ITEMS })
          : valid(one, hints, name),
      ]);
      return fc
        .record(Object.fromEntries(fields) as Record<string, Arbitrary<unknown>>, { requiredKeys: required })
        .map((value) => ({ ...value }));
    }
    default:
      return fc.jsonValue({ maxDepth: 1 });
  }
}

function text(schema: Schema): Arbitrary<string> {
  const { minLength = 0, maxLength = 200, pattern, format } = schema;
  if (format === 'date-time' || format === 'date') {
    const times = fc.date({ noInvalidDate: true, ...YEARS }).map((date) => date.toISOString());
    return format === 'date' ? times.map((time) => time.slice(0, 10)) : times;
  }
  if (pattern !== undefined) {
    return taken(schema, fc.stringMatching(new RegExp(pattern), { maxLength: Math.min(maxLength, 100) }));
  }
  const long = 'x'.repeat(Math.min(maxLength, 5000));
  const any = fc
    .string({ minLength, maxLength: Math.min(maxLength, 60), unit: 'binary' })
    .map((one) => one.replaceAll('\0', '0'));
  return taken(schema, fc.oneof(fc.constantFrom(...ODD_TEXTS, long), any));
}

const MAX_REFUSED = 10_000;

/** The texts that the schema accepts. Throws when it refuses one text after the other, rather than draw for ever. */
function taken(schema: Schema, texts: Arbitrary<string>): Arbitrary<string> {
  let refused = 0;
  return texts.filter((one) => {
    refused = accepts(schema, one) ? 0 : refused + 1;
    if (refused > MAX_REFUSED) throw new Error(`no text is drawn that this schema accepts: ${JSON.stringify(schema)}`);
    return refused === 0;
  });
}

/** RFC 3339 has years of four digits. */
const YEARS = { min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59Z') };

const OF_OTHER_TYPES: readonly unknown[] = [null, true, 7, 1.5, 'text', [], {}, [[]], { a: 1 }];

/** Values that the schema refuses: each is one way to be wrong. None where there is no way. */
export function invalid(schema: Schema, hints: Hints): Arbitrary<unknown> | null {
  const { minimum, maximum, minLength, maxLength, properties = {}, required = [], items, minItems, maxItems } = schema;
  const single: unknown[] = [
    ...OF_OTHER_TYPES,
    ...(minimum === undefined ? [] : [minimum - 1, -1e15]),
    ...(maximum === undefined ? [] : [maximum + 1, 1e15]),
    ...(minLength ? [''] : []),
    ...(maxLength === undefined || maxLength > 100_000 ? [] : ['x'.repeat(maxLength + 1)]),
    ...(schema.pattern || schema.enum ? ['no such value', '\u{10ffff}', '-', ' '] : []),
    ...(minItems ? [[] as unknown] : []),
    ...(maxItems !== undefined && maxItems <= 2000 ? [Array(maxItems + 1).fill('x') as unknown] : []),
  ].filter((value) => !accepts(schema, value));
  const ways: Arbitrary<unknown>[] = single.length > 0 ? [fc.constantFrom(...single)] : [];
  const good = plain(schema, hints);
  if (schema.type === 'object') {
    const object = good as Arbitrary<Record<string, unknown>>;
    for (const name of required) ways.push(object.map(({ [name]: _, ...rest }) => rest));
    if (schema.additionalProperties === false) {
      const names = fc.constantFrom('unknown', 'URLS', 'Name', '', 'constructor');
      ways.push(fc.tuple(object, names).map(([value, name]) => ({ ...value, [name]: 1 })));
    }
    for (const [name, one] of Object.entries(properties)) {
      const wrong = invalid(one, hints);
      if (wrong) ways.push(fc.tuple(object, wrong).map(([value, bad]) => ({ ...value, [name]: bad })));
    }
  }
  if (schema.type === 'array' && items) {
    const wrong = invalid(items, hints);
    if (wrong) ways.push(fc.tuple(good as Arbitrary<unknown[]>, wrong).map(([list, bad]): unknown[] => [...list, bad]));
  }
  return ways.length === 0 ? null : fc.oneof(...ways).filter((value) => !accepts(schema, value));
}
