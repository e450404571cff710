// Names and paths of documents as SQL: whatever they hold, they cannot end the text that they are put into.
import type { Field } from '../spec.ts';

/** Booleans are blobs in columns: SQLite orders them after texts, as MongoDB does, and they are equal to no number. */
export const TRUE = Buffer.from([1]);
export const FALSE = Buffer.from([0]);

export const identifier = (name: string): string => `"${name.replaceAll('"', '""')}"`;

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/**
 * The column of a field, as an identifier. SQLite does not tell upper from lower case in names and JSON does: capitals
 * and everything odd are written as numbers.
 */
export function column(path: string): string {
  if (path === '_id') return '_id';
  return identifier(columnName(path));
}

export function columnName(path: string): string {
  return `f:${path.replaceAll(/[^a-z0-9_.]/gu, (char) => `~${char.codePointAt(0)!.toString(16)}~`)}`;
}

/** The path as SQLite's JSON functions take it, as a literal. */
export function jsonPath(field: Field): string {
  return literal(`$${field.segments.map((name) => `.${JSON.stringify(name)}`).join('')}`);
}

/** What a generated column holds: null for what is null or missing. */
export function columnExpression(field: Field): string {
  const path = jsonPath(field);
  return (
    `CASE json_type(doc, ${path}) WHEN 'true' THEN x'01' WHEN 'false' THEN x'00' ` +
    `ELSE json_extract(doc, ${path}) END`
  );
}
