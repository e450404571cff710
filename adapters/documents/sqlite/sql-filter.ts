// Translates a checked filter to SQL that matches the same documents as in MongoDB.
import type { SQLInputValue } from 'node:sqlite';
import type { Scalar } from '../../../readmodels/documents.ts';
import { formsOf } from '../letter-case.ts';
import type { Segment } from '../pages.ts';
import type { Comparison, Expression } from '../query.ts';
import type { Declared, Field } from '../spec.ts';
import { column, FALSE, jsonPath, TRUE } from './names.ts';

/** A condition with its parameters. A condition that fails is false or null, so only `NOT EXISTS` and `ifnull` may negate it. */
export interface Sql {
  text: string;
  params: SQLInputValue[];
}

const all = (parts: readonly Sql[]): Sql => joined(parts, ' AND ', '1');
const any = (parts: readonly Sql[]): Sql => joined(parts, ' OR ', '0');

function joined(parts: readonly Sql[], by: string, none: string): Sql {
  const text = parts.length === 0 ? none : parts.map((part) => `(${part.text})`).join(by);
  return { text, params: parts.flatMap((part) => part.params) };
}

export function filterSql(spec: Declared, where: Expression): Sql {
  if ('all' in where) return all(where.all.map((part) => filterSql(spec, part)));
  if ('any' in where) return any(where.any.map((part) => filterSql(spec, part)));
  const field = spec.fields.get(where.path)!;
  const { test } = where;
  if (test.op === 'exists') {
    return { text: `json_type(doc, ${jsonPath(field)}) IS ${test.there ? 'NOT NULL' : 'NULL'}`, params: [] };
  }
  return where.array ? arraySql(field, test) : scalarSql(column(where.path), test);
}

const bound = (value: Exclude<Scalar, null>): SQLInputValue =>
  typeof value === 'boolean' ? (value ? TRUE : FALSE) : value;

type Test = Exclude<Comparison, { op: 'exists' }>;

function scalarSql(expression: string, test: Test): Sql {
  switch (test.op) {
    case 'eq':
      if (test.value === null) return { text: `${expression} IS NULL`, params: [] };
      return { text: `${expression} = ?`, params: [bound(test.value)] };
    case 'ne':
      if (test.value === null) return { text: `${expression} IS NOT NULL`, params: [] };
      return { text: `${expression} IS NOT ?`, params: [bound(test.value)] };
    case 'in':
      return inSql(expression, test.values);
    case 'nin':
      return notInSql(expression, test.values);
    default:
      return elementSql(expression, test);
  }
}

/**
 * The test of one value: a field's own, or an element of its array. A bound matches values of its own type only; SQLite's
 * order of types is null, numbers, texts, blobs (our booleans).
 */
function elementSql(expression: string, test: Exclude<Test, { op: 'ne' } | { op: 'nin' }>): Sql {
  switch (test.op) {
    case 'eq':
    case 'in':
      return scalarSql(expression, test);
    case 'gt':
    case 'gte': {
      const beyond = typeof test.value === 'number' ? `''` : `x''`;
      const operator = test.op === 'gt' ? '>' : '>=';
      return { text: `${expression} ${operator} ? AND ${expression} < ${beyond}`, params: [test.value] };
    }
    case 'lt':
    case 'lte': {
      const operator = test.op === 'lt' ? '<' : '<=';
      const below = typeof test.value === 'number' ? '' : ` AND ${expression} >= ''`;
      return { text: `${expression} ${operator} ?${below}`, params: [test.value] };
    }
    case 'contains': {
      const [operator, pattern] = containing(test.text);
      return { text: `typeof(${expression}) = 'text' AND ${expression} ${operator}`, params: [pattern] };
    }
    case 'regex':
      return { text: `matches(${expression}, ?, ?)`, params: [test.pattern, test.ignore_case ? 'iu' : 'u'] };
  }
}

/** LIKE ignores the case of ASCII letters alone. GLOB ignores none, but has sets. */
function containing(text: string): [operator: string, pattern: string] {
  const forms = Array.from(text, formsOf);
  if (!forms.some(([letter, other]) => other !== undefined && letter! > '\x7f')) {
    return [`LIKE ? ESCAPE '\\'`, `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`];
  }
  const sets = forms.map((same) => (same.length > 1 || '*?['.includes(same[0]!) ? `[${same.join('')}]` : same[0]));
  return ['GLOB ?', `*${sets.join('')}*`];
}

/** Lists of any length share one statement: texts and numbers are one JSON parameter; booleans and null get their own tests. */
function inSql(expression: string, values: readonly Scalar[]): Sql {
  const parts: Sql[] = [];
  const listed = values.filter((value) => typeof value === 'string' || typeof value === 'number');
  if (listed.length === 1) parts.push({ text: `${expression} = ?`, params: [listed[0]!] });
  if (listed.length > 1) {
    parts.push({ text: `${expression} IN (SELECT value FROM json_each(?))`, params: [JSON.stringify(listed)] });
  }
  for (const value of [false, true]) {
    if (values.includes(value)) parts.push({ text: `${expression} = ?`, params: [bound(value)] });
  }
  if (values.includes(null)) parts.push({ text: `${expression} IS NULL`, params: [] });
  return parts.length === 1 ? parts[0]! : any(parts);
}

function notInSql(expression: string, values: readonly Scalar[]): Sql {
  const { text, params } = inSql(expression, values);
  return { text: `NOT ifnull(${text}, 0)`, params };
}

/** A field that holds an array matches when any element does; under $ne and $nin, when no element is equal. */
function arraySql(field: Field, test: Test): Sql {
  if (test.op === 'ne') return not(arraySql(field, { op: 'eq', value: test.value }));
  if (test.op === 'nin') return not(arraySql(field, { op: 'in', values: test.values }));
  const values = test.op === 'eq' ? [test.value] : test.op === 'in' ? test.values : [];
  const parts: Sql[] = [];
  // Null is tested by its type, because `atom` is null for an object or array inside the array too.
  if (values.includes(null)) {
    parts.push({ text: `json_type(doc, ${jsonPath(field)}) IS NULL`, params: [] });
    parts.push(anyElement(field, { text: `type = 'null'`, params: [] }));
  }
  const others = values.filter((value) => value !== null);
  if (others.length > 0) parts.push(anyElement(field, inSql(ELEMENT, others)));
  if (test.op !== 'eq' && test.op !== 'in') parts.push(anyElement(field, elementSql(ELEMENT, test)));
  return any(parts);
}

const ELEMENT = `CASE type WHEN 'true' THEN x'01' WHEN 'false' THEN x'00' ELSE atom END`;

const anyElement = (field: Field, { text, params }: Sql): Sql => ({
  text: `EXISTS (SELECT 1 FROM json_each(doc, ${jsonPath(field)}) WHERE ${text})`,
  params,
});

const not = ({ text, params }: Sql): Sql => ({ text: `NOT (${text})`, params });

/** The conditions of a segment of a keyset page: two when nulls need a seek of their own, none when no document can follow. */
export function segmentSql(segment: Segment): Sql[] {
  const equal = segment.equal.map(({ path, value }) => scalarSql(column(path), { op: 'eq', value }));
  return beyondSql(segment.beyond).map((beyond) => all([...equal, beyond]));
}

function beyondSql({ path, direction, value }: Segment['beyond']): Sql[] {
  const name = column(path);
  if (value === null) return direction === 1 ? [{ text: `${name} IS NOT NULL`, params: [] }] : [];
  if (direction === 1) return [{ text: `${name} > ?`, params: [bound(value)] }];
  const smaller = { text: `${name} < ?`, params: [bound(value)] };
  return path === '_id' ? [smaller] : [smaller, { text: `${name} IS NULL`, params: [] }];
}
