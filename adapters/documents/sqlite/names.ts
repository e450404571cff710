// Quotes names and paths of documents for SQL, so that no character of them can end the quoted text.
import type { Field } from '../spec.ts';

/** Columns hold booleans as blobs: SQLite orders blobs after texts, as MongoDB does, and no blob equals a number. */
export const TRUE = Buffer.from([1]);
export const FALSE = Buffer.from([0]);

export const identifier = (name: string): string => `"${name.replaceAll('"', '""')}"`;

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/**
 * The column of a field, as an identifier. SQLite ignores case in names and JSON does not, so `columnName` writes capitals
 * and special characters as code points.
 */
export function column(path: string): string {
  if (path === '_id') return '_id';
  return identifier(columnName(path));
}

export function columnName(path: string): string {
  return `f:${path.replaceAll(/[^a-z0-9_.]/gu, (char) => `~${char.codePointAt(0)!.toString(16)}~`)}`;
}

/** The field's path for SQLite's JSON functions, as a literal. */
function jsonPath(field: Field): string {
  return literal(`$${field.segments.map((name) => `.${JSON.stringify(name)}`).join('')}`);
}

/** The expression of a generated column. It is null when the field is null or missing. */
export function columnExpression(field: Field): string {
  const path = jsonPath(field);
  const value =
    `CASE json_type(doc, ${path}) WHEN 'true' THEN x'01' WHEN 'false' THEN x'00' ` +
    `ELSE json_extract(doc, ${path}) END`;
  // `json_extract` makes numbers of booleans, so only what is neither 0 nor 1 needs no second look.
  return field.boolean ? value : `ifnull(nullif(nullif(json_extract(doc, ${path}), 0), 1), ${value})`;
}
