// All tables that SQL sees: `events`, one for each type, and those that answer most questions.
import type { EventType } from '../events/vocabulary.ts';
import { ANSWER_TABLES, rowsOfAnswer, type TableName } from './answers.ts';
import {
  EVENT_VIEWS,
  EVENTS_COLUMNS,
  fieldColumns,
  quoted,
  rowsOfType,
  SHARED_COLUMNS,
  type SqlColumn,
} from './views.ts';

export interface Table {
  name: string;
  /** The types of rows of the loaded events that it is made of: events, outcomes or listings; null for all events. */
  rows: readonly string[] | null;
  /** The types whose tables it reads beside them. */
  reads: readonly EventType[];
  /** The query that makes it. */
  query(table: TableName): string;
  /** Whether to store its rows takes longer than to make them, so that one question is sooner asked of the query itself. */
  is_wide: boolean;
}

const EVENTS: Table = {
  ...{ name: 'events', rows: null, reads: [], is_wide: false },
  // Outcomes and listings, which are no events, have types in brackets.
  query: (table) =>
    `SELECT ${EVENTS_COLUMNS.map(({ name }) => quoted(name)).join(', ')} FROM ${table('events')} WHERE type NOT LIKE '(%'`,
};

const all: readonly Table[] = [
  EVENTS,
  ...EVENT_VIEWS.map(
    (type): Table => ({
      ...{ name: type, rows: [type], reads: [], is_wide: false },
      query: (table) => rowsOfType(type, table('events')),
    }),
  ),
  ...ANSWER_TABLES.map(
    (answer): Table => ({
      ...{ name: answer.name, rows: answer.rows, reads: answer.types, is_wide: answer.name === 'urls' },
      query: (table) => rowsOfAnswer(answer, table),
    }),
  ),
];
export const TABLES: ReadonlyMap<string, Table> = new Map(all.map((each) => [each.name, each]));

const SHARED = EVENTS_COLUMNS.filter(({ name }) => (SHARED_COLUMNS as readonly string[]).includes(name));

/** The columns of each table. */
export const COLUMNS: ReadonlyMap<string, readonly SqlColumn[]> = new Map([
  ['events', EVENTS_COLUMNS],
  ...EVENT_VIEWS.map((type) => [type, [...SHARED, ...fieldColumns(type)]] as const),
  ...ANSWER_TABLES.map(({ name, columns }) => [name, columns] as const),
]);

/** The statements that make tables with the columns of all of these. */
export const definitions = (): string[] =>
  [...COLUMNS].map(([table, columns]) => {
    const made = columns.map(({ name, type }) => `${quoted(name)} ${type}`);
    return `CREATE TABLE ${quoted(table)} (${made.join(', ')});`;
  });
