// Forms of statements that are DuckDB's own, or that few people write. A parameter is written `{name|TYPE|value}`.
import { bare, type Forms } from './sql-drawing.ts';

const LATERAL: Forms = {
  lateral_limited: (d, t) =>
    `SELECT a.stream, b.position FROM ${t()} a ${d.of(['LEFT JOIN LATERAL', 'JOIN LATERAL', 'INNER JOIN LATERAL'])} (SELECT position FROM ${t()} b WHERE b.stream = a.stream ORDER BY position DESC LIMIT ${1 + d.next(3)}) b ON true`,
  lateral_implied: (_, t) =>
    `SELECT a.stream, longer, n FROM ${t()} a, (SELECT len(a.stream) AS longer), (SELECT longer * 2 + count(*) AS n FROM ${t()})`,
  lateral_unnested: (d, t) =>
    `SELECT stream, step FROM ${t()} a, ${d.of(['', 'LATERAL'])} unnest(range(a.revision + 1)) u(step)`,
  lateral_nested: (_, t) =>
    `SELECT count(*), sum(m) FROM ${t()} a, LATERAL (SELECT max(n) AS m FROM ${t()} b, LATERAL (SELECT count(*) AS n FROM ${t()} c WHERE c.stream = b.stream AND b.actor = a.actor))`,
  correlated: (d, t) =>
    `SELECT position, (SELECT count(*) FROM ${t()} b WHERE b.stream = a.stream AND b.revision ${d.of(['<', '<=', '>'])} a.revision) AS before FROM ${t()} a`,
};

const RECURSIVE: Forms = {
  recursive_steps: (d, t) =>
    `WITH RECURSIVE chain(stream, revision, depth) AS (SELECT stream, revision, 0 FROM ${t()} WHERE revision = 0 UNION ${d.of(['', 'ALL'])} SELECT e.stream, e.revision, depth + 1 FROM chain c JOIN ${t()} e ON e.stream = c.stream AND e.revision = c.revision + 1 WHERE depth < 9) SELECT stream, max(depth) FROM chain GROUP BY stream`,
  recursive_keyed: (_, t) =>
    `WITH RECURSIVE seen(stream, n) USING KEY (stream) AS (SELECT stream, 0 FROM ${t()} UNION SELECT s.stream, s.n + 1 FROM seen s SEMI JOIN ${t()} e USING (stream) WHERE s.n < 3) FROM seen`,
  recursive_two: (_, t) =>
    `WITH RECURSIVE base AS (FROM ${t()}), n AS (SELECT 0 AS i UNION ALL SELECT i + 1 FROM n WHERE i < (SELECT count(*) FROM base) AND i < 4) SELECT i, (SELECT count(*) FROM ${t()} WHERE revision = i) FROM n`,
  cte_named: (d, t) =>
    `WITH a(s, r) AS ${d.of(['', 'MATERIALIZED'])} (SELECT stream, revision FROM ${t()}) SELECT s, max(r) FROM a GROUP BY s`,
  cte_nested: (_, t) =>
    `SELECT * FROM (WITH Inner_One AS (WITH deeper AS (FROM ${t()}) SELECT actor FROM DEEPER) SELECT actor, count(*) FROM inner_one GROUP BY ALL) WHERE actor IN (WITH x AS (FROM ${t()}) SELECT actor FROM x)`,
  cte_values: (_, t) =>
    `WITH v(n) AS (VALUES (0), (1), (2)) SELECT n, count(e.stream) FROM v LEFT JOIN ${t()} e ON revision = n GROUP BY n`,
};

const PIVOTS: Forms = {
  pivot_two: (_, t) => `PIVOT (SELECT actor, revision, stream FROM ${t()}) ON revision, actor USING count(*)`,
  pivot_joined_keys: (_, t) => `PIVOT (SELECT actor, revision FROM ${t()}) ON actor || '/' || revision USING count(*)`,
  pivot_aliases: (_, t) =>
    `PIVOT ${t()} ON revision IN (0, 1) USING count(*) AS n, max(position) AS last GROUP BY stream ORDER BY stream LIMIT 5`,
  pivot_in_cte: (_, t) =>
    `WITH p AS (PIVOT (SELECT stream, revision FROM ${t()}) ON revision USING count(*)) SELECT count(*) FROM p JOIN ${t()} USING (stream)`,
  pivot_of_cte: (_, t) => `WITH c AS (SELECT actor, revision FROM ${t()}) PIVOT c ON revision USING count(*)`,
  pivot_kept: (_, t) =>
    `CREATE TEMP TABLE drawn_pivot AS PIVOT (SELECT actor, revision FROM ${t()}) ON revision USING count(*); FROM drawn_pivot; DROP TABLE drawn_pivot`,
  pivot_union: (_, t) =>
    `FROM (PIVOT (SELECT actor, revision FROM ${t()}) ON revision IN (0) USING count(*)) UNION ALL BY NAME FROM (PIVOT (SELECT actor, revision FROM ${t()}) ON revision IN (1) USING count(*))`,
  pivot_enumerated: (_, t) =>
    `CREATE TYPE drawn_kind AS ENUM (SELECT DISTINCT actor FROM ${t()} WHERE actor IS NOT NULL ORDER BY actor); PIVOT (SELECT actor, revision FROM ${t()}) ON revision USING count(*) GROUP BY actor; SELECT count(*) FROM ${t()} WHERE try_cast(actor AS drawn_kind) IS NOT NULL; DROP TYPE drawn_kind`,
  unpivot_columns: (_, t) =>
    `UNPIVOT (SELECT position, stream, actor FROM ${t()}) ON COLUMNS(* EXCLUDE (position)) INTO NAME field VALUE said`,
  unpivot_standard: (d, t) =>
    `FROM (SELECT position, stream, actor FROM ${t()}) UNPIVOT ${d.of(['', 'INCLUDE NULLS'])} (said FOR field IN (stream, actor))`,
  unpivot_pairs: (_, t) =>
    `UNPIVOT (SELECT position, stream a, actor b, stream c, actor d FROM ${t()}) ON (a, b), (c, d) INTO NAME pair VALUE one, two`,
  unpivot_pivot: (_, t) =>
    `PIVOT (UNPIVOT (SELECT revision, stream, position FROM ${t()}) ON stream, position INTO NAME field VALUE said) ON field USING count(said) GROUP BY revision`,
};

const GROUPS: Forms = {
  grouping: (d, t) =>
    `SELECT actor, revision, GROUPING(actor, revision) AS level, count(*) FROM ${t()} GROUP BY ${d.of(['GROUPING SETS ((actor), (revision), ())', 'CUBE (actor, revision)', 'ROLLUP (actor, revision)', 'actor, GROUPING SETS ((revision), ())'])}`,
  qualify_named: (_, t) =>
    `SELECT stream, position, rank() OVER w AS r FROM ${t()} WINDOW w AS (PARTITION BY stream ORDER BY position) QUALIFY r <= 2`,
  qualify_joined: (_, t) =>
    `SELECT a.stream, b.position FROM ${t()} a JOIN ${t()} b USING (stream) QUALIFY dense_rank() OVER (PARTITION BY a.stream ORDER BY b.position) = 1`,
  framed: (d, t) =>
    `SELECT position, count(*) OVER (ORDER BY recorded_at ${d.of(['RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND CURRENT ROW', 'GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING', 'RANGE BETWEEN UNBOUNDED PRECEDING AND INTERVAL 1 MONTH FOLLOWING EXCLUDE CURRENT ROW'])}) AS near FROM ${t()}`,
  distinct_on: (_, t) => `SELECT DISTINCT ON (actor) actor, position FROM ${t()} ORDER BY actor, position DESC`,
  aggregates: (d, t) =>
    `SELECT ${d.of(['arg_max(stream, position)', 'histogram(revision)', 'quantile_disc(revision, [0.25, 0.5])', "string_agg(DISTINCT actor, '|' ORDER BY actor)", 'list(DISTINCT revision ORDER BY revision)', 'max(position, 3)', 'bit_xor(revision)', 'mode(revision % 1)', 'map_from_entries(list(DISTINCT (stream, 1) ORDER BY stream))', 'any_value(1)'])} FROM ${t()}`,
  ordered_all: (d, t) =>
    `SELECT stream, count(*) AS n FROM ${t()} GROUP BY ALL ORDER BY ALL ${d.of(['', 'DESC'])} LIMIT ${d.of(['50%', '3', '2 OFFSET 1'])}`,
};

const FIRST: Forms = {
  from_joined: (_, t) => `FROM ${t()} a JOIN ${t()} b USING (stream) SELECT count(*) WHERE a.revision <= b.revision`,
  from_nested: (_, t) => `FROM (FROM (FROM ${t()}) SELECT stream, revision) SELECT max(revision) GROUP BY stream`,
  from_row: (_, t) => `FROM (SELECT stream, revision FROM ${t()}) e SELECT e, e.stream`,
  alias_first: (_, t) => `SELECT many: count(*), last: max(position) FROM each_one: ${t()}`,
  positional: (_, t) => `SELECT count(*), count(a.stream), count(b.stream) FROM ${t()} a POSITIONAL JOIN ${t()} b`,
  asof_inequality: (d, t) =>
    `SELECT a.position, b.position FROM ${t()} a ASOF ${d.of(['', 'LEFT'])} JOIN ${t()} b ON a.stream = b.stream AND a.position ${d.of(['>', '>=', '<', '<='])} b.position`,
  asof_time: (_, t) =>
    `SELECT count(*) FROM ${t()} a ASOF JOIN (SELECT DISTINCT ON (recorded_at) * FROM ${t()} ORDER BY recorded_at, position) b ON a.recorded_at >= b.recorded_at`,
  union_named: (d, t) =>
    `(FROM ${t()} SELECT stream, revision LIMIT 0) ${d.of(['UNION ALL BY NAME', 'UNION BY NAME'])} (FROM ${t()} SELECT actor, stream)`,
  set_all: (d, t) =>
    `SELECT actor FROM ${t()} ${d.of(['INTERSECT ALL', 'EXCEPT ALL'])} (SELECT actor FROM ${t()} UNION SELECT stream FROM ${t()})`,
  in_from: (_, t) =>
    `SELECT count(*) FROM ${t()} WHERE stream IN (FROM ${t()} SELECT stream) OR EXISTS (FROM ${t()} WHERE false)`,
  row_compared: (_, t) =>
    `SELECT count(*) FROM ${t()} WHERE (stream, revision) IN (SELECT (stream, revision) FROM ${t()})`,
  star_chosen: (d, t) =>
    `SELECT ${d.of(["* LIKE 're%'", "* SIMILAR TO '(stream|actor)'", "COLUMNS(['stream', 'revision'])", '* RENAME (stream AS river)', "max(COLUMNS(* EXCLUDE (stream))) || ''", 'e.* EXCLUDE (actor)', "COALESCE(*COLUMNS(['stream', 'actor'])) AS said"])} FROM ${t()} e`,
};

const LAMBDAS: Forms = {
  lambda: (d, t) =>
    `SELECT ${d.of(['list_transform(l, lambda x: x + 1)', 'list_filter(l, lambda x, i: x > i)', 'list_reduce(l, lambda a, b: a + b, 0)', '[x * 2 FOR x IN l IF x > 0]', 'list_transform(l, lambda x: list_transform(l, lambda y: x * y))', "apply(l, lambda x: {'n': x, 'm': [x]})"])} FROM (SELECT list(revision ORDER BY position) AS l FROM ${t()} GROUP BY stream)`,
  lambda_subquery: (_, t) =>
    `SELECT [x || '!' FOR x IN (SELECT list(stream ORDER BY position) FROM ${t()})], (SELECT list_sum([r FOR r IN list(revision)]) FROM ${t()})`,
  nested_values: (d, t) =>
    `SELECT ${d.of(["{'s': stream, 'r': [revision, NULL]}", 'MAP {stream: revision}', '(stream, revision)', 'union_value(k := stream)', "[{'a': actor}]", 'array_value(revision, 1, 2)', "unnest({'a': stream, 'b': {'c': revision}}, recursive := true)"])} FROM ${t()}`,
  of_json: (d) =>
    `SELECT ${d.of(["data->>'$.amount'", 'json_keys(data)', "json_extract(data, ['$.amount', '$.user_id'])", 'data.amount', 'json_type(data)', "CAST(data->'amount' AS BIGINT)"])} FROM ${d.of(['events', 'EVENTS', '"Events"'])}`,
};

const MACROS: Forms = {
  macro_overloaded: (_, t) =>
    `CREATE MACRO drawn_two(a) AS (SELECT count(*) + a FROM ${t()}), (a, b) AS (SELECT count(*) * a + b FROM ${t()}); SELECT drawn_two(1), drawn_two(2, 3); DROP MACRO drawn_two`,
  macro_of_macro: (_, t) =>
    `CREATE MACRO drawn_low(who := 'user:test') AS (SELECT count(*) FROM ${t()} WHERE actor = who); CREATE MACRO drawn_high() AS drawn_low() + drawn_low(who := 'x'); SELECT drawn_high(); DROP MACRO drawn_high; DROP MACRO drawn_low`,
  macro_of_table: (_, t) =>
    `CREATE MACRO drawn_of(named) AS TABLE SELECT count(*) AS n FROM query_table(named); FROM drawn_of('${bare(t())}'); DROP MACRO TABLE drawn_of`,
  macro_temporary: (_, t) =>
    `CREATE OR REPLACE TEMP MACRO drawn_temp(low) AS TABLE (SELECT stream FROM ${t()} WHERE revision >= low) UNION ALL FROM ${t()} SELECT stream; SELECT count(*) FROM drawn_temp(1), drawn_temp(low := 2) LIMIT 1; DROP MACRO TABLE drawn_temp`,
  variable: (_, t) =>
    `SET VARIABLE drawn_n = (SELECT count(*) FROM ${t()}); SELECT getvariable('drawn_n') AS n, count(*) FROM ${t()}; RESET VARIABLE drawn_n`,
  variable_names: (_, t) =>
    `SET VARIABLE drawn_table = '${bare(t())}'; SELECT count(*) FROM query_table(getvariable('drawn_table'))`,
};

const DESCRIBED: Forms = {
  summarize: (d, t) => `SUMMARIZE ${d.of(['', 'SELECT stream, revision FROM '])}${t()}`,
  describe: (d, t) => `${d.of(['DESCRIBE', 'DESC', 'SHOW'])} ${t()}`,
  describe_query: (_, t) => `DESCRIBE SELECT *, a.revision + 1 AS next FROM ${t()} a JOIN ${t()} b USING (stream)`,
  show: (d) =>
    `${d.of(['SHOW TABLES', 'FROM (SHOW TABLES)', "SELECT count(*) FROM (SHOW TABLES) WHERE name LIKE 'J%'"])}`,
  table_info: (d, t) =>
    `${d.of(['PRAGMA table_info', 'FROM pragma_table_info', 'CALL pragma_table_info'])}('${bare(t())}')`,
  catalog: (_, t) =>
    `SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = 'main' AND lower(table_name) = lower('${bare(t())}') ORDER BY ordinal_position; SELECT count(*) FROM ${t()}`,
};

const SCRIPTS: Forms = {
  several_read: (_, t) => `SELECT count(*) FROM ${t()}; ; FROM ${t()} SELECT max(revision);; TABLE ${t()};`,
  in_transaction: (d, t) =>
    `BEGIN; CREATE TABLE drawn_kept AS FROM ${t()}; SELECT count(*) FROM drawn_kept JOIN ${t()} USING (stream); ${d.of(['ROLLBACK', 'COMMIT; DROP TABLE drawn_kept'])}; SELECT count(*) FROM ${t()}`,
  changed: (_, t) =>
    `CREATE TEMP TABLE drawn_some AS SELECT stream, revision FROM ${t()}; UPDATE drawn_some SET revision = -1 FROM ${t()} e WHERE drawn_some.stream = e.stream; DELETE FROM drawn_some USING ${t()} f WHERE f.stream = drawn_some.stream; INSERT INTO drawn_some BY NAME SELECT revision, stream FROM ${t()} RETURNING stream; FROM drawn_some; DROP TABLE drawn_some`,
  merged: (_, t) =>
    `CREATE TEMP TABLE drawn_last (stream VARCHAR, n BIGINT); MERGE INTO drawn_last USING (SELECT stream, count(*) AS n FROM ${t()} GROUP BY ALL) s USING (stream) WHEN MATCHED THEN UPDATE WHEN NOT MATCHED THEN INSERT; FROM drawn_last; DROP TABLE drawn_last`,
  hidden: (_, t) =>
    `CREATE TEMP TABLE JobPaused AS FROM ${t()}; SELECT count(*) FROM jobpaused; DROP TABLE temp.JobPaused; SELECT count(*) FROM jobpaused`,
  own_schema: (_, t) =>
    `CREATE SCHEMA mine; CREATE TABLE mine.jobs AS FROM ${t()}; CREATE VIEW mine.both AS FROM mine.jobs JOIN ${t()} USING (stream); SELECT count(*) FROM mine.both; DROP SCHEMA mine CASCADE`,
  own_view: (_, t) =>
    `CREATE OR REPLACE VIEW drawn_of AS FROM ${t()} SELECT *, lower(stream) AS low; SELECT count(low) FROM DRAWN_OF; DROP VIEW drawn_of`,
  prepared_values: (d, t) =>
    `PREPARE drawn_plan AS SELECT count(*) FROM ${t()} WHERE revision >= $1 AND stream LIKE $2; EXECUTE drawn_plan(${d.next(3)}, '%'); EXECUTE drawn_plan(0, 'job%'); DEALLOCATE drawn_plan`,
  comments_first: (d, t) =>
    `${d.of(['-- one; two\n--', '/* SELECT 1; */', '/* /* nested */ still */', '\n\t ;; --x\r\n', '\u00a0', '-- «größer» 🌊\n'])}${'\n'}SELECT /* ; */ count(*) -- '\nFROM/**/${t()} -- end`,
  quoted_texts: (d, t) =>
    `SELECT ${d.of(["$$a; 'b'$$", '$x$ ; $$ $x$', "'it''s ; --'", "E'\\n;\\x41'", "'\u00df\u0131\u{1f30a}'"])} AS said, count(*) FROM ${t()}; SELECT ';'`,
};

const NAMES: Forms = {
  quoted_case: (d, t) => {
    const name = bare(t());
    return `SELECT count(*) FROM ${d.of(['', 'main.', '"MAIN".', 'events.main.', 'events.'])}"${name}"`;
  },
  unicode: (_, t) =>
    `WITH größe AS (SELECT stream AS "straße", revision AS число FROM ${t()}) SELECT "straße", число, count(*) AS "🌊 ""n""" FROM größe JOIN ${t()} ON stream = straße GROUP BY ALL`,
  unicode_case: (_, t) =>
    `SELECT GRÖSSE, ß FROM (SELECT revision AS größe, stream AS ß, revision AS GRÖSSE FROM ${t()})`,
  same_names: (_, t) =>
    `SELECT a.stream, b.stream, a.stream AS "Stream", 1 AS stream FROM ${t()} a JOIN ${t()} b USING (stream)`,
  unknown: (d) =>
    `SELECT * FROM ${d.of(['JobsCreated', 'urlz', '"Job Created"', 'loaded_', 'größe', 'main.entry', 'JobCreated.stream'])}`,
  wrong: (d, t) =>
    `SELECT ${d.of(['strem', 'count(', 'nofunction(1)', 'stream + 1', "error('no')", 'x.y.z', "CAST('a' AS INT)"])} FROM ${t()}`,
};

const PARAMETERS: Forms = {
  parameter: (d, t) =>
    `SELECT count(*) FROM ${t()} WHERE ${d.of([
      'stream = {who|VARCHAR|credits-ann}',
      'revision >= {n|BIGINT|1}',
      'revision > {n|DOUBLE|0.5}::DOUBLE',
      'recorded_at >= {since|TIMESTAMPTZ|2026-01-20}',
      'recorded_at::DATE > {day|DATE|2026-01-05}::DATE',
      "recorded_at > TIMESTAMPTZ '2026-02-05' - {age|INTERVAL|20 days}::INTERVAL",
      '{yes|BOOLEAN|true}',
      'revision IN ({a|BIGINT|0}, {b|BIGINT|2})',
      'revision::DECIMAL(9, 2) = {d|DECIMAL(9, 2)|1.00}',
      'list_contains({l|VARCHAR[]|[credits-ann, user-ann]}::VARCHAR[], stream)',
      "stream LIKE {like|VARCHAR|%'; DROP TABLE x; --%} OR revision = {n|BIGINT|0}",
      'revision = {h|HUGEINT|1}::HUGEINT',
      'revision < {u|UBIGINT|18446744073709551615}::UBIGINT',
      'starts_with(stream, {größe|VARCHAR|user})',
      "revision = ({s|STRUCT(a BIGINT)|{'a': 1}}::STRUCT(a BIGINT)).a",
      'recorded_at::TIMESTAMP::TIME >= {tod|TIME|08:30:00}::TIME',
      '{id|UUID|00000000-0000-4000-8000-000000000000}::UUID IS NOT NULL',
      "{b|BLOB|\\xAA}::BLOB = '\\xAA'::BLOB",
      "{j|JSON|[1, null]}::JSON->>0 = '1'",
      'revision BETWEEN {lo|TINYINT|0}::TINYINT AND {hi|SMALLINT|3}::SMALLINT',
      "({m|MAP(VARCHAR, BIGINT)|{a=1}}::MAP(VARCHAR, BIGINT))['a'] = 1",
    ])}`,
  parameter_shown: (d, t) =>
    `SELECT {x|VARCHAR|${d.of(['', 'a;b', '007', 'NULL', 'größe 🌊', "it''s"])}} AS said, typeof({x|VARCHAR|y}) AS kind FROM ${t()} LIMIT 1`,
  parameter_limit: (_, t) => `SELECT stream FROM ${t()} ORDER BY position LIMIT {n|BIGINT|3} OFFSET {skip|BIGINT|1}`,
  parameter_twice: (_, t) =>
    `SELECT count(*) FROM ${t()} WHERE actor = {who|VARCHAR|user:test}; SELECT count(*) FROM ${t()} a JOIN ${t()} b USING (stream) WHERE a.actor = {who|VARCHAR|user:test} AND b.revision >= {n|BIGINT|1}`,
  parameter_within: (_, t) =>
    `WITH a AS (SELECT * FROM ${t()} WHERE revision >= {low|BIGINT|1}) SELECT [x + {add|BIGINT|5} FOR x IN list(revision ORDER BY position)] AS said FROM a, LATERAL (SELECT {who|VARCHAR|z} AS z)`,
  parameter_kept: (_, t) =>
    `CREATE TEMP TABLE drawn_given AS SELECT stream FROM ${t()} WHERE revision = {n|BIGINT|0}; SELECT count(*) FROM drawn_given; DROP TABLE drawn_given`,
};

const ANSWERS: Forms = {
  urls_joined: (d, t) =>
    `SELECT host, count(*), max(status) FROM ${d.of(['urls', 'URLs', '"URLS"'])} JOIN ${d.of(['jobs', 'JOBS'])} USING (job_id) ANTI JOIN ${t()} p ON p.stream = 'none-' || job_id GROUP BY host`,
  urls_pivoted: () => `PIVOT urls ON verdict USING count(*) GROUP BY host`,
  urls_twice: () => `SELECT a.url, b.verdict FROM urls a JOIN urls b USING (url) WHERE a.job_id < b.job_id`,
  urls_chains: () => `SELECT url, [x FOR x IN redirect_chain IF x LIKE 'https%'], unnest(redirect_chain) FROM urls`,
  entries_money: (d) =>
    `SELECT plan, ${d.of(['sum', 'max', 'count'])}(money_cents - coalesce(returned_cents, 0)) FROM entries FULL JOIN deliveries USING (user_id) GROUP BY ALL`,
  answers_whole: (d) => `FROM ${d.of(['urls', 'jobs', 'entries', 'deliveries'])}`,
  answers_described: (d) => `${d.of(['DESCRIBE', 'SUMMARIZE'])} ${d.of(['urls', 'jobs', 'entries', 'deliveries'])}`,
};

export const DUCKDB_FORMS: Forms = {
  ...{ ...LATERAL, ...RECURSIVE, ...PIVOTS, ...GROUPS, ...FIRST, ...LAMBDAS, ...MACROS },
  ...{ ...DESCRIBED, ...SCRIPTS, ...NAMES, ...PARAMETERS, ...ANSWERS },
};
