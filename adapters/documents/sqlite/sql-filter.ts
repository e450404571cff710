// Translates a checked filter to SQL that matches the same documents as in MongoDB.
import type { SQLInputValue } from 'node:sqlite';
import type { Scalar } from '../../../readmodels/documents.ts';
import { formsOf } from '../letter-case.ts';
import type { Segment } from '../pages.ts';
import type { Comparison, Expression } from '../query.ts';
import { column, FALSE, TRUE } from './names.ts';

/** A condition with its parameters. A condition that fails is false or null, so only `ifnull` may negate it. */
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

export function filterSql(where: Expression): Sql {
  if ('all' in where) return all(where.all.map(filterSql));
  if ('any' in where) return any(where.any.map(filterSql));
  return comparisonSql(column(where.path), where.test);
}

const bound = (value: Exclude<Scalar, null>): SQLInputValue =>
  typeof value === 'boolean' ? (value ? TRUE : FALSE) : value;

/** A bound matches values of its own type only; SQLite's order of types is null, numbers, texts, blobs (our booleans). */
function comparisonSql(expression: string, test: Comparison): Sql {
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
      return { text: `matches(${expression}, ?)`, params: [test.pattern] };
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

/** The conditions of a segment of a keyset page: two when nulls need a seek of their own, none when no document can follow. */
export function segmentSql(segment: Segment): Sql[] {
  const equal = segment.equal.map(({ path, value }) => comparisonSql(column(path), { op: 'eq', value }));
  return beyondSql(segment.beyond).map((beyond) => all([...equal, beyond]));
}

function beyondSql({ path, direction, value }: Segment['beyond']): Sql[] {
  const name = column(path);
  if (value === null) return direction === 1 ? [{ text: `${name} IS NOT NULL`, params: [] }] : [];
  if (direction === 1) return [{ text: `${name} > ?`, params: [bound(value)] }];
  const smaller = { text: `${name} < ?`, params: [bound(value)] };
  return path === '_id' ? [smaller] : [smaller, { text: `${name} IS NULL`, params: [] }];
}
