// Tables, and the lists that they are pages of: their order and their page are in the address.
import type { ComponentChildren } from 'preact';
import { type Answer, type AnswerOf, type Given, type Operation, useAnswer } from '../api/ask.ts';
import { to, useAddress } from '../app/address.ts';
import { Failure } from './failure.tsx';
import { grouped } from './values.tsx';

export interface Column<Item> {
  /** The heading. */
  label: string;
  cell(item: Item): ComponentChildren;
  /** Sorts the list by this column. */
  sort?: { href: string; is_on: boolean; is_ascending: boolean };
  /** Numbers stand to the right, so that their digits are in columns. */
  is_number?: boolean;
}

interface TableProps<Item> {
  /** What the table holds, for who does not see it. */
  caption: string;
  columns: readonly Column<Item>[];
  items: readonly Item[];
  keyOf(item: Item): string;
}

/** On a narrow screen it scrolls sideways inside its own frame. */
export function Table<Item>({ caption, columns, items, keyOf }: TableProps<Item>) {
  const kind = ({ is_number }: Column<Item>) => (is_number ? 'number' : undefined);
  const sorted = ({ sort }: Column<Item>) =>
    sort?.is_on ? (sort.is_ascending ? 'ascending' : 'descending') : undefined;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard
    <section class="table" aria-label={caption} tabIndex={0}>
      <table>
        <caption>{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.label} scope="col" class={kind(column)} aria-sort={sorted(column)}>
                {column.sort ? <a href={column.sort.href}>{column.label}</a> : column.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {items.map((item) => (
            <tr key={keyOf(item)}>
              {columns.map((column) => (
                <td key={column.label} class={kind(column)}>
                  {column.cell(item)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Where the page of the list begins that this address names; what is no place in a list is its beginning. */
export function offsetIn(query: URLSearchParams): number {
  const offset = Number(query.get('offset'));
  return Number.isSafeInteger(offset) && offset > 0 ? offset : 0;
}

/** The items on a page of a list. */
const PAGE_SIZE = 25;

/**
 * The page of a list that the address names.
 * @example const payments = useList('GET /users/me/payments', {});
 */
export function useList<Name extends Operation>(
  name: Name,
  given: Omit<Given<Name>, 'limit' | 'offset'>,
  { limit = PAGE_SIZE, version = '' } = {},
): Answer<AnswerOf<Name>> {
  const { query } = useAddress();
  return useAnswer(name, { ...given, limit, offset: offsetIn(query) } as unknown as Given<Name>, version);
}

interface PagerProps {
  total: number;
  limit: number;
  offset: number;
}

export function Pager({ total, limit, offset }: PagerProps) {
  const { path, query } = useAddress();
  if (total <= limit && offset === 0) return null;
  const at = (start: number) =>
    to(path, { ...Object.fromEntries(query), offset: start > 0 ? String(start) : undefined });
  const last = Math.min(total, offset + limit);
  return (
    <nav class="pager" aria-label="Pages">
      <span>
        {grouped(Math.min(offset + 1, last))}–{grouped(last)} of {grouped(total)}
      </span>
      {offset > 0 && <a href={at(Math.max(0, offset - limit))}>Previous</a>}
      {last < total && <a href={at(offset + limit)}>Next</a>}
    </nav>
  );
}

interface ListProps<Item> extends Omit<TableProps<Item>, 'items'> {
  of: Pick<Answer<PagerProps & { items: readonly Item[] }>, 'error' | 'value' | 'again'>;
  /** What to show for a list without items. */
  empty: ComponentChildren;
  /** What stands above the table. */
  children?: ComponentChildren;
}

/** A page of a list: its table and the way to its other pages, or what to show where there is nothing. */
export function List<Item>({ of, empty, children, ...table }: ListProps<Item>) {
  const page = of.value;
  return (
    <>
      <Failure of={of} />
      {page?.total === 0 && empty}
      {page && page.total > 0 && (
        <>
          {children}
          <Table {...table} items={page.items} />
          <Pager {...page} />
        </>
      )}
    </>
  );
}

type TableSectionProps<Item> = Omit<TableProps<Item>, 'caption'> & { title: string; none: string };

/** A table under a heading of its own, or a sentence that there is nothing. */
export function TableSection<Item>({ title, none, ...table }: TableSectionProps<Item>) {
  return (
    <section class="section">
      <h2>{title}</h2>
      {table.items.length === 0 ? <p class="notice">{none}</p> : <Table caption={title} {...table} />}
    </section>
  );
}

export type SortBy<Name extends string> = (name: Name) => NonNullable<Column<unknown>['sort']>;

/** A heading's first click shows the largest first, the second one the smallest, the third one the list in its own order. */
export function useSort<Name extends string>(names: readonly Name[]) {
  const { path, query } = useAddress();
  const sort_by = names.find((name) => name === query.get('sort_by'));
  const sort_order = query.get('sort_order') === 'asc' ? ('asc' as const) : undefined;
  const by: SortBy<Name> = (name) => {
    const is_on = sort_by === name;
    const is_ascending = sort_order === 'asc';
    const next = is_on && is_ascending ? {} : { sort_by: name, sort_order: is_on ? 'asc' : undefined };
    const cleared = { sort_by: undefined, sort_order: undefined, offset: undefined };
    return { href: to(path, { ...Object.fromEntries(query), ...cleared, ...next }), is_on, is_ascending };
  };
  return { sort_by, sort_order, by };
}
