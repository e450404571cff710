// Draws SQL over the tables of events from a seed: every way in which DuckDB lets a statement name a table.
import { sqlText } from '../../analysis/duckdb.ts';
import { bare, type Drawing, type Forms } from './sql-drawing.ts';
import { DUCKDB_FORMS } from './sql-duckdb-forms.ts';

const FORMS: Forms = {
  ...DUCKDB_FORMS,
  using: (d, t) => `SELECT count(*) FROM ${t()} ${joined(d)} ${t()} USING (${d.of(['stream', 'revision', 'actor'])})`,
  several: (d, t) => `SELECT count(*) FROM ${t()} JOIN ${t()} USING (stream) ${joined(d)} ${t()} USING (stream)`,
  on: (d, t) =>
    `SELECT count(*), max(b.position) FROM ${t()} a ${joined(d)} ${t()} b ON a.${d.of(COLUMNS)} = b.${d.of(COLUMNS)}`,
  natural: (d, t) => `SELECT count(*) FROM ${t()} NATURAL ${d.of(['', 'LEFT', 'FULL'])} JOIN ${t()}`,
  half: (d, t) =>
    `SELECT stream, revision FROM ${t()} ${d.of(['SEMI', 'ANTI'])} JOIN ${t()} USING (${d.of(['stream', 'actor'])})`,
  asof: (_, t) =>
    `SELECT count(*), max(b.revision) FROM ${t()} a ASOF JOIN ${t()} b ON a.stream = b.stream AND a.position >= b.position`,
  asof_using: (d, t) => `SELECT count(*) FROM ${t()} ASOF ${d.of(['', 'LEFT'])} JOIN ${t()} USING (actor, position)`,
  cross: (_, t) => `SELECT count(*) FROM ${t()} CROSS JOIN ${t()}, ${t()} LIMIT 1`,
  lateral: (_, t) =>
    `SELECT sum(n) FROM ${t()} a, LATERAL (SELECT count(*) AS n FROM ${t()} b WHERE b.stream = a.stream)`,
  columns: (d, t) =>
    `SELECT ${d.of(['min', 'max', 'count'])}(COLUMNS('${d.of(['position', '^re', 's', 'stream|actor'])}')) FROM ${t()}`,
  columns_lambda: (_, t) => `SELECT COLUMNS(c -> c LIKE 'r%') FROM ${t()}`,
  star: (d, t) => `SELECT * EXCLUDE (recorded_at) FROM ${t()} WHERE revision ${d.of(['<', '>=', '='])} ${d.next(4)}`,
  replaced: (_, t) => `SELECT * REPLACE (revision + 1 AS revision) FROM ${t()}`,
  union: (d, t) => `SELECT stream FROM ${t()} ${set(d)} SELECT stream FROM ${t()}`,
  union_half: (_, t) => `SELECT count(*) FROM ${t()} JOIN ${t()} USING (stream) UNION ALL SELECT count(*) FROM ${t()}`,
  by_name: (d, t) =>
    `FROM ${t()} SELECT stream, position UNION ${d.of(['', 'ALL'])} BY NAME FROM ${t()} SELECT revision, position`,
  from_first: (_, t) => `FROM ${t()} SELECT count(*)`,
  bare: (_, t) => `FROM ${t()}`,
  table: (_, t) => `TABLE ${t()}`,
  cte: (d, t) =>
    `WITH a AS ${d.of(['', 'MATERIALIZED', 'NOT MATERIALIZED'])} (FROM ${t()}), b AS (SELECT stream, revision FROM ${t()}) SELECT count(*) FROM a JOIN b USING (stream)`,
  shadowed: (_, t) => `WITH jobs AS (SELECT 1 AS one) SELECT (SELECT sum(one) FROM jobs), count(*) FROM ${t()}`,
  shadowed_type: (_, t) => `WITH JobPaused AS (FROM ${t()}) SELECT count(*) FROM JOBPAUSED`,
  recursive: (_, t) =>
    `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < (SELECT count(*) % 5 FROM ${t()})) SELECT count(*) FROM n`,
  exists: (d, t) =>
    `SELECT stream FROM ${t()} a WHERE ${d.of(['', 'NOT'])} EXISTS (SELECT 1 FROM ${t()} b WHERE b.stream = a.stream)`,
  in: (d, t) => `SELECT count(*) FROM ${t()} WHERE stream ${d.of(['', 'NOT'])} IN (SELECT stream FROM ${t()})`,
  any: (_, t) => `SELECT count(*) FROM ${t()} WHERE revision >= ALL (SELECT revision FROM ${t()})`,
  scalar: (_, t) => `SELECT (SELECT max(position) FROM ${t()}), (SELECT count(*) FROM ${t()})`,
  listed: (_, t) => `SELECT len(ARRAY(SELECT stream FROM ${t()}))`,
  window: (d, t) =>
    `SELECT stream, ${d.of(['row_number()', 'lag(revision)', 'count(*)', 'first(position)'])} OVER (PARTITION BY actor ORDER BY position) AS w FROM ${t()}`,
  qualify: (d, t) =>
    `SELECT stream, position FROM ${t()} QUALIFY row_number() OVER (PARTITION BY ${d.of(['actor', 'stream'])} ORDER BY position DESC) = 1`,
  grouped: (d, t) =>
    `SELECT actor, revision, count(*) FROM ${t()} GROUP BY ${d.of(['ALL', 'ROLLUP (actor, revision)', 'CUBE (actor, revision)', 'GROUPING SETS ((actor, revision), ())'])}`,
  having: (_, t) => `SELECT stream FROM ${t()} GROUP BY stream HAVING count(*) >= (SELECT min(revision) FROM ${t()})`,
  filtered: (_, t) => `SELECT count(*) FILTER (WHERE revision = 0), list(position ORDER BY position) FROM ${t()}`,
  pivot: (_, t) => `PIVOT ${t()} ON revision IN (0, 1, 2) USING count(*) GROUP BY actor`,
  pivot_open: (_, t) => `PIVOT (FROM ${t()} SELECT actor, revision) ON revision USING count(*)`,
  pivot_joined: (_, t) =>
    `SELECT count(*) FROM (PIVOT (SELECT actor, revision FROM ${t()}) ON revision USING count(*)) JOIN ${t()} USING (actor)`,
  pivot_wider: (_, t) => `SELECT * FROM (SELECT actor, revision FROM ${t()}) PIVOT (count(*) FOR revision IN (0, 1))`,
  unpivot: (_, t) => `UNPIVOT (SELECT stream, position FROM ${t()}) ON stream, position INTO NAME field VALUE text`,
  sampled: (_, t) => `SELECT count(*) FROM ${t()} USING SAMPLE 100 %`,
  query_table: (_, t) => `SELECT count(*) FROM query_table('${bare(t())}')`,
  query_tables: (_, t) => `SELECT count(*) FROM query_table(['${bare(t())}', '${bare(t())}'], true)`,
  query: (_, t) => `SELECT * FROM query('SELECT count(*) AS n FROM ' || '${bare(t())}')`,
  qualified: (_, t) => `SELECT count(*) FROM main.${bare(t())}`,
  described: (_, t) => `SELECT column_name FROM (DESCRIBE ${t()})`,
  summarized: (_, t) => `SELECT column_name, count FROM (SUMMARIZE ${t()})`,
  macro: (_, t) => `CREATE MACRO drawn() AS (SELECT count(*) FROM ${t()}); SELECT drawn(); DROP MACRO drawn`,
  table_macro: (_, t) =>
    `CREATE MACRO drawn_rows(least) AS TABLE FROM ${t()} SELECT stream WHERE revision >= least; FROM drawn_rows(1); DROP MACRO TABLE drawn_rows`,
  view: (_, t) =>
    `CREATE TEMP VIEW drawn_view AS FROM ${t()} JOIN ${t()} USING (stream); SELECT count(*) FROM drawn_view; DROP VIEW drawn_view`,
  kept: (_, t) =>
    `CREATE TEMP TABLE drawn_table AS SELECT stream FROM ${t()}; SELECT count(*) FROM drawn_table NATURAL JOIN ${t()}; DROP TABLE drawn_table`,
  inserted: (_, t) =>
    `CREATE TEMP TABLE drawn_rest (s VARCHAR); INSERT INTO drawn_rest SELECT stream FROM ${t()}; SELECT count(*) FROM drawn_rest; DROP TABLE drawn_rest`,
  prepared: (_, t) => `PREPARE drawn_plan AS SELECT count(*) FROM ${t()}; EXECUTE drawn_plan; DEALLOCATE drawn_plan`,
  commented: (_, t) => `-- FROM nothing;\n/* a ; b */ SELECT count(*) FROM -- who\n ${t()}`,
  values: (_, t) => `SELECT count(*) FROM ${t()} JOIN (VALUES ('alice'), ('bob')) v(who) ON stream LIKE '%' || who`,
};
export const FORM_NAMES = Object.keys(FORMS);

const COLUMNS = ['stream', 'position', 'actor'] as const;
const joined = (draw: Drawing) => draw.of(['JOIN', 'INNER JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'FULL OUTER JOIN']);
const set = (draw: Drawing) => draw.of(['UNION', 'UNION ALL', 'INTERSECT', 'EXCEPT', 'EXCEPT ALL']);

export interface Statement {
  sql: string;
  parameters: Record<string, string>;
  /** The same without parameters. */
  whole: string;
}

/** A parameter of a form: its name, its type and its value. */
const PARAMETER = /\{(\S+?)\|([^|]+)\|((?:[^{}]|\{[^{}]*\})*)\}/g;

/** A statement of a form over some of the tables, whose names are written in any case. */
export function statementOf(form: string, draw: Drawing, tables: readonly string[]): Statement {
  const text = FORMS[form]!(draw, () => {
    const name = draw.of(tables);
    return draw.of([name, name.toLowerCase(), name.toUpperCase(), `"${name.toUpperCase()}"`]);
  });
  const parameters: Record<string, string> = {};
  const sql = text.replace(PARAMETER, (_, name, _type, value) => {
    parameters[name] ??= value;
    return `$${name}`;
  });
  const whole = text.replace(PARAMETER, (_, name, type) => `CAST(${sqlText(parameters[name]!)} AS ${type})`);
  return { sql, parameters, whole };
}
