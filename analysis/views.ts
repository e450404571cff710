// The events as tables for SQL: `events` has a row for each event, and each type a row for each event of its own, whose columns are the
// fields of its schema.
import { currentVersion } from '../events/codec.ts';
import { EVENT_TYPES, type EventType } from '../events/vocabulary.ts';

interface AnySchema {
  type?: string;
  properties?: Readonly<Record<string, AnySchema>>;
  patternProperties?: Readonly<Record<string, AnySchema>>;
  items?: AnySchema;
  anyOf?: readonly AnySchema[];
  enum?: readonly unknown[];
  const?: unknown;
  format?: string;
}

export interface SqlColumn {
  name: string;
  /** Such as `BIGINT` or `STRUCT(lot_id VARCHAR, amount BIGINT)[]`. */
  type: string;
}

/** A point in time, whatever the time zone of the session is. */
const INSTANT = 'TIMESTAMP WITH TIME ZONE';
/** Fields that hold a time, in schemas that only say that it is a text. */
const NAME_OF_TIME = /_(?:at|start|end)$/;

/** The columns of `events`. */
export const EVENTS_COLUMNS: readonly SqlColumn[] = [
  { name: 'position', type: 'VARCHAR' },
  { name: 'recorded_at', type: INSTANT },
  { name: 'stream', type: 'VARCHAR' },
  { name: 'category', type: 'VARCHAR' },
  { name: 'revision', type: 'BIGINT' },
  { name: 'type', type: 'VARCHAR' },
  { name: 'id', type: 'VARCHAR' },
  { name: 'actor', type: 'VARCHAR' },
  { name: 'command_id', type: 'VARCHAR' },
  { name: 'causation_id', type: 'VARCHAR' },
  { name: 'version', type: 'BIGINT' },
  { name: 'data', type: 'JSON' },
];
/** The columns that each view has before the fields of its type. */
export const SHARED_COLUMNS = ['position', 'recorded_at', 'stream', 'revision', 'actor'] as const;
const TAKEN: ReadonlySet<string> = new Set(SHARED_COLUMNS);

/** The columns of a type for the fields of its data. A field that is named like one of `SHARED_COLUMNS` has `data_` before it. */
export const fieldColumns = (type: EventType): readonly (SqlColumn & { field: string })[] =>
  Object.entries((EVENT_TYPES[type].schema as AnySchema).properties ?? {}).map(([field, schema]) => ({
    ...{ field, name: TAKEN.has(field) ? `data_${field}` : field },
    type: sqlTypeOf(schema, field),
  }));

/** The query that makes the rows of a type from a table with the columns of `events`. An event of a later version has no row: its data may mean something else. */
export function rowsOfType(type: EventType, table: string): string {
  const fields = fieldColumns(type);
  const shared = SHARED_COLUMNS.join(', ');
  const passing = `type = '${type}' AND version BETWEEN 1 AND ${currentVersion(EVENT_TYPES, type)}`;
  if (fields.length === 0) return `SELECT ${shared} FROM ${table} WHERE ${passing}`;
  const shape = shapeOf(Object.fromEntries(fields.map(({ field, type }) => [field, type])));
  const columns = fields.map(({ field, name }) => `fields_.${quoted(field)} AS ${quoted(name)}`);
  return `SELECT ${shared}, ${columns.join(', ')}
    FROM (SELECT *, json_transform(data, ${shape}) AS fields_ FROM ${table} WHERE ${passing})`;
}

/** The second argument of `json_transform`. */
export const shapeOf = (fields: Readonly<Record<string, string>>): string => `'${JSON.stringify(fields)}'`;

export const EVENT_VIEWS = Object.keys(EVENT_TYPES) as readonly EventType[];

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

function sqlTypeOf(schema: AnySchema, name = ''): string {
  const others = schema.anyOf?.filter(({ type }) => type !== 'null');
  if (others) {
    if (others.length === 1) return sqlTypeOf(others[0]!, name);
    return others.every(({ properties }) => properties) ? structOf(merged(others)) : 'JSON';
  }
  const values = schema.enum ?? (schema.const === undefined ? undefined : [schema.const]);
  if (values?.every((each) => typeof each === 'string' || each === null)) return 'VARCHAR';
  switch (schema.type) {
    case 'integer':
      return 'BIGINT';
    case 'number':
      return 'DOUBLE';
    case 'boolean':
      return 'BOOLEAN';
    case 'string':
      return schema.format === 'date-time' || NAME_OF_TIME.test(name) ? INSTANT : 'VARCHAR';
    case 'array':
      return `${sqlTypeOf(schema.items!)}[]`;
    case 'object':
      return structOf(schema);
    default:
      return 'JSON';
  }
}

function structOf({ properties = {}, patternProperties }: AnySchema): string {
  const [value] = Object.values(patternProperties ?? {});
  if (value) return `MAP(VARCHAR, ${sqlTypeOf(value)})`;
  const fields = Object.entries(properties).map(([name, schema]) => `${quoted(name)} ${sqlTypeOf(schema, name)}`);
  return fields.length === 0 ? 'JSON' : `STRUCT(${fields.join(', ')})`;
}

/** One schema of an object that has the fields of all. */
function merged(schemas: readonly AnySchema[]): AnySchema {
  const properties: Record<string, AnySchema> = {};
  for (const schema of schemas) {
    for (const [name, field] of Object.entries(schema.properties!)) {
      const other = properties[name];
      properties[name] = other?.properties && field.properties ? merged([other, field]) : field;
    }
  }
  return { type: 'object', properties };
}
