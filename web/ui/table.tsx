// A table of a page of items. On a narrow screen it scrolls sideways inside its own frame.
import type { ComponentChildren } from 'preact';

export interface Column<Item> {
  /** The heading. */
  label: string;
  cell(item: Item): ComponentChildren;
  /** Sorts the list by this column. */
  sort?: { href: string; is_on: boolean; is_ascending: boolean };
  /** Numbers stand to the right, so that their digits are in columns. */
  is_number?: boolean;
}

export interface TableProps<Item> {
  /** What the table holds, for who does not see it. */
  caption: string;
  columns: readonly Column<Item>[];
  items: readonly Item[];
  keyOf(item: Item): string;
}

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
