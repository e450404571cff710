// Writes what follows from the schemas of events: `docs/events.md`, and for each event type that no golden history has, or of which none has
// every field, an event in the history of this version. Fails when it had to write: look at the change and commit it.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ANSWER_TABLES } from '../analysis/answers.ts';
import { definitions } from '../analysis/tables.ts';
import { EVENTS_COLUMNS, fieldColumns, SHARED_COLUMNS } from '../analysis/views.ts';
import type { EventSpec } from '../events/event-spec.ts';
import { type EventType, VOCABULARY } from '../events/vocabulary.ts';
import { type Comments, commentsOf } from './event-comments.ts';
import { type AnySchema, exampleOf, streamOf } from './event-examples.ts';

const root = join(import.meta.dirname, '..');
const MAX_LINE_CHARS = 140;
const GOLDEN = join(root, 'test', 'golden');
const { version: this_version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };

interface GoldenEvent {
  stream: string;
  type: string;
  data: Record<string, unknown>;
  metadata: Record<string, unknown>;
}

const TYPES = Object.entries(VOCABULARY).flatMap(([category, types]) =>
  Object.entries<EventSpec>(types).map(([type, spec]) => ({ category, type, spec, schema: spec.schema as AnySchema })),
);
const histories = new Map([...releases(), this_version].map((version) => [version, readHistory(version)]));
completeHistory(histories.get(this_version)!);
const written = [
  write(
    pathOf(this_version),
    histories
      .get(this_version)!
      .map((event) => `${JSON.stringify(event)}\n`)
      .join(''),
  ),
  write(join(root, 'docs', 'events.md'), catalogue()),
];
const changed = written.filter((path) => path !== null);
for (const path of changed)
  console.log(`events: ${path} was not current and is written anew: look at it and commit it`);
if (changed.length === 0) console.log(`events: ${TYPES.length} types are documented, and in a golden history`);
process.exitCode = changed.length === 0 ? 0 : 1;

/** The versions that have a history, oldest first. */
function releases(): string[] {
  const versions = readdirSync(GOLDEN).filter((name) => name.endsWith('.ndjson'));
  const numbers = (version: string) => version.split('.').map(Number);
  return versions
    .map((name) => name.slice(0, -'.ndjson'.length))
    .filter((version) => version !== this_version)
    .sort(
      (a, b) => numbers(a)[0]! - numbers(b)[0]! || numbers(a)[1]! - numbers(b)[1]! || numbers(a)[2]! - numbers(b)[2]!,
    );
}

function pathOf(version: string): string {
  return join(GOLDEN, `${version}.ndjson`);
}

function readHistory(version: string): GoldenEvent[] {
  const text = existsSync(pathOf(version)) ? readFileSync(pathOf(version), 'utf8') : '';
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as GoldenEvent]));
}

/** Adds an event with all fields, and one with only the required ones, for each type that needs it. The types are in the vocabulary's order. */
function completeHistory(history: GoldenEvent[]): void {
  for (const { category, type, spec, schema } of TYPES) {
    const fields = Object.keys(schema.properties!);
    if (fields.every((field) => sinceOf(type, field) !== null) && sinceOf(type) !== null) continue;
    const metadata = {
      ...{ command_id: 'c0ffee00-0000-4000-8000-000000000001', causation_id: 'golden', actor: 'golden' },
      at: '2026-01-31T09:00:00.000Z',
      ...(spec.upcasters.length > 0 ? { version: spec.upcasters.length + 1 } : {}),
    };
    const all = exampleOf(type, schema, true) as Record<string, unknown>;
    const least = exampleOf(type, schema, false) as Record<string, unknown>;
    const datas = JSON.stringify(all) === JSON.stringify(least) ? [all] : [all, least];
    history.push(...datas.map((data) => ({ stream: streamOf(category), type, data, metadata })));
  }
  const order = new Map(TYPES.map(({ type }, n) => [type, n]));
  history.sort((a, b) => (order.get(a.type) ?? -1) - (order.get(b.type) ?? -1));
}

/** The first version whose history has the type, or the type with the field; null for none. */
function sinceOf(type: string, field?: string): string | null {
  const has = (event: GoldenEvent) => event.type === type && (field === undefined || Object.hasOwn(event.data, field));
  return [...histories].find(([, history]) => history.some(has))?.[0] ?? null;
}

function catalogue(): string {
  const described = new Map<string, Comments>();
  const sections = Object.entries(VOCABULARY).map(([category, types]) => {
    const comments = commentsOf(join(root, 'events'), Object.keys(types)[0]!);
    const header = described.has(comments.file) ? '' : `${comments.header}\n\n`;
    described.set(comments.file, comments);
    const events = Object.entries<EventSpec>(types).map(([type, spec]) => section(type, spec, comments));
    return `## ${category}\n\n${header}${events.join('\n')}`;
  });
  return `# Events

Every event type of the log, by the category of its stream: \`npm run lint\` writes this page from the schemas in [\`events/\`](../events/), with the
comments of their source, and from the golden histories in [\`test/golden/\`](../test/golden/). [How the service is built](architecture.md#streams-and-events)
explains streams, versions and upcasters.

An event has an \`id\`, a \`type\`, \`data\`, and \`metadata\`: \`at\` (ISO 8601), \`actor\`, \`command_id\`, \`causation_id\`, and \`version\` when the version of its
shape is not 1. The tables list the fields of \`data\`. Events are read in the current version, whichever they were appended in. A field that is
optional may be missing. The log holds a sealed field encrypted under the key of the user or the job, and it reads as null or \`[erased]\` once that key is
destroyed. "Since" is the first release that has the event; a field without one is as old as the event.

## In SQL

\`npm run -s ops -- events query\` [answers SQL](guides/analysing.md#ask-in-sql). Each type below is a view with its name: first the columns ${SHARED_COLUMNS.map((name) => `\`${name}\``).join(', ')},
then one for each field, of the type that the third column of its table names. Fields of objects and lists are within the column of the whole, such as
\`parts[1].amount\`. A field that is named like one of the first columns has \`data_\` before it. The table \`events\` has every event:

| column | type |
|---|---|
${EVENTS_COLUMNS.map(({ name, type }) => `| \`${name}\` | ${type} |\n`).join('')}
Four more tables answer most questions. Times are points in time; SQL shows them in its time zone, UTC until \`SET TimeZone\` names another.

${ANSWER_TABLES.map(answerTable).join('\n')}
All tables are [defined](#definitions) at the end of this page.

${sections.join('\n')}
## Definitions

\`\`\`sql
${definitions().join('\n')}
\`\`\`
`;
}

function answerTable({ name, means, columns }: (typeof ANSWER_TABLES)[number]): string {
  const rows = columns.map((column) => `| \`${column.name}\` | ${column.type} | ${cell(column.means)} |\n`);
  return `### ${name}\n\n${means}\n\n| column | type | |\n|---|---|---|\n${rows.join('')}`;
}

function section(type: string, { schema, upcasters, personal }: EventSpec, comments: Comments): string {
  const about = comments.of(type);
  const since = sinceOf(type);
  const facts = `Since ${since}${upcasters.length > 0 ? `; version ${upcasters.length + 1} of its shape` : ''}.`;
  const sealed = new Map(personal.map(({ name, whose }) => [name, `Sealed under the ${whose}'s key.`]));
  const columns = new Map(fieldColumns(type as EventType).map(({ field, ...column }) => [field, column]));
  const inSql = (path: string) => {
    const column = columns.get(path);
    if (!column) return '';
    // The rows below have the fields of an object.
    const sql_type = column.type.replace(/^STRUCT\(.*\)/, 'STRUCT').replace(/^MAP\(VARCHAR, STRUCT\(.*\)\)/, 'MAP');
    return `${sql_type}${column.name === path ? '' : `, \`${column.name}\``}`;
  };
  const rows = fieldRows(schema as AnySchema, '', inSql, (path, field) => {
    const of_field = sinceOf(type, path.split(/[.[]/)[0]!);
    const later = of_field === since ? '' : `Since ${of_field}.`;
    return [sealed.get(path) ?? '', field.description ?? comments.of(type, path), later]
      .filter((words) => words !== '')
      .join(' ');
  });
  const table =
    rows.length === 0 ? 'It has no data.\n' : `| field | type | in SQL | |\n|---|---|---|---|\n${rows.join('')}`;
  const newest_first = [...histories.values()].reverse().flat();
  const example = newest_first.find((event) => event.type === type && isWhole(event, schema as AnySchema))!;
  return `### ${type}\n\n${about === '' ? '' : `${about} `}${facts}\n\n${table}\n\`\`\`json\n${jsonOf(example.data)}\n\`\`\`\n`;
}

function jsonOf(data: object): string {
  const line = JSON.stringify(data);
  return line.length <= MAX_LINE_CHARS ? line : JSON.stringify(data, null, 2);
}

function isWhole({ data }: GoldenEvent, { properties }: AnySchema): boolean {
  return Object.keys(properties!).every((name) => Object.hasOwn(data, name));
}

/** What there is to say of a field. */
type About = (path: string, field: AnySchema) => string;

function fieldRows(schema: AnySchema, prefix: string, inSql: (path: string) => string, about: About): string[] {
  const required = new Set(schema.required ?? []);
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const path = `${prefix}${name}`;
    const optional = required.has(name) ? '' : ', optional';
    const row = `| \`${path}\` | ${typeOf(field)}${optional} | ${inSql(path)} | ${cell(about(path, field))} |\n`;
    const [object, suffix] = innerOf(field);
    return [row, ...(object ? fieldRows(object, `${path}${suffix}.`, inSql, about) : [])];
  });
}

/** The object that a field is, or has in a list; and what its path has after the name. */
function innerOf(field: AnySchema): [AnySchema | null, string] {
  const schema = withoutNull(field);
  if (schema.type === 'array') return [withoutNull(schema.items!).properties ? withoutNull(schema.items!) : null, '[]'];
  return [schema.properties && Object.keys(schema.properties).length > 0 ? schema : null, ''];
}

function withoutNull(schema: AnySchema): AnySchema {
  const others = schema.anyOf?.filter(({ type }) => type !== 'null');
  return others?.length === 1 ? others[0]! : schema;
}

function typeOf(schema: AnySchema): string {
  if (schema.anyOf) return [...new Set(schema.anyOf.map(typeOf))].join(' or ');
  if (schema.enum) return schema.enum.map((value) => `\`${value}\``).join(', ');
  if (schema.const !== undefined) return `\`${schema.const}\``;
  if (schema.type === 'array') return `list of ${typeOf(schema.items!)}`;
  if (schema.format === 'date-time') return 'time';
  return schema.format ?? schema.type ?? 'any';
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}

/** Returns the path when the file had to be written. */
function write(path: string, text: string): string | null {
  if (existsSync(path) && readFileSync(path, 'utf8') === text) return null;
  writeFileSync(path, text);
  return path.slice(root.length + 1);
}
