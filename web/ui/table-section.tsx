// A table under a heading of its own, or a sentence that there is nothing.
import { Table, type TableProps } from './table.tsx';

type TableSectionProps<Item> = Omit<TableProps<Item>, 'caption'> & { title: string; none: string };

export function TableSection<Item>({ title, none, ...table }: TableSectionProps<Item>) {
  return (
    <section class="section">
      <h2>{title}</h2>
      {table.items.length === 0 ? <p class="notice">{none}</p> : <Table caption={title} {...table} />}
    </section>
  );
}
